// What is counted. Money is whole nano-dollars inside, so that sums add up exactly.

/** An account's contents, a cap, or a hold. A missing field of a cap means: not capped. */
export type Amounts = { readonly tokens?: number; readonly nanoUsd?: number; readonly spawns?: number };

/** What a caller may set for a run or an agent. */
export type Budget = {
  readonly tokens?: number;
  readonly usd?: number;
  readonly spawns?: number;
  readonly ms?: number;
};

/** What a session used, its children included. `usd` is null when a model had no price: unknown, not free. */
export type Spent = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usd: number | null;
  readonly ms: number;
  readonly steps: number;
  readonly spawns: number;
  /** Tokens held by attempts whose usage never became known. They count against the budget. */
  readonly uncertain: number;
};
