// What a model is shown, and where every byte of it comes from.
import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
import type { Hash } from '#base';
import type { Price } from './model.ts';

/** A record of the cell that owns the segment. */
export type Source =
  | { readonly from: 'definition'; readonly digest: Hash; readonly path: 'prompt' | 'guidance' | `tools/${number}` }
  /** One part of a model's settled reply. */
  | { readonly from: 'reply'; readonly no: number; readonly part: number }
  /** Any other settled operation of this cell. */
  | { readonly from: 'operation'; readonly no: number }
  /** An `in` entry of this cell's ledger. */
  | { readonly from: 'crossing'; readonly seq: number }
  /** An earlier segment of this cell. */
  | { readonly from: 'segment'; readonly id: number };

export type RuleName = `${string}@${number}`;

/** The segment is the result of the named, pure, versioned rule for these sources. `with` holds only numbers, so no text can hide in it. */
export type Origin = { readonly rule: RuleName; readonly of: readonly Source[]; readonly with?: readonly number[] };

export type Category = 'SYSTEM' | 'CONTEXT' | 'DIALOG' | 'TOOLS';

/** What a segment adds to the request: a tool schema or a message. */
export type PromptPart = { readonly tool: LanguageModelV4FunctionTool } | { readonly message: LanguageModelV4Message };

export type Segment = {
  readonly id: number;
  readonly origin: Origin;
  readonly category: Category;
  readonly part: PromptPart;
  readonly bytes: number;
  readonly chars: number;
  /** The estimate that holds are computed from. */
  readonly tokens: number;
};

/** The form in which the log keeps a segment; the part itself is rebuilt from the origin. */
export type SegmentRecord = {
  readonly id: number;
  readonly origin: Origin;
  readonly category: Category;
  readonly bytes: number;
};

export type ViewChange =
  | { readonly add: readonly SegmentRecord[] }
  | { readonly replace: readonly [first: number, last: number]; readonly by: SegmentRecord }
  | { readonly drop: readonly [first: number, last: number]; readonly rule: RuleName };

/**
 * One request to a model. `prompt` is a hash chain over the changes and the bytes of their parts: sha256(previous ‖ change) for
 * all but the last, and sha256(previous ‖ settings ‖ limit ‖ last change) for the last. `bytes` and `chars` are the size of the whole
 * prompt: the JSON of every part in view, in UTF-8 bytes and in UTF-16 code units.
 */
export type Attempt = {
  readonly turn: number;
  readonly model: string;
  readonly settings: Hash;
  readonly changes: readonly ViewChange[];
  readonly prompt: Hash;
  readonly bytes: number;
  readonly chars: number;
  /** The estimate for the whole prompt, the sum of its parts. */
  readonly tokens: number;
  readonly reply: ReplyLimit;
  /** The token limit for the whole prompt at that time, and what set it. */
  readonly window: WindowLimit;
  /** The size of the answer's schema, if it went with the request. It is the definition's `output.schema`. */
  readonly schemaBytes?: number;
};

/** The longest reply that was allowed, thinking included, and the facts of the model that it and the hold follow from. */
type ReplyLimit = { readonly tokens: number; readonly price?: Price; readonly modelMax?: number };

/** `model`: the model's own context window. `given`: the agent's `contextTokensMax`. `group`: the smallest window of its budget group. `default`: no limit is known. */
export type WindowLimit = { readonly tokens: number; readonly by: 'model' | 'given' | 'group' | 'default' };
