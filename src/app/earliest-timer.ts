// Many moments, one timer: it runs for the earliest of them. Thousands of questions wait for hours, and none has a timer of its own.
import type { Clock } from '#contracts';

type Moment = { readonly time: number; /** Null: it was cancelled, or is over. */ due: (() => void) | null };

/** The longest that a timer of the platform can take. */
const timerMsMax = 2_000_000_000;

export class EarliestTimer {
  readonly #clock: Clock;
  /** A heap: the earliest first. */
  readonly #moments: Moment[] = [];
  /** How many have not been cancelled. */
  #open = 0;
  #stop: (() => void) | null = null;
  #runsUntil = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls back at that time, at the earliest. Returns a function that cancels it. */
  at(time: number, due: () => void): () => void {
    const moment: Moment = { time, due };
    this.#open++;
    this.#push(moment);
    this.#start();
    return () => {
      if (moment.due === null) return;
      moment.due = null;
      this.#open--;
      this.#dropCancelled();
      if (this.#moments.length === 0) this.#stopTimer();
    };
  }

  get size(): number {
    return this.#open;
  }

  #start(): void {
    const first = this.#moments[0];
    if (first === undefined || first.time >= this.#runsUntil) return;
    this.#stop?.();
    this.#runsUntil = first.time;
    const ms = Math.min(timerMsMax, Math.max(0, first.time - this.#clock.now()));
    this.#stop = this.#clock.timer(ms, () => this.#due());
  }

  #due(): void {
    this.#stop = null;
    this.#runsUntil = Infinity;
    const now = this.#clock.now();
    const due: Moment[] = [];
    this.#dropCancelled();
    while (this.#moments[0] !== undefined && this.#moments[0].time <= now) {
      due.push(this.#pop());
      this.#dropCancelled();
    }
    for (const moment of due) {
      const { due: call } = moment;
      if (call === null) continue;
      moment.due = null;
      this.#open--;
      call();
    }
    this.#start();
  }

  #stopTimer(): void {
    this.#stop?.();
    this.#stop = null;
    this.#runsUntil = Infinity;
  }

  #dropCancelled(): void {
    while (this.#moments[0]?.due === null) this.#pop();
  }

  #push(moment: Moment): void {
    const all = this.#moments;
    let place = all.push(moment) - 1;
    for (let above = (place - 1) >> 1; place > 0 && all[above]!.time > moment.time; above = (place - 1) >> 1) {
      all[place] = all[above]!;
      place = above;
    }
    all[place] = moment;
  }

  #pop(): Moment {
    const all = this.#moments;
    const first = all[0]!;
    const last = all.pop()!;
    if (all.length === 0) return first;
    let place = 0;
    for (let below = 1; below < all.length; below = 2 * place + 1) {
      if (below + 1 < all.length && all[below + 1]!.time < all[below]!.time) below++;
      if (all[below]!.time >= last.time) break;
      all[place] = all[below]!;
      place = below;
    }
    all[place] = last;
    return first;
  }
}
