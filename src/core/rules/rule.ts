import type { Json } from '#base';
import type { CrossingKind, PromptPart, ReplyPart, Settled, ToolSchema } from '#contracts';

/** A source, looked up. The window and the audit each look up for themselves. */
export type Resolved =
  | { readonly from: 'definition'; readonly value: string | ToolSchema }
  | { readonly from: 'reply'; readonly part: ReplyPart }
  | { readonly from: 'operation'; readonly settled: Settled<Json> }
  | { readonly from: 'crossing'; readonly kind: CrossingKind; readonly content: string }
  | { readonly from: 'segment'; readonly part: PromptPart };

/** Pure: the same sources and numbers give the same part, for ever. A change is a new version. */
export type Rule = (sources: readonly Resolved[], numbers: readonly number[]) => PromptPart;
