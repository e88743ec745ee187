// Small texts of the chat: times, names, amounts.
import type { Budget } from '#contracts';
import { formatDuration, workedMs } from '#headends/run-view';
import type { CellView, RunView } from '#headends/run-view';

/** `mail__send` → `mail/send`: a tool by the server that has it. */
export const toolLabel = (tool: string): string => tool.replace('__', '/');

/** 06:37, local time. */
export const hourMinute = (at: number): string => {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
};

/** 1.2 s; whole seconds while it changes. */
export const workedTime = (cell: CellView, now: number): string => {
  const ms = workedMs(cell, now);
  return cell.endedAt === null && ms < 59_950 ? `${Math.floor(ms / 1000)} s` : formatDuration(ms);
};

/** Null as soon as one price is unknown. */
export const totalUsd = ({ cells }: RunView): number | null =>
  [...cells.values()].reduce<number | null>((sum, { usd }) => (sum === null || usd === null ? null : sum + usd), 0);

const maxName = 40;

/** A name for a new conversation, from its first words; with a number if it is taken. */
export const conversationName = (text: string, taken: readonly string[]): string => {
  const plain = text.normalize('NFKD').replaceAll(/[^\p{ASCII}]/gu, '');
  const words = plain.toLowerCase().match(/[a-z0-9]+/gu) ?? [];
  let base = '';
  for (const word of words.filter((one) => !fillers.has(one)).slice(0, 4)) {
    if (base.length + word.length >= maxName - 4) break;
    base += base === '' ? word : `-${word}`;
  }
  if (base === '') base = 'chat';
  let name = base;
  for (let number = 2; taken.includes(name); number++) name = `${base}-${number}`;
  return name;
};

const fillers = new Set(
  'a an the in on of or and to is are do does did should would could can will what how why who which i we you it its me my our your please'.split(
    ' ',
  ),
);

/** `value` null: no limit. */
export type Amount = { readonly value: number | null; readonly problem: string | null };

/** `50,000`, `50k`, `1.5M`, `$0.10`; nothing: no limit. `most`: what this person may give. */
export const readAmount = (text: string, unit: 'tokens' | 'usd', most: number | undefined): Amount => {
  const plain = text.replaceAll(/[\s,_$]/gu, '').toLowerCase();
  if (plain === '') return { value: null, problem: null };
  const [, digits = '', scale = ''] = /^(\d+(?:\.\d+)?|\.\d+)(k|m)?$/u.exec(plain) ?? [];
  const value = Number(digits) * ({ k: 1_000, m: 1_000_000 }[scale] ?? 1);
  const isWhole = unit === 'usd' || Number.isInteger(value);
  if (digits === '' || value <= 0 || !isWhole || !Number.isFinite(value))
    return { value: null, problem: unit === 'usd' ? 'Dollars, such as 0.10.' : 'Tokens, such as 50,000.' };
  if (most !== undefined && value > most)
    return {
      value: null,
      problem: `At most ${unit === 'usd' ? `$${most}` : `${most.toLocaleString('en-US')} tokens`}.`,
    };
  return { value, problem: null };
};

export const budgetOf = (tokens: number | null, usd: number | null): Budget | undefined =>
  tokens === null && usd === null
    ? undefined
    : { ...(tokens === null ? {} : { tokens }), ...(usd === null ? {} : { usd }) };

/** Why a text is not the JSON object that an agent takes, with the place; null: it is. */
export const jsonObjectProblem = (text: string): string | null => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `This is not JSON yet: ${jsonPlace(text, error as Error)}`;
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? null : 'A JSON object is needed: { … }';
};

/** Browsers word it differently; the position, where there is one, becomes a line. */
const jsonPlace = (text: string, { message }: Error): string => {
  const [, position] = /position (\d+)/u.exec(message) ?? [];
  if (position === undefined) return message;
  const before = text.slice(0, Number(position)).split('\n');
  return `line ${before.length}, column ${before.at(-1)!.length + 1}.`;
};
