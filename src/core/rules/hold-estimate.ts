// What one attempt may cost: the longest reply it may get, and the hold for the whole attempt. Both are recorded with every
// attempt, and replay and audit compute them again: to change one, add another version. Runs of earlier formats keep theirs.
//
//   hold-by-own-facts. Definitions, the request's budget, the model's facts and the cell's own prompt and usage: nothing else
//       counts. No balance, no other cell and no earlier run.
import type { JsonObject } from '#base';
import type { Amounts, ModelSettings, Price, PromptPart } from '#contracts';
import { fileReferences } from './attachment.ts';
import { estimatePromptTokens } from './estimate-prompt-tokens.ts';
import { recordedVersions } from './recorded-versions.ts';

type Reasoning = NonNullable<ModelSettings['reasoning']>;

type ReplyCapInput = {
  /** The agent's `maxOutputTokens`; 0: it has none. */
  readonly agentMax: number;
  /** The model's, from the config. */
  readonly modelMax: number | undefined;
  readonly reasoning: Reasoning;
  readonly windowTokens: number;
  /** The caps of the cell's account, then of its caller's, and so on up to the run's. */
  readonly caps: readonly Amounts[];
  readonly price: Price | undefined;
};

/** What one reply may use of a cap: one part of so many. */
export type ReplyShare = {
  readonly unit: 'tokens' | 'nanoUsd';
  readonly cap: number;
  readonly parts: number;
  readonly tokens: number;
};

export type ReplyCap = {
  /** Thinking and answer together. */
  readonly tokens: number;
  /** The share that is too small for any reply; null: it is not. */
  readonly tooSmall: ReplyShare | null;
};

type HoldInput = {
  /** `<provider>/<model>`. */
  readonly model: string;
  /** The estimate for the prompt, or only for what is new since the usage in `reported`. */
  readonly promptTokens: number;
  /** The input and output that the model reported for the prompt so far; null: this is the first, or it was cut. */
  readonly reported: number | null;
  readonly hasTools: boolean;
  /** The JSON Schema of the answer, which may be sent besides the prompt. */
  readonly schema: JsonObject | undefined;
  readonly reply: number;
  readonly price: Price | undefined;
};

const outputTokensDefault = 8_192;

/** A shorter reply would be cut off in most cases. */
export const replyTokensMin = 256;

/**
 * A quarter of the account's own cap and of the caller's, then half as much for every level. So the next requests of all callers,
 * that of the agent and a quarter of the budget for what all of them were shown fit side by side, however deep they are nested.
 */
const partsAt = (levelsUp: number): number => Math.max(4, 2 ** (levelsUp + 1));

const smallestShare = (caps: readonly Amounts[], price: Price | undefined): ReplyShare | null => {
  let smallest: ReplyShare | null = null;
  for (const [levelsUp, level] of caps.entries())
    for (const unit of ['tokens', 'nanoUsd'] as const) {
      const [cap, parts] = [level[unit] ?? Infinity, partsAt(levelsUp)];
      const tokens = unit === 'tokens' ? Math.floor(cap / parts) : outputTokensFor(cap / parts, price);
      if (tokens < (smallest?.tokens ?? Infinity)) smallest = { unit, cap, parts, tokens };
    }
  return smallest;
};

/**
 * Room for thinking beyond the answer. Vendors count both against the one maximum that they are given; OpenAI advises to leave
 * about 25,000 tokens for them at first.
 */
export const thinkingTokens: Readonly<Record<Reasoning, number>> = {
  none: 0,
  minimal: 1_024,
  low: 4_096,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 32_768,
};

/**
 * The agent's maximum and room to think; else the model's, else the default and room to think, but at most the smallest share of
 * a cap. An agent's own maximum is never lowered, only its room to think.
 */
