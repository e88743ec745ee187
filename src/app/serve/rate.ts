// How often somebody may ask: a bucket that fills again evenly over a minute.
import { CloisterError } from '#base';

const minuteMs = 60_000;

export class Rates {
  readonly #now: () => number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws `rate_exceeded`. */
  take(name: string, perMinute: number | undefined): void {
    if (perMinute === undefined) return;
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { left: perMinute, at: now };
    this.#buckets.set(name, bucket);
    const passed = Math.max(0, now - bucket.at);
    bucket.left = Math.min(perMinute, bucket.left + (passed * perMinute) / minuteMs);
    bucket.at = now;
    if (bucket.left < 1) {
      const retryAfterMs = Math.ceil(((1 - bucket.left) * minuteMs) / perMinute);
      throw new CloisterError('rate_exceeded', `${perMinute} a minute are allowed.`, { retryAfterMs });
    }
    bucket.left -= 1;
  }
}
