// Facts of a run in words.
import type { Amendment, ToolNames, WindowLimit } from '#contracts';
import { compactNumber, count, formatDuration, money, plural } from '#headends/run-view';
import { excerpt } from './sanitize-text.ts';

/** The same in a sentence, where no title says what is unknown. */
export const describeCost = (usd: number | null): string => (usd === null ? 'cost unknown' : money(usd));

/** How long something waited for people, after the time that it worked; empty for less than a second. */
export const waitedText = (ms: number): string => (ms < 1000 ? '' : `, waited ${formatDuration(ms)}`);

/** What a fork changed. The amendment must be sanitized. */
export const describeAmendment = ({ agent, model, withoutGrants = [], goal }: Amendment): string => {
  const changes = [
    ...(model === undefined ? [] : [`with model ${model}`]),
    ...withoutGrants.map((grant) => `without the grant ${grant}`),
    ...(goal === undefined ? [] : [`with the goal "${excerpt(goal, 60)}"`]),
  ];
  return changes.length === 0 ? 'no agent changed' : `${agent} ${changes.join(', ')}`;
};

type WindowTrim = {
  readonly what: 'compacted' | 'shortened' | 'dropped';
  readonly messages: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
};

export const describeTrim = ({ what, messages, bytesBefore, bytesAfter }: WindowTrim): string =>
  `${plural(messages, 'message')} ${what}, ${compactNumber(bytesBefore)} → ${compactNumber(bytesAfter)} bytes`;

export const describeClamp = ({ window, was }: { readonly window: WindowLimit; readonly was: number | null }): string =>
  `clamped ${was === null ? '' : `from ${count(was)} `}to ${plural(window.tokens, 'token')}, ${windowLimitReasons[window.by]}`;

/** What limits the size of a window. */
export const windowLimitReasons: Readonly<Record<WindowLimit['by'], string>> = {
  model: 'limited by the model',
  given: 'limited by contextTokensMax',
  group: 'limited by its budget group',
  default: 'by default',
};

type CacheUse = { readonly cacheReadTokens: number; readonly cacheWriteTokens: number };

/** Tokens that the provider read from and wrote to its cache; empty if there were none. */
export const describeCacheUse = ({ cacheReadTokens: read, cacheWriteTokens: written }: CacheUse): string =>
  read === 0 && written === 0 ? '' : ` (cache: ${compactNumber(read)} read, ${compactNumber(written)} written)`;

export const describeToolNames = ({ toolName, modelToolName }: ToolNames): string =>
  `MCP clients and scripts see ${toolName}; models see ${modelToolName}`;
