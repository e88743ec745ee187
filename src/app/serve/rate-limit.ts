// How often somebody may ask: a bucket that fills again evenly over a minute.
import { CloisterError } from '#base';

const minuteMs = 60_000;

export class Rates {
  readonly #now: () => number;
  /** What is left counts in parts of a request, so many as a minute has milliseconds: whole numbers, so nothing is lost by rounding. */
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws `rate_exceeded`. */
  take(name: string, perMinute: number | undefined): void {
    if (perMinute === undefined) return;
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { left: perMinute * minuteMs, at: now };
    this.#buckets.set(name, bucket);
    const passed = Math.max(0, now - bucket.at);
    bucket.left = Math.min(perMinute * minuteMs, bucket.left + passed * perMinute);
    bucket.at = now;
    if (bucket.left < minuteMs) {
      const retryAfterMs = Math.ceil((minuteMs - bucket.left) / perMinute);
      throw new CloisterError('rate_exceeded', `${perMinute} a minute are allowed.`, { retryAfterMs });
    }
    bucket.left -= minuteMs;
  }
}
