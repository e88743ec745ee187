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
  /** Input and output tokens together. */
  readonly tokens?: number;
  /** US dollars. Under such a budget, models without a known price are refused. */
  readonly usd?: number;
  /** Agents that may be started. */
  readonly spawns?: number;
  /** Bytes that it and everything below it may hold in memory at one time: windows, mailboxes, journals and outputs. */
  readonly memory?: number;
  /** Milliseconds from the start, waiting included. */
  readonly ms?: number;
};

/** The budget that a root began with, from its caps and its deadline. */
export const budgetOfRoot = (
  startedAt: number,
  { caps, deadline }: { readonly caps: Amounts; readonly deadline: number },
): Budget => ({
  ...(caps.tokens === undefined ? {} : { tokens: caps.tokens }),
  ...(caps.spawns === undefined ? {} : { spawns: caps.spawns }),
  ...(caps.bytes === undefined ? {} : { memory: caps.bytes }),
  ...(caps.nanoUsd === undefined ? {} : { usd: caps.nanoUsd / 1e9 }),
  ...(deadline === 0 ? {} : { ms: deadline - startedAt }),
});

/** What a session and its children used. `usd` is null if a model has no price: the cost is unknown, not zero. */
export type Spent = {
  /** Tokens of all prompts, cached parts included. */
  readonly inputTokens: number;
  /** The part of the input that the provider read from its cache, and the part it wrote there. */
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Tokens of all replies, thinking included. */
  readonly outputTokens: number;
  /** US dollars; null if they are unknown. */
  readonly usd: number | null;
  /** Working time in milliseconds: from start to end, without the time in which it waited for people or the run was down. */
  readonly ms: number;
  /** Tool calls. */
  readonly steps: number;
  /** Agents that were started. */
  readonly spawns: number;
  /** Tokens held for attempts whose usage is unknown. They count against the budget. */
  readonly uncertain: number;
};

export type SpentTokens = Pick<Spent, 'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'outputTokens'>;

/** Completed model requests or tool calls. Characters are UTF-16 code units, as in a string's `length`. */
export type Traffic = {
  readonly calls: number;
  /** How many of them failed. */
  readonly failed: number;
  /** What was sent, in UTF-8 bytes and in characters. */
  readonly bytesIn: number;
  readonly charsIn: number;
  /** What came back, in UTF-8 bytes and in characters. */
  readonly bytesOut: number;
  readonly charsOut: number;
  /** The sum of their durations. */
  readonly ms: number;
};

/** The requests to one model. */
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
  /** Tokens of requests whose usage is unknown. */
  readonly uncertain: number;
};

/** The calls of one tool or sub-agent. */
export type ToolFigures = Traffic & { readonly tool: string };

/** Requests to models, tools and sub-agents: totals, and by name in order of first use. */
export type Figures = {
  /** Requests to models. */
  readonly requests: Traffic;
  /** Without calls to sub-agents. */
  readonly tools: Traffic;
  /** Calls to sub-agents. */
  readonly agents: Traffic;
  /** The same requests, by model. */
  readonly byModel: readonly ModelFigures[];
  readonly byTool: readonly ToolFigures[];
  /** By the tool names that their callers use. */
  readonly byAgent: readonly ToolFigures[];
};

/** Pieces of work during which the event loop stood still for more than 100 ms. Real time, for the operator. */
export type Stalls = { readonly count: number; readonly longestMs: number };
