// The time within a run.
//
//   run-time-goes-on. It never goes back, even if the clock does, so durations and order agree. If a clock was fast when records were made,
//       or the run has moved to a machine with another clock, it continues from the newest record when the run is resumed, as fast as the
//       clock. If it stood still until the clock caught up, no deadline would come meanwhile.
import type { Clock } from '#contracts';

export class RunTime {
  readonly #clock: Clock;
  #latest: number;
  /** How far it is ahead of the clock. */
  #aheadMs = 0;

  constructor(clock: Clock, startedAt: number) {
    this.#clock = clock;
    this.#latest = startedAt;
  }

  /** Epoch milliseconds. */
  now(): number {
    return (this.#latest = Math.max(this.#latest, this.#clock.now() + this.#aheadMs));
  }

  /** A record of this time is in the log. */
  recorded(at: number): void {
    this.#latest = Math.max(this.#latest, at);
  }

  /** Everything that is in the log is known; returns the time at which the run is resumed. */
  resume(): number {
    const now = this.#clock.now();
    this.#aheadMs = Math.max(0, this.#latest - now);
    return (this.#latest = now + this.#aheadMs);
  }

  /** What the clock says at that time within the run. */
  toClock(time: number): number {
    return time - this.#aheadMs;
  }
}
