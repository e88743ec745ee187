// The limits that end a session: working time, the deadline, and the names under which they are reported.
import { MergedSpans } from '#base';
import type { Failure, LimitName, TimeSpan } from '#base';
import type { Cell } from '#core/memory';

export const limitFailure = (name: LimitName): Failure => ({
  code: 'agent_limit',
  limit: name,
  detail: `AgentLimitExceeded("${name}")`,
});

/**
 * Measures working time: while at least one of the cell's own steps runs. Waiting for children, slots or a back-off does not count.
 * Waiting for mail does not count either, but in a cell whose answer somebody waits for, it is measured and limited by itself.
 */
export class WorkClock {
  readonly #cell: Cell;
  readonly #worked = new MergedSpans();
  readonly #waited = new MergedSpans();

  constructor(cell: Cell) {
    this.#cell = cell;
  }

  /** Adds a settled operation. Operations come in the order in which they ended. */
  add(settled: TimeSpan): void {
    this.#worked.add(settled);
  }

  /** Adds a wait for mail. */
  addWait(settled: TimeSpan): void {
    this.#waited.add(settled);
  }

  /** The given timeout, or what is left of the working time if that is less. */
  timeoutMs(timeoutMs: number): number {
    return Math.min(timeoutMs, this.#cell.limits.timeout_ms - this.#worked.totalMs);
  }

  /** How long a wait for mail may last. Nobody waits for a resident, so it may wait as long as it asks to. */
  waitMs(requestedMs: number): number {
    const { isResident, limits } = this.#cell;
    const leftMs = isResident ? Infinity : limits.mailTimeout - this.#waited.totalMs;
    return Math.max(1, Math.min(requestedMs, leftMs, this.untilDeadlineMs()));
  }

  untilDeadlineMs(): number {
    const { deadlineNow: deadline, now } = this.#cell.runtime;
    return deadline === 0 ? Infinity : Math.max(0, deadline - now);
  }

  /** The limit that has been reached, if any. */
  limitReached(): Failure | null {
    const { runtime, limits, isResident } = this.#cell;
    const { deadlineNow: deadline, now } = runtime;
    if (deadline !== 0 && now >= deadline) return { code: 'deadline_passed' };
    if (this.#worked.totalMs >= limits.timeout_ms) return limitFailure('timeout_ms');
    if (!isResident && this.#waited.totalMs >= limits.mailTimeout) return limitFailure('mailTimeout');
    return null;
  }
}
