// Limits what all runs of one token may spend together in an hour, a day or a month.
//
//   allowance-reserved-whole. A run reserves its whole budget before it starts, and returns what it did not spend: the sum
//       never exceeds the allowance.
//   allowance-from-runs. Spending is read from the runs themselves, so it survives a restart.
//   allowance-over-servers. All servers of a workspace count in the same place what running runs have reserved.
import { CloisterError } from '#base';
import type { AllowanceUse, Budget, RunSummary, Spent, AllowanceSpec, TokenEntry } from '#contracts';
import { addAmounts } from './caller-claims.ts';
import type { AllowanceAmounts, CallerClaims, Spending } from './caller-claims.ts';

/** Replaces the reservation by the actual spending when the run has ended; null: the spending is unknown. */
export type SettleAllowance = (spent: Spent | null) => void;

/** The spending of a run that never started. */
export const nothingSpent: Spent = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  usd: 0,
  ms: 0,
  steps: 0,
  spawns: 0,
  uncertain: 0,
};

export class Allowances {
  readonly #now: () => number;
  readonly #runs: (caller: string, since: number) => Promise<readonly RunSummary[]>;
  readonly #claims: Pick<CallerClaims, 'claim' | 'read'>;

  constructor(
    now: () => number,
    runs: (caller: string, since: number) => Promise<readonly RunSummary[]>,
    claims: Pick<CallerClaims, 'claim' | 'read'>,
  ) {
    this.#now = now;
    this.#runs = runs;
    this.#claims = claims;
  }

  /** Throws `allowance_used`, or `server_busy` if the budget would fit without the reservations of other runs. */
  async reserve(entry: TokenEntry, budget: Budget): Promise<SettleAllowance> {
    const { allowance, name } = entry;
    if (allowance === undefined) return () => undefined;
    const since = periodStart(allowance.per, this.#now());
    const requested = toAmounts(budget);
    const release = await this.#claims.claim(
      /* probe: allowance-of-caller */ name,
      async ({ spent: known, reserved: all }) => {
        const spent = known?.since === since ? known : await this.#count(entry, since);
        const held = all.filter((one) => one.since === since);
        if (!fits(allowance, spent, requested))
          throw new CloisterError('allowance_used', allowanceText(allowance), {
            retryAfterMs: periodEnd(allowance.per, since) - this.#now(),
          });
        if (!fits(allowance, spent, ...held, requested))
          throw new CloisterError('server_busy', reservedText, { retryAfterMs: 2_000 });
        return { reserved: { ...requested, since }, spent };
      },
    );
    return (used) => release?.({ charge: { ...(used === null ? requested : chargedAmounts(used, budget)), since } });
  }

  /** What ended runs have used in this period, without what running ones have reserved; null without an allowance. */
  async usage(entry: TokenEntry): Promise<AllowanceUse | null> {
    const { allowance, name } = entry;
    if (allowance === undefined) return null;
    const { per, tokens, usd } = allowance;
    const since = periodStart(per, this.#now());
    const { spent: known } = await this.#claims.read(name);
    const spent = known?.since === since ? known : await this.#count(entry, since);
    return {
      per,
      tokens: tokens === undefined ? null : { limit: tokens, used: spent.tokens },
      usd: usd === undefined ? null : { limit: usd, used: spent.nanoUsd / 1e9 },
      resetsAt: periodEnd(per, since),
    };
  }

  /** The period that counts now; null without an allowance. Epoch milliseconds. */
  period({ allowance }: TokenEntry): { readonly since: number; readonly until: number } | null {
    if (allowance === undefined) return null;
    const since = periodStart(allowance.per, this.#now());
    return { since, until: periodEnd(allowance.per, since) };
  }

  /**
   * From the runs, once per period, and again after a server has died. A run with unknown spending counts with the maximum that its token
   * allows for a request; one that is running has reserved its budget.
   */
  async #count({ name, budget: most = {} }: TokenEntry, since: number): Promise<Spending> {
    const ended = (await this.#runs(name, since)).filter(({ state }) => state !== 'running');
    const amounts = ended.map(({ spent }) => (spent === null ? toAmounts(most) : chargedAmounts(spent, most)));
    return { ...amounts.reduce(addAmounts, toAmounts({})), since };
  }
}

const fits = (allowance: AllowanceSpec, ...parts: readonly AllowanceAmounts[]): boolean => {
  const most = toAmounts({ tokens: allowance.tokens ?? Infinity, usd: allowance.usd ?? Infinity });
  const sum = (of: keyof AllowanceAmounts): number => parts.reduce((all, part) => all + part[of], 0);
  return sum('tokens') <= most.tokens && sum('nanoUsd') <= most.nanoUsd;
};

const toAmounts = ({ tokens = 0, usd = 0 }: Pick<Budget, 'tokens' | 'usd'>): AllowanceAmounts => ({
  tokens,
  nanoUsd: Math.round(usd * 1e9),
});

/** The cost of interrupted attempts is unknown, so the whole budget counts. Otherwise, disconnecting would be free. */
const chargedAmounts = (
  { inputTokens, outputTokens, uncertain, usd }: Spent,
  { usd: held = 0 }: Budget,
): AllowanceAmounts =>
  toAmounts({
    tokens: inputTokens + outputTokens + uncertain,
    usd: usd === null || uncertain > 0 ? Math.max(usd ?? 0, held) : usd,
  });

const periodStart = (per: AllowanceSpec['per'], now: number): number => {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (per === 'month') return Date.UTC(year, month);
  return per === 'day' ? Date.UTC(year, month, date.getUTCDate()) : Math.floor(now / hourMs) * hourMs;
};

const periodEnd = (per: AllowanceSpec['per'], since: number): number => {
  const date = new Date(since);
  if (per === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  return since + (per === 'day' ? 24 : 1) * hourMs;
};

const hourMs = 3_600_000;

const reservedText =
  'Your running requests have reserved the rest of the allowance; they return what they do not spend.';

const allowanceText = ({ tokens, usd, per }: AllowanceSpec): string => {
  const parts = [...(tokens === undefined ? [] : [`${tokens} tokens`]), ...(usd === undefined ? [] : [`${usd} USD`])];
  return `The allowance is ${parts.join(' and ')} per ${per}, and the budget of this request exceeds what is left.`;
};
