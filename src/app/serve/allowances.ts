// Limits what all runs of one token may spend together in an hour, a day or a month.
//
//   allowance-reserved-whole. A run reserves its whole budget before it starts, and returns what it did not spend: the sum
//       never exceeds the allowance.
//   allowance-from-runs. Spending is read from the runs themselves, so it survives a restart.
import { CloisterError } from '#base';
import type { AllowanceUse, Budget, RunSummary, Spent, AllowanceSpec, TokenEntry } from '#contracts';

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

/** Money in whole billionths, so that a returned reservation is exact. */
type Amounts = { tokens: number; nanoUsd: number };

/** `held`: what running runs have reserved. */
type AllowanceUsage = { readonly spent: Amounts; readonly held: Amounts };

export class Allowances {
  readonly #now: () => number;
  readonly #runs: (caller: string, since: number) => Promise<readonly RunSummary[]>;
  readonly #usage = new Map<string, { readonly since: number; readonly usage: Promise<AllowanceUsage> }>();

  constructor(now: () => number, runs: (caller: string, since: number) => Promise<readonly RunSummary[]>) {
    this.#now = now;
    this.#runs = runs;
  }

  /** Throws `allowance_used`, or `server_busy` if the budget would fit without the reservations of other runs. */
  async reserve(entry: TokenEntry, budget: Budget): Promise<SettleAllowance> {
    const { allowance } = entry;
    if (allowance === undefined) return () => undefined;
    const since = periodStart(allowance.per, this.#now());
    const { spent, held } = await this.#usageSince(entry, since);
    const requested = toAmounts(budget);
    if (!fits(allowance, spent, requested))
      throw new CloisterError('allowance_used', allowanceText(allowance), {
        retryAfterMs: periodEnd(allowance.per, since) - this.#now(),
      });
    if (!fits(allowance, spent, held, requested))
      throw new CloisterError('server_busy', reservedText, { retryAfterMs: 2_000 });
    add(held, requested, 1);
    let settled = false;
    return (used) => {
      if (settled) return;
      settled = true;
      add(held, requested, -1);
      add(spent, used === null ? requested : chargedAmounts(used, budget), 1);
    };
  }

  /** What ended runs have used in this period, without what running ones have reserved; null without an allowance. */
  async usage(entry: TokenEntry): Promise<AllowanceUse | null> {
    const { allowance } = entry;
    if (allowance === undefined) return null;
    const { per, tokens, usd } = allowance;
    const since = periodStart(per, this.#now());
    const { spent } = await this.#usageSince(entry, since);
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

  /** Counted once per period, so that concurrent requests share one sum. */
  #usageSince({ name, budget = {} }: TokenEntry, since: number): Promise<AllowanceUsage> {
    // probe: allowance-of-caller
    const known = this.#usage.get(name);
    if (known?.since === since) return known.usage;
    const counted = { since, usage: this.#count(name, since, budget) };
    this.#usage.set(name, counted);
    counted.usage.catch(() => {
      if (this.#usage.get(name) === counted) this.#usage.delete(name);
    });
    return counted.usage;
  }

  /** A run with unknown spending counts with the maximum that its token allows for a request. */
  async #count(name: string, since: number, most: Budget): Promise<AllowanceUsage> {
    const usage: AllowanceUsage = { spent: toAmounts({}), held: toAmounts({}) };
    for (const { spent } of await this.#runs(name, since))
      add(usage.spent, spent === null ? toAmounts(most) : chargedAmounts(spent, most), 1);
    return usage;
  }
}

const fits = (allowance: AllowanceSpec, ...parts: readonly Amounts[]): boolean => {
  const most = toAmounts({ tokens: allowance.tokens ?? Infinity, usd: allowance.usd ?? Infinity });
  const sum = (of: keyof Amounts): number => parts.reduce((all, part) => all + part[of], 0);
  return sum('tokens') <= most.tokens && sum('nanoUsd') <= most.nanoUsd;
};

const toAmounts = ({ tokens = 0, usd = 0 }: Pick<Budget, 'tokens' | 'usd'>): Amounts => ({
  tokens,
  nanoUsd: Math.round(usd * 1e9),
});

const add = (to: Amounts, { tokens, nanoUsd }: Amounts, times: 1 | -1): void => {
  to.tokens += times * tokens;
  to.nanoUsd += times * nanoUsd;
};

/** The cost of interrupted attempts is unknown, so the whole budget counts. Otherwise, disconnecting would be free. */
const chargedAmounts = ({ inputTokens, outputTokens, uncertain, usd }: Spent, { usd: held = 0 }: Budget): Amounts =>
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
