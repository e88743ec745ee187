// The limits of a session that end it: working time, the deadline, and the names they are reported by.
import type { Failure } from '#base';
import type { Limits } from '#contracts';
import type { Cell } from '#core/cells';

export const limitPassed = (name: keyof Limits): Failure => ({
  code: 'agent_limit',
  detail: `AgentLimitExceeded("${name}")`,
});

/** The cell's own working time: while a step of its own is under way. Waiting for children or a back-off is apart. */
export class WorkClock {
  readonly #cell: Cell;
  #workedMs = 0;
  #busy = 0;
  #since = 0;

  constructor(cell: Cell) {
    this.#cell = cell;
  }

  began(): void {
    if (this.#busy++ === 0) this.#since = this.#cell.home.workNow;
  }

  ended(): void {
    if (--this.#busy === 0) this.#workedMs += this.#cell.home.workNow - this.#since;
  }

  /** The least of the time-out, what is left of the working time, and the time to the deadline. */
  timeoutMs(timeoutMs: number): number {
    return Math.min(timeoutMs, this.#cell.limits.timeout_ms - this.#worked(), this.untilDeadlineMs());
  }

  untilDeadlineMs(): number {
    const { home, deadline } = this.#cell;
    return deadline === 0 ? Infinity : Math.max(0, deadline - home.now);
  }

  /** What has run out, if anything. */
  exhausted(): Failure | null {
    const { home, deadline, limits } = this.#cell;
    if (deadline !== 0 && home.now >= deadline) return { code: 'deadline_passed' };
    if (this.#worked() >= limits.timeout_ms) return limitPassed('timeout_ms');
    return null;
  }

  #worked(): number {
    return this.#busy === 0 ? this.#workedMs : this.#workedMs + this.#cell.home.workNow - this.#since;
  }
}
