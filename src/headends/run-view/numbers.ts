// Numbers, sizes, money and times as people read them: the same on a terminal and on the page.
import type { Budget } from '#contracts';

/** Made once: `toLocaleString` looks its locale up each time, which a page with thousands of figures notices. */
const counts = new Intl.NumberFormat('en-US');

export const count = (value: number): string => counts.format(value);

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** At most five characters up to 999 millions: 999, 12.3k, 123k, 1.2M. */
export const compactNumber = (value: number): string => {
  if (value < 1000) return String(value);
  const [unit, scaled] = value < 999_500 ? (['k', value / 1000] as const) : (['M', value / 1_000_000] as const);
  return `${scaled < 99.95 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`;
};

/** 63 B, 1,112 B, 13.4 KB, 2.1 MB. */
export const formatBytes = (bytes: number): string => {
  if (bytes < 10_000) return `${count(bytes)} B`;
  const [unit, scaled] = bytes < 999_950 ? (['KB', bytes / 1000] as const) : (['MB', bytes / 1_000_000] as const);
  return `${scaled.toFixed(1)} ${unit}`;
};

/** Null: the price is unknown, which is not free. */
export const money = (usd: number | null): string => {
  if (usd === null) return 'unknown';
  return `$${usd.toFixed(usd < 100 ? 4 : 2)}`;
};

export const formatDuration = (ms: number): string => {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${twoDigits(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h${twoDigits(Math.floor((seconds % 3600) / 60))}m`;
};

const budgetUnits = [
  ['tokens', (tokens) => plural(tokens, 'token')],
  ['usd', (usd) => `$${usd}`],
  ['ms', formatDuration],
  ['spawns', (agents) => plural(agents, 'agent')],
  ['memory', (bytes) => `${formatBytes(bytes)} of memory`],
] satisfies readonly (readonly [keyof Budget, (amount: number) => string])[];

/** `200,000 tokens, $1`; empty: no limit. */
export const budgetText = (budget: Budget): string =>
  budgetUnits
    .flatMap(([unit, write]) => {
      const amount = budget[unit];
      return amount === undefined ? [] : [write(amount)];
    })
    .join(', ');

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