const replyCap1 = (input: ReplyCapInput): ReplyCap => {
  const { agentMax, modelMax, reasoning, windowTokens, caps, price } = input;
  const thinking = thinkingTokens[reasoning];
  const roomMax = Math.min(modelMax || Infinity, Math.floor(windowTokens / 2));
  const most = agentMax
    ? Math.max(agentMax, Math.min(agentMax + thinking, roomMax))
    : modelMax || Math.max(outputTokensDefault, Math.min(outputTokensDefault + thinking, roomMax));
  const share = smallestShare(caps, price);
  const tokens = Math.min(most, Math.max(agentMax, share?.tokens ?? Infinity));
  return { tokens, tooSmall: tokens < Math.min(replyTokensMin, most) ? share : null };
};

const outputTokensFor = (nanoUsd: number, price: Price | undefined): number => {
  if (price === undefined) return Infinity;
  const perToken = Math.max(price.output, ...(price.tiers ?? noTiers).map(({ output }) => output)) * 1_000;
  return perToken === 0 ? Infinity : Math.floor(nanoUsd / perToken);
};

/**
 * What providers add to a request: a few tokens around it, and instructions for tools and JSON. The most that a vendor
 * documents for those are 530 tokens (Anthropic, Claude 3 Opus).
 */
const [requestTokens, toolsTokens] = [64, 576];

/**
 * Tokenizers that are public and were measured: those of OpenAI, and of Llama from version 3 on. The others, Anthropic's and
 * Google's among them, may count more for the same text.
 */
const measuredTokenizer = /(?:^|[/:._-])(?:gpt-|chatgpt-|codex-|o[1-9](?:-|$)|llama-?[3-9])/iu;

export const tokenizerMargin = (model: string): number => (measuredTokenizer.test(model) ? 1 : 1.6);

/** Usage as reported, the estimate for what is new, what the provider adds, and the longest reply. */
const hold1 = ({ model, promptTokens, reported, hasTools, schema, reply, price }: HoldInput): Amounts => {
  const estimated = (tokens: number): number => Math.ceil(tokens * tokenizerMargin(model));
  const before =
    reported ??
    (hasTools || schema ? toolsTokens : 0) + (schema ? estimated(estimatePromptTokens(JSON.stringify(schema))) : 0);
  const input = before + estimated(promptTokens) + requestTokens;
  return { tokens: input + reply, ...(price && { nanoUsd: boundNanoUsd(price, input, reply) }) };
};

/** Dollars per million tokens equal thousands of nano-dollars per token. Uses the highest price that applies to this much input. */
const boundNanoUsd = (price: Price, input: number, output: number): number => {
  const tiers = (price.tiers ?? noTiers).filter(({ aboveInputTokens }) => input > aboveInputTokens);
  const bounds = [price, ...tiers].map(
    (tier) =>
      input * Math.max(tier.input, tier.cacheWrite ?? 0, tier.cacheRead ?? 0) * 1_000 + output * tier.output * 1_000,
  );
  return Math.ceil(Math.max(...bounds));
};

const noTiers: NonNullable<Price['tiers']> = [];

/** With the files that the part refers to. */
const partTokens2 = (json: string, part?: PromptPart): number =>
  fileReferences(part).reduce((sum, { tokens }) => sum + tokens, estimatePromptTokens(json));

export type HoldRules = {
  /** The estimate for a part of the prompt, given as JSON and, if it may refer to files, as a value. */
  readonly partTokens: (json: string, part?: PromptPart) => number;
  readonly replyCap: (input: ReplyCapInput) => ReplyCap;
  readonly hold: (input: HoldInput) => Amounts;
};

/** By version. */
export const holdRulesByVersion: Readonly<Record<number, HoldRules>> = {
  1: { partTokens: estimatePromptTokens, replyCap: replyCap1, hold: hold1 },
  2: { partTokens: partTokens2, replyCap: replyCap1, hold: hold1 },
};

/** Throws `run_format`. */
export const holdRules = (format: number): HoldRules => holdRulesByVersion[recordedVersions(format).holdEstimate]!;
