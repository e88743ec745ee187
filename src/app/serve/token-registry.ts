// Who holds which token, and what each may do.
//
//   T1. Only hashes are kept. A token is 256 random bits, so a plain hash cannot be turned back.
//   T2. A wrong token takes as long as a right one: its hash, which nobody can steer, says which entry it is compared with, and it
//       is compared with one, whole, in any case. So it makes no difference how many there are.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Budget, Caller } from '#contracts';

/** One entry of a token file. */
export type TokenEntry = {
  readonly name: string;
  /** SHA-256 of the token, in hex. */
  readonly sha256: string;
  /** Agents that it may ask; all of them when left out. */
  readonly agents?: readonly string[];
  /** Of one request, at most. */
  readonly budget?: Budget;
  /** Of all requests in such a time, together. */
  readonly allowance?: AllowanceSpec;
  readonly requestsPerMinute?: number;
  /** How many of its runs may be under way at once. */
  readonly running?: number;
  /** Epoch milliseconds from which on it is refused. */
  readonly expiresAt?: number;
};

export type AllowanceSpec = {
  readonly tokens?: number;
  readonly usd?: number;
  readonly per: 'hour' | 'day' | 'month';
};

/** What every token begins with, so that one is known when it is seen where it should not be. */
const prefix = 'clo_';

export const makeToken = (): string => prefix + randomBytes(32).toString('base64url');

export const hashToken = (token: string): string => hash('sha256', token);

/** The one who holds a token that was made for this server alone. */
export const entryFor = (token: string): TokenEntry => {
  const sha256 = hashToken(token);
  return { name: `token-${sha256.slice(0, 8)}`, sha256 };
};

/** The hash of no token. */
const nobodys = '0'.repeat(64);

export class TokenRegistry {
  readonly #byHash: ReadonlyMap<string, TokenEntry>;
  readonly #byName: ReadonlyMap<string, TokenEntry>;
  readonly #now: () => number;

  constructor(entries: readonly TokenEntry[], now: () => number) {
    this.#byHash = new Map(entries.map((entry) => [entry.sha256, entry]));
    this.#byName = new Map(entries.map((entry) => [entry.name, entry]));
    this.#now = now;
  }

  /** Undefined for a wrong one, and for one whose time has passed. Nothing else of the entry goes along with a request. */
  findCaller(token: string): Caller | undefined {
    const presented = hashToken(token);
    const found = this.#byHash.get(presented);
    const isSame = timingSafeEqual(Buffer.from(found?.sha256 ?? nobodys, 'latin1'), Buffer.from(presented, 'latin1'));
    const entry = this.#inTime(isSame ? found : undefined);
    return entry === undefined ? undefined : { name: entry.name };
  }

  /** Undefined for one whose time has passed meanwhile: connections may be older than that. */
  entry({ name }: Caller): TokenEntry | undefined {
    return this.#inTime(this.#byName.get(name));
  }

  #inTime(entry: TokenEntry | undefined): TokenEntry | undefined {
    return entry !== undefined && (entry.expiresAt ?? Infinity) > this.#now() ? entry : undefined;
  }
}
