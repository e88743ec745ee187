// Limits requests per minute with a token bucket that refills evenly.
import { CloisterError } from '#base';

const minuteMs = 60_000;

export class RateLimiter {
  readonly #now: () => number;
  /** `left` counts sixty-thousandths of a request: whole numbers, so that rounding loses nothing. */
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws `rate_exceeded`. */
  consume(name: string, perMinute: number | undefined): void {
    if (perMinute === undefined) return;
    const now = this.#now();
    // probe: rate-bucket
    const bucket = this.#buckets.get(name) ?? { left: perMinute * minuteMs, at: now };
    this.#buckets.set(name, bucket);
    const passed = Math.max(0, now - bucket.at);
    bucket.left = Math.min(perMinute * minuteMs, bucket.left + passed * perMinute);
    bucket.at = now;
    if (bucket.left < minuteMs) {
      const retryAfterMs = Math.ceil((minuteMs - bucket.left) / perMinute);
      throw new CloisterError('rate_exceeded', `The limit is ${perMinute} requests per minute.`, { retryAfterMs });
    }
    bucket.left -= minuteMs;
  }
}
