import type { Json } from '#base';
import type { CrossingKind, PromptPart, ReplyPart, Settlement, ToolSchema } from '#contracts';

/** A source, looked up. The window and the audit each look up for themselves. */
export type ResolvedSource =
  | { readonly from: 'definition'; readonly value: string | ToolSchema }
  | { readonly from: 'reply'; readonly part: ReplyPart }
  | { readonly from: 'operation'; readonly settled: Settlement<Json> }
  | { readonly from: 'crossing'; readonly kind: CrossingKind; readonly content: string }
  | { readonly from: 'segment'; readonly part: PromptPart };

/** Pure: the same sources and numbers give the same part, for ever. A change is a new version. */
export type Rule = (sources: readonly ResolvedSource[], numbers: readonly number[]) => PromptPart;
