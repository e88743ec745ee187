// The API tokens and what each of them allows.
//
//   token-stored-as-hash. Only hashes are stored. A token is 256 random bits, so a plain hash cannot be reversed.
//   token-check-takes-equal-time. A wrong token takes as long as a right one, however many entries there are: the entry is
//       looked up by hash, which a client cannot control, and exactly one full comparison follows in any case.
import { timingSafeEqual } from 'node:crypto';
import { sha256 as hashToken, CloisterError } from '#base';
import { callerNameOf, tokenSees } from '#contracts';
import type { Caller, TokenEntry } from '#contracts';

/** The entry for a token that was generated for this server only. Default: a name that no other server has. */
export const temporaryTokenEntry = (token: string, name?: string): TokenEntry => {
  const sha256 = hashToken(token);
  return { name: name ?? `token-${sha256.slice(0, 8)}`, sha256, operator: true };
};

/** Not the hash of any token. */
const noTokenHash = '0'.repeat(64);

export class TokenRegistry {
  readonly #byHash: ReadonlyMap<string, TokenEntry>;
  readonly #byName: ReadonlyMap<string, TokenEntry>;
  readonly #now: () => number;
  readonly #findOther: (name: string) => TokenEntry | undefined;

  /** `findOther`: the entries of callers that hold no token, such as people in a chat; only by name, which no token has. */
  constructor(
    entries: readonly TokenEntry[],
    now: () => number,
    findOther: (name: string) => TokenEntry | undefined = () => undefined,
  ) {
    this.#findOther = findOther;
    this.#byHash = new Map(entries.map((entry) => [entry.sha256, entry]));
    this.#byName = new Map(entries.map((entry) => [callerNameOf(entry), entry]));
    this.#now = now;
  }

  /** Undefined for a wrong or expired token. A request carries only the name, and how much it is shown. */
  findCaller(token: string): Caller | undefined {
    const presented = hashToken(token);
    const found = this.#byHash.get(presented);
    const isSame = timingSafeEqual(
      Buffer.from(found?.sha256 ?? noTokenHash, 'latin1'),
      Buffer.from(presented, 'latin1'),
    );
    const entry = this.#unlessExpired(isSame ? found : undefined);
    if (entry === undefined) return undefined;
    const caller = { name: callerNameOf(entry), sees: tokenSees(entry) };
    if (entry.may === undefined) return entry.operator === true ? { ...caller, operator: true } : caller;
    return { ...caller, watches: { caller: entry.operator === true ? null : entry.name } };
  }

  /** Undefined if the token has expired meanwhile, since connections can outlive tokens. */
  entry({ name }: Caller): TokenEntry | undefined {
    return this.#unlessExpired(this.#byName.get(name) ?? this.#findOther(name));
  }

  /** All of them, also those that have expired. */
  entries(): readonly TokenEntry[] {
    return [...this.#byName.values()];
  }

  /** Throws `token_refused`. */
  requireEntry(caller: Caller): TokenEntry {
    const entry = this.entry(caller);
    if (entry === undefined) throw new CloisterError('token_refused');
    return entry;
  }

  /** For whatever changes something. Throws `token_refused`, or `watch_only`. */
  actingEntry(caller: Caller): TokenEntry {
    const entry = this.requireEntry(caller);
    // probe: may-act
    if (entry.may !== undefined) throw new CloisterError('watch_only');
    return entry;
  }

  /** Whether the caller's token answers questions of this agent in runs of other callers. */
  mayAnswer(caller: Caller, agent: string): boolean {
    const { may, answers = [] } = this.entry(caller) ?? {};
    return may === undefined && (answers.includes('*') || answers.includes(agent));
  }

  #unlessExpired(entry: TokenEntry | undefined): TokenEntry | undefined {
    return entry !== undefined && (entry.expiresAt ?? Infinity) > this.#now() ? entry : undefined;
  }
}

// Limits requests per minute with a token bucket that refills evenly.
const minuteMs = 60_000;

export class RateLimiter {
  readonly #now: () => number;
  /** `left` counts sixty-thousandths of a request: whole numbers, so that rounding loses nothing. */
  readonly #buckets = new Map<string, { left: number; at: number }>();
  readonly #bucketsMax: number;

  /** `bucketsMax`: beyond that, the name that was used the longest ago is forgotten. */
  constructor(now: () => number, bucketsMax = Infinity) {
    this.#now = now;
    this.#bucketsMax = bucketsMax;
  }

  /** Throws `code`. */
  consume(name: string, perMinute: number | undefined, code: 'rate_exceeded' | 'server_busy' = 'rate_exceeded'): void {
    if (perMinute === undefined) return;
    const now = this.#now();
    // probe: rate-bucket
    const bucket = this.#buckets.get(name) ?? { left: perMinute * minuteMs, at: now };
    // The map keeps the order in which names were used.
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > this.#bucketsMax) this.#buckets.delete(this.#buckets.keys().next().value!);
    const passed = Math.max(0, now - bucket.at);
    bucket.left = Math.min(perMinute * minuteMs, bucket.left + passed * perMinute);
    bucket.at = now;
    if (bucket.left < minuteMs) {
      const retryAfterMs = Math.ceil((minuteMs - bucket.left) / perMinute);
      throw new CloisterError(code, `The limit is ${perMinute} requests per minute.`, { retryAfterMs });
    }
    bucket.left -= minuteMs;
  }
}
