import type { Json } from '#base';
import type { CrossingKind, PromptPart, ReplyPart, Settlement, ToolSchema } from '#contracts';

/** A resolved source. The window and the audit each resolve sources independently. */
export type ResolvedSource =
  | { readonly from: 'definition'; readonly value: string | ToolSchema }
  | { readonly from: 'reply'; readonly part: ReplyPart }
  | { readonly from: 'operation'; readonly settled: Settlement<Json> }
  | { readonly from: 'crossing'; readonly kind: CrossingKind; readonly content: string }
  | { readonly from: 'segment'; readonly part: PromptPart };

/** Pure: the same sources and numbers always give the same part. Any change needs a new version. */
export type Rule = (sources: readonly ResolvedSource[], numbers: readonly number[]) => PromptPart;
