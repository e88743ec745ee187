import type { LanguageModelV4, SharedV4ProviderMetadata } from '@ai-sdk/provider';

/** USD per million tokens. */
export type Price = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** Other prices for whole requests whose input passes so many tokens, ascending. */
  readonly tiers?: readonly (Omit<Price, 'tiers'> & { readonly aboveInputTokens: number })[];
};

/** A model that an agent may use, with what the runtime must know of it. */
export type Model = {
  readonly language: LanguageModelV4;
  readonly price?: Price;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
  /** A tokenizer for it, if there is one: asked when a prompt comes near the window's limit. */
  readonly countTokens?: (text: string) => number;
};

export type Usage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
};

/** What an attempt cost. `nanoUsd` is null when the model has no price. */
export type Cost = { readonly usage: Usage; readonly nanoUsd: number | null };

/** One part of a model's reply, kept verbatim: reasoning signatures in `meta` go back as they came. */
export type ReplyPart =
  | { readonly type: 'text'; readonly text: string; readonly meta?: SharedV4ProviderMetadata }
  | { readonly type: 'reasoning'; readonly text: string; readonly meta?: SharedV4ProviderMetadata }
  | {
      readonly type: 'call';
      readonly id: string;
      readonly name: string;
      readonly input: string;
      readonly meta?: SharedV4ProviderMetadata;
    };

/** The settled value of one attempt at a model. */
export type ModelReply = {
  readonly parts: readonly ReplyPart[];
  readonly finish: string;
  readonly usage: Usage | null;
};
