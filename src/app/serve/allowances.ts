// What the runs of one token may use together, in an hour, a day or a month.
//
//   A1. A run sets its whole budget aside before it begins, and gives back what it did not use: together they never pass the allowance.
//   A2. What was used is in the runs themselves, so a restart forgets nothing.
import { CloisterError } from '#base';
import type { Budget, RunSummary, Spent } from '#contracts';
import type { Allowed, TokenEntry } from './token-book.ts';

/** Sets it right when the run has ended; null: what it used is not known. */
export type Settle = (spent: Spent | null) => void;

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

type Used = { tokens: number; usd: number };

export class Allowances {
  readonly #now: () => number;
  readonly #runs: (caller: string) => Promise<readonly RunSummary[]>;
  readonly #used = new Map<string, { readonly since: number; readonly used: Promise<Used> }>();

  constructor(now: () => number, runs: (caller: string) => Promise<readonly RunSummary[]>) {
    this.#now = now;
    this.#runs = runs;
  }

  /** Throws `allowance_used`. */
  async reserve(entry: TokenEntry, budget: Budget): Promise<Settle> {
    const { allowance } = entry;
    if (allowance === undefined) return () => undefined;
    const since = startOf(allowance.per, this.#now());
    const used = await this.#usedSince(entry, since);
    const held = { tokens: budget.tokens ?? 0, usd: budget.usd ?? 0 };
    if (used.tokens + held.tokens > (allowance.tokens ?? Infinity) || used.usd + held.usd > (allowance.usd ?? Infinity))
      throw new CloisterError('allowance_used', allowanceWords(allowance), {
        retryAfterMs: endOf(allowance.per, since) - this.#now(),
      });
    used.tokens += held.tokens;
    used.usd += held.usd;
    let settled = false;
    return (spent) => {
      if (settled) return;
      settled = true;
      if (spent === null) return;
      used.tokens += tokensOf(spent) - held.tokens;
      used.usd += usdOf(spent, held.usd) - held.usd;
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
    const used: Used = { tokens: 0, usd: 0 };
    for (const { startedAt, spent } of await this.#runs(name)) {
      if (startedAt < since) continue;
      used.tokens += spent === null ? (most.tokens ?? 0) : tokensOf(spent);
      used.usd += spent === null ? (most.usd ?? 0) : usdOf(spent, most.usd ?? 0);
    }
    return used;
  }
}

const tokensOf = ({ inputTokens, outputTokens, uncertain }: Spent): number => inputTokens + outputTokens + uncertain;

/** What attempts cost that were cut off is not known: then the whole budget counts, or hanging up would be free. */
const usdOf = ({ usd, uncertain }: Spent, held: number): number =>
  usd === null || uncertain > 0 ? Math.max(usd ?? 0, held) : usd;

const startOf = (per: Allowed['per'], now: number): number => {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (per === 'month') return Date.UTC(year, month);
  return per === 'day' ? Date.UTC(year, month, date.getUTCDate()) : Math.floor(now / hourMs) * hourMs;
};

const endOf = (per: Allowed['per'], since: number): number => {
  const date = new Date(since);
  if (per === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  return since + (per === 'day' ? 24 : 1) * hourMs;
};

const hourMs = 3_600_000;

const allowanceWords = ({ tokens, usd, per }: Allowed): string => {
  const parts = [...(tokens === undefined ? [] : [`${tokens} tokens`]), ...(usd === undefined ? [] : [`${usd} USD`])];
  return `It is ${parts.join(' and ')} a ${per}, and what this request may use does not fit in what is left.`;
};
