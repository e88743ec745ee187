import type { LanguageModelV4, SharedV4ProviderMetadata } from '@ai-sdk/provider';

/** USD per million tokens. */
export type Price = {
  /** For input that is not cached. */
  readonly input: number;
  /** For output, thinking included. */
  readonly output: number;
  /** For input read from the provider's cache, and for input written to it. Default: the price of input. */
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** Prices for whole requests whose input exceeds a number of tokens, ascending. */
  readonly tiers?: readonly (Omit<Price, 'tiers'> & { readonly aboveInputTokens: number })[];
};

/** A model that an agent may use, with the facts the runtime needs. */
export type Model = {
  /** A model of the AI SDK. */
  readonly language: LanguageModelV4;
  /** Default: from the price list, if it has the model. */
  readonly price?: Price;
  /** Size of its context window. */
  readonly contextTokens?: number;
  /** The longest reply that it can give. */
  readonly maxOutputTokens?: number;
  /** Takes the schema of an answer with the request. Otherwise the prompt alone states it. */
  readonly structuredOutput?: boolean;
  /** Media types of files that it takes with a message, such as `image/*`. Texts can be attached for any model. Default: no others. */
  readonly attachments?: readonly string[];
  /** Its tokenizer, if there is one; used when a prompt gets close to the window limit. */
  readonly countTokens?: (text: string) => number;
};

/** What is known about a model without connecting to it. */
export type ModelSummary = Omit<Model, 'language'> & { readonly language: Pick<LanguageModelV4, 'modelId'> };

export type Usage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
};

/** The cost of an attempt. `nanoUsd` is null if the model has no price. */
export type Cost = { readonly usage: Usage; readonly nanoUsd: number | null };

/** One part of a model's reply, stored verbatim: reasoning signatures in `meta` are sent back unchanged. */
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

/** The settled value of one model attempt. */
export type ModelReply = {
  readonly parts: readonly ReplyPart[];
  readonly finish: string;
  readonly usage: Usage | null;
};
