// The limits of a session that end it: working time, the deadline, and the names they are reported by.
import type { Failure } from '#base';
import type { Limits } from '#contracts';
import type { Cell } from '#core/cells';

export const limitPassed = (name: keyof Limits): Failure => ({
  code: 'agent_limit',
  detail: `AgentLimitExceeded("${name}")`,
});

type Span = { readonly from: number; readonly to: number };

/** The cell's own working time: while at least one step of its own is at work. Waiting for children, slots or a back-off is apart. */
export class WorkClock {
  readonly #cell: Cell;
  #workedMs = 0;
  /** What the newest steps covered, without overlap; in order. */
  #spans: Span[] = noSpans;

  constructor(cell: Cell) {
    this.#cell = cell;
  }

  /** Takes in an operation as it is handed out: they come in order of their end. */
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

  /** The time-out, or what is left of the working time. */
  timeoutMs(timeoutMs: number): number {
    return Math.min(timeoutMs, this.#cell.limits.timeout_ms - this.#workedMs);
  }

  untilDeadlineMs(): number {
    const { runtime, deadlineNow: deadline } = this.#cell;
    return deadline === 0 ? Infinity : Math.max(0, deadline - runtime.now);
  }

  /** What has run out, if anything. */
  exhausted(): Failure | null {
    const { runtime, deadlineNow: deadline, limits } = this.#cell;
    if (deadline !== 0 && runtime.now >= deadline) return { code: 'deadline_passed' };
    if (this.#workedMs >= limits.timeout_ms) return limitPassed('timeout_ms');
    return null;
  }
}

const noSpans: Span[] = [];
/** Steps of one turn overlap; those of earlier turns cannot. */
const spansMax = 64;
