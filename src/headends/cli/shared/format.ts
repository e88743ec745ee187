// Numbers, times and other facts in words.
import type { Amendment, ToolNames, WindowLimit } from '#contracts';
import { excerpt } from './sanitize-text.ts';

export const count = (value: number): string => value.toLocaleString('en-US');

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** At most five characters up to 999 millions: 999, 12.3k, 123k, 1.2M. */
export const compactNumber = (value: number): string => {
  if (value < 1000) return String(value);
  const [unit, scaled] = value < 999_500 ? (['k', value / 1000] as const) : (['M', value / 1_000_000] as const);
  return `${scaled < 99.95 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`;
};

/** Null: the price is unknown, which is not free. */
export const money = (usd: number | null): string => {
  if (usd === null) return 'unknown';
  return `$${usd.toFixed(usd < 100 ? 4 : 2)}`;
};

/** The same in a sentence, where no title says what is unknown. */
export const describeCost = (usd: number | null): string => (usd === null ? 'cost unknown' : money(usd));

export const formatDuration = (ms: number): string => {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${twoDigits(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h${twoDigits(Math.floor((seconds % 3600) / 60))}m`;
};

/** How long something waited for people, after the time that it worked; empty for less than a second. */
export const waitedText = (ms: number): string => (ms < 1000 ? '' : `, waited ${formatDuration(ms)}`);

/** Local time, hours to seconds. */
export const clockTime = (at: number): string => {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
};

export const dateTime = (at: number): string => {
  const date = new Date(at);
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${clockTime(at)}`;
};

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** What a fork changed. The amendment must be sanitized. */
export const describeAmendment = ({ agent, model, withoutGrants = [], goal }: Amendment): string => {
  const changes = [
    ...(model === undefined ? [] : [`with model ${model}`]),
    ...withoutGrants.map((grant) => `without the grant ${grant}`),
    ...(goal === undefined ? [] : [`with the goal "${excerpt(goal, 60)}"`]),
  ];
  return changes.length === 0 ? 'nothing changed' : `${agent} ${changes.join(', ')}`;
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
