// The limits that end a session: working time, the deadline, and the names under which they are reported.
import type { Failure } from '#base';
import type { Limits } from '#contracts';
import type { Cell } from '#core/cells';

export const limitFailure = (name: keyof Limits): Failure => ({
  code: 'agent_limit',
  detail: `AgentLimitExceeded("${name}")`,
});

type Span = { readonly from: number; readonly to: number };

/**
 * Measures working time: while at least one of the cell's own steps runs, or it waits for mail although somebody waits for its
 * answer. Waiting for children, slots or a back-off does not count.
 */
export class WorkClock {
  readonly #cell: Cell;
  #workedMs = 0;
  /** The time spans of the newest steps, merged and in order. */
  #spans: Span[] = noSpans;

  constructor(cell: Cell) {
    this.#cell = cell;
  }

  /** Adds a settled operation. Operations come in the order in which they ended. */
  add({ at, ms = 0 }: { readonly at: number; readonly ms?: number }): void {
    if (ms === 0) return;
    let from = at - ms;
    let spans = this.#spans.length;
    for (; spans > 0 && this.#spans[spans - 1]!.to >= from; spans--) {
      const { from: earlier, to } = this.#spans[spans - 1]!;
      from = Math.min(from, earlier);
      this.#workedMs -= to - earlier;
    }
    this.#spans = [...this.#spans.slice(Math.max(0, spans - spansMax), spans), { from, to: at }];
    this.#workedMs += at - from;
  }

  /** The given timeout, or what is left of the working time if that is less. */
  timeoutMs(timeoutMs: number): number {
    return Math.min(timeoutMs, this.#cell.limits.timeout_ms - this.#workedMs);
  }

  untilDeadlineMs(): number {
    const { runtime, deadlineNow: deadline } = this.#cell;
    return deadline === 0 ? Infinity : Math.max(0, deadline - runtime.now);
  }

  /** The limit that has been reached, if any. */
  limitReached(): Failure | null {
    const { runtime, deadlineNow: deadline, limits } = this.#cell;
    if (deadline !== 0 && runtime.now >= deadline) return { code: 'deadline_passed' };
    if (this.#workedMs >= limits.timeout_ms) return limitFailure('timeout_ms');
    return null;
  }
}

const noSpans: Span[] = [];
/** Only steps of the same turn can overlap, so older spans can be dropped. */
const spansMax = 64;
