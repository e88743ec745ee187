// What is counted. Money is whole nano-dollars inside, so that sums add up exactly.

/** An account's contents, a cap, or a hold. A missing field of a cap means: not capped. */
export type Amounts = {
  readonly tokens?: number;
  readonly nanoUsd?: number;
  readonly spawns?: number;
  /** What is held in memory at one time: window, mailbox, journal and outputs, in bytes. */
  readonly bytes?: number;
};

/** What a caller may set for a run or an agent. */
export type Budget = {
  readonly tokens?: number;
  readonly usd?: number;
  readonly spawns?: number;
  /** Bytes that it and all below it may hold in memory at one time: windows, mailboxes, journals and outputs. */
  readonly memory?: number;
  readonly ms?: number;
};

/** What a session used, its children included. `usd` is null when a model had no price: unknown, not free. */
export type Spent = {
  readonly inputTokens: number;
  /** Of the input, what the provider read from its cache, and what it wrote there. */
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly usd: number | null;
  readonly ms: number;
  readonly steps: number;
  readonly spawns: number;
  /** Tokens held by attempts whose usage never became known. They count against the budget. */
  readonly uncertain: number;
};

export type SpentTokens = Pick<Spent, 'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'outputTokens'>;

/** Requests to models, or calls of tools, that have ended. Characters are UTF-16 code units: a text's `length`. */
export type Traffic = {
  readonly calls: number;
  readonly failed: number;
  readonly bytesIn: number;
  readonly charsIn: number;
  readonly bytesOut: number;
  readonly charsOut: number;
  /** How long each took, added up. */
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
  /** Null: the price is not known. */
  readonly usd: number | null;
  readonly uncertain: number;
};

export type ToolFigures = Traffic & { readonly tool: string };

/** What was asked of models, tools and sub-agents: all of it, and by name in the order of first use. */
export type Figures = {
  readonly requests: Traffic;
  /** Without the calls of sub-agents. */
  readonly tools: Traffic;
  readonly agents: Traffic;
  readonly byModel: readonly ModelFigures[];
  readonly byTool: readonly ToolFigures[];
  /** By the names that their callers call them by. */
  readonly byAgent: readonly ToolFigures[];
};
