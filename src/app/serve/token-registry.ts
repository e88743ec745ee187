// The API tokens and what each of them allows.
//
//   token-stored-as-hash. Only hashes are stored. A token is 256 random bits, so a plain hash cannot be reversed.
//   token-check-takes-equal-time. A wrong token takes as long as a right one, however many entries there are: the entry is
//       looked up by hash, which a client cannot control, and exactly one full comparison follows in any case.
import { timingSafeEqual } from 'node:crypto';
import { sha256 as hashToken } from '#base';
import type { Caller, TokenEntry } from '#contracts';

/** The entry for a token that was generated for this server only. */
export const temporaryTokenEntry = (token: string): TokenEntry => {
  const sha256 = hashToken(token);
  return { name: `token-${sha256.slice(0, 8)}`, sha256, operator: true };
};

/** Not the hash of any token. */
const noTokenHash = '0'.repeat(64);

export class TokenRegistry {
  readonly #byHash: ReadonlyMap<string, TokenEntry>;
  readonly #byName: ReadonlyMap<string, TokenEntry>;
  readonly #now: () => number;

  constructor(entries: readonly TokenEntry[], now: () => number) {
    this.#byHash = new Map(entries.map((entry) => [entry.sha256, entry]));
    this.#byName = new Map(entries.map((entry) => [entry.name, entry]));
    this.#now = now;
  }

  /** Undefined for a wrong or expired token. A request carries only the name from the entry. */
  findCaller(token: string): Caller | undefined {
    const presented = hashToken(token);
    const found = this.#byHash.get(presented);
    const isSame = timingSafeEqual(
      Buffer.from(found?.sha256 ?? noTokenHash, 'latin1'),
      Buffer.from(presented, 'latin1'),
    );
    const entry = this.#unlessExpired(isSame ? found : undefined);
    return entry === undefined ? undefined : { name: entry.name };
  }

  /** Undefined if the token has expired meanwhile, since connections can outlive tokens. */
  entry({ name }: Caller): TokenEntry | undefined {
    return this.#unlessExpired(this.#byName.get(name));
  }

  #unlessExpired(entry: TokenEntry | undefined): TokenEntry | undefined {
    return entry !== undefined && (entry.expiresAt ?? Infinity) > this.#now() ? entry : undefined;
  }
}
