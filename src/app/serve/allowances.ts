// What the runs of one token may use together, in an hour, a day or a month.
//
//   A1. A run sets its whole budget aside before it begins, and gives back what it did not use: together they never pass the allowance.
//   A2. What was used is in the runs themselves, so a restart forgets nothing.
import { CloisterError } from '#base';
import type { Budget, RunSummary, Spent } from '#contracts';
import type { AllowanceSpec, TokenEntry } from './token-registry.ts';

/** Sets it right when the run has ended; null: what it used is not known. */
export type SettleAllowance = (spent: Spent | null) => void;

/** What a run used that never began. */
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

/** Money in whole billionths: what is given back is exactly what was set aside. */
type Amounts = { tokens: number; nanoUsd: number };

/** What was used, and what runs under way have set aside. */
type Used = { readonly spent: Amounts; readonly held: Amounts };

export class Allowances {
  readonly #now: () => number;
  readonly #runs: (caller: string, since: number) => Promise<readonly RunSummary[]>;
  readonly #used = new Map<string, { readonly since: number; readonly used: Promise<Used> }>();

  constructor(now: () => number, runs: (caller: string, since: number) => Promise<readonly RunSummary[]>) {
    this.#now = now;
    this.#runs = runs;
  }

  /** Throws `allowance_used`; or `server_busy` when it fits as soon as what others have set aside is given back. */
  async reserve(entry: TokenEntry, budget: Budget): Promise<SettleAllowance> {
    const { allowance } = entry;
    if (allowance === undefined) return () => undefined;
    const since = startOf(allowance.per, this.#now());
    const { spent, held } = await this.#usedSince(entry, since);
    const asked = amountsOf(budget);
    if (!fits(allowance, spent, asked))
      throw new CloisterError('allowance_used', allowanceWords(allowance), {
        retryAfterMs: endOf(allowance.per, since) - this.#now(),
      });
    if (!fits(allowance, spent, held, asked))
      throw new CloisterError('server_busy', heldWords, { retryAfterMs: 2_000 });
    add(held, asked, 1);
    let settled = false;
    return (used) => {
      if (settled) return;
      settled = true;
      add(held, asked, -1);
      add(spent, used === null ? asked : spentOf(used, budget), 1);
    };
  }

  /** Counted once a window: two who come at once count into one sum. */
  #usedSince({ name, budget = {} }: TokenEntry, since: number): Promise<Used> {
    const known = this.#used.get(name);
    if (known?.since === since) return known.used;
    const counted = { since, used: this.#count(name, since, budget) };
    this.#used.set(name, counted);
    counted.used.catch(() => {
      if (this.#used.get(name) === counted) this.#used.delete(name);
    });
    return counted.used;
  }

  /** A run of which nobody knows what it used is counted with the most that it may have used: what its token allows. */
  async #count(name: string, since: number, most: Budget): Promise<Used> {
    const used: Used = { spent: amountsOf({}), held: amountsOf({}) };
    for (const { spent } of await this.#runs(name, since))
      add(used.spent, spent === null ? amountsOf(most) : spentOf(spent, most), 1);
    return used;
  }
}

const fits = (allowance: AllowanceSpec, ...parts: readonly Amounts[]): boolean => {
  const most = amountsOf({ tokens: allowance.tokens ?? Infinity, usd: allowance.usd ?? Infinity });
  const sum = (of: keyof Amounts): number => parts.reduce((all, part) => all + part[of], 0);
  return sum('tokens') <= most.tokens && sum('nanoUsd') <= most.nanoUsd;
};

const amountsOf = ({ tokens = 0, usd = 0 }: Pick<Budget, 'tokens' | 'usd'>): Amounts => ({
  tokens,
  nanoUsd: Math.round(usd * 1e9),
});

const add = (to: Amounts, { tokens, nanoUsd }: Amounts, times: 1 | -1): void => {
  to.tokens += times * tokens;
  to.nanoUsd += times * nanoUsd;
};

/** What attempts cost that were cut off is not known: then the whole budget counts, or hanging up would be free. */
const spentOf = ({ inputTokens, outputTokens, uncertain, usd }: Spent, { usd: held = 0 }: Budget): Amounts =>
  amountsOf({
    tokens: inputTokens + outputTokens + uncertain,
    usd: usd === null || uncertain > 0 ? Math.max(usd ?? 0, held) : usd,
  });

const startOf = (per: AllowanceSpec['per'], now: number): number => {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (per === 'month') return Date.UTC(year, month);
  return per === 'day' ? Date.UTC(year, month, date.getUTCDate()) : Math.floor(now / hourMs) * hourMs;
};

const endOf = (per: AllowanceSpec['per'], since: number): number => {
  const date = new Date(since);
  if (per === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  return since + (per === 'day' ? 24 : 1) * hourMs;
};

const hourMs = 3_600_000;

const heldWords =
  'Your requests under way have set aside what is left of the allowance; they give back what they do not use.';

const allowanceWords = ({ tokens, usd, per }: AllowanceSpec): string => {
  const parts = [...(tokens === undefined ? [] : [`${tokens} tokens`]), ...(usd === undefined ? [] : [`${usd} USD`])];
  return `It is ${parts.join(' and ')} a ${per}, and what this request may use does not fit in what is left.`;
};
