// Counted amounts. Money is in whole nano-dollars internally, so that sums are exact.

/** The balance of an account, a cap, or a hold. A missing field of a cap means: no cap. */
export type Amounts = {
  readonly tokens?: number;
  readonly nanoUsd?: number;
  readonly spawns?: number;
  /** Bytes held in memory at one time: window, mailbox, journal and outputs. */
  readonly bytes?: number;
};

/** The budget of a run or an agent. */
export type Budget = {
  readonly tokens?: number;
  readonly usd?: number;
  readonly spawns?: number;
  /** Bytes that it and everything below it may hold in memory at one time: windows, mailboxes, journals and outputs. */
  readonly memory?: number;
  readonly ms?: number;
};

/** What a session and its children used. `usd` is null if a model has no price: the cost is unknown, not zero. */
export type Spent = {
  readonly inputTokens: number;
  /** The part of the input that the provider read from its cache, and the part it wrote there. */
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly usd: number | null;
  readonly ms: number;
  readonly steps: number;
  readonly spawns: number;
  /** Tokens held for attempts whose usage is unknown. They count against the budget. */
  readonly uncertain: number;
};

export type SpentTokens = Pick<Spent, 'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'outputTokens'>;

/** Completed model requests or tool calls. Characters are UTF-16 code units, as in a string's `length`. */
export type Traffic = {
  readonly calls: number;
  readonly failed: number;
  readonly bytesIn: number;
  readonly charsIn: number;
  readonly bytesOut: number;
  readonly charsOut: number;
  /** The sum of their durations. */
  readonly ms: number;
};

export type ModelFigures = Traffic & {
  /** `<provider>/<model>`. */
  readonly model: string;
  readonly provider: string;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  /** Null: the price is unknown. */
  readonly usd: number | null;
  readonly uncertain: number;
};

export type ToolFigures = Traffic & { readonly tool: string };

/** Requests to models, tools and sub-agents: totals, and by name in order of first use. */
export type Figures = {
  readonly requests: Traffic;
  /** Without calls to sub-agents. */
  readonly tools: Traffic;
  readonly agents: Traffic;
  readonly byModel: readonly ModelFigures[];
  readonly byTool: readonly ToolFigures[];
  /** By the tool names that their callers use. */
  readonly byAgent: readonly ToolFigures[];
};

/** Pieces of work during which the event loop stood still for more than 100 ms. Real time, for the operator. */
export type Stalls = { readonly count: number; readonly longestMs: number };
