// What an operation was and what came of it, in words.
import type { Json, JsonObject } from '#base';
import type { OperationRecord, SettleFrameRecord } from './records.ts';

/** Undefined: the cell did not get that far. `goal`: what a child was given. As long as what it tells of. */
export const describeOperation = (operation: OperationRecord | undefined, goal?: string): string => {
  if (operation === undefined) return 'nothing: it did not get that far';
  const { begin, attempt, settle, beganAt } = operation;
  const called = begin.name.slice(begin.name.indexOf(':') + 1);
  if (attempt !== undefined) return `model ${attempt.model}${endWords(settle, replyWords)}`;
  if (begin.do === 'sleep') return `waits ${Math.max(0, (begin.until ?? beganAt) - beganAt)} ms`;
  if (begin.birth !== undefined)
    return `agent ${begin.birth.agent}${argsWords(goal === undefined ? begin.about?.['args'] : `"${goal}"`)}${endWords(settle, (_value, settled) => childWords(settled))}`;
  if (begin.name.startsWith('tool:'))
    return `tool ${called}${argsWords(begin.about?.['args'])}${endWords(settle, textWords)}`;
  return `${begin.name}${endWords(settle, textWords)}`;
};

const endWords = (
  settle: SettleFrameRecord | undefined,
  words: (value: Json, settle: SettleFrameRecord) => string,
): string => {
  if (settle === undefined) return ', not settled';
  if (settle.ok) return `: ${words(settle.value ?? null, settle)}`;
  const { code = 'defect', detail } = settle.failure ?? {};
  return `, failed: ${code}${detail === undefined ? '' : ` (${detail})`}`;
};

const argsWords = (args: Json | undefined): string => {
  if (args === undefined) return '';
  return ` ${typeof args === 'string' ? args : JSON.stringify(args)}`;
};

/** A reply's own words, then what it asks for. Whatever is no reply is told as it is. */
const replyWords = (value: Json): string => {
  const parts = fieldOf(value, 'parts');
  if (!Array.isArray(parts)) return textWords(value);
  const words = parts.flatMap((part: Json) => {
    const type = fieldOf(part, 'type');
    if (type === 'call') return [`calls ${fieldText(part, 'name')} ${fieldText(part, 'input')}`];
    return type === 'text' ? [fieldText(part, 'text')] : [];
  });
  return words.join(' · ');
};

const childWords = ({ ended }: SettleFrameRecord): string =>
  ended === undefined ? 'ended' : `${ended.outcome.status} ${ended.outcome.output}`.trimEnd();

const textWords = (value: Json): string =>
  typeof fieldOf(value, 'text') === 'string' ? fieldText(value, 'text') : JSON.stringify(value);

const fieldText = (value: Json, key: string): string => {
  const field = fieldOf(value, key);
  return typeof field === 'string' ? field : JSON.stringify(field);
};

const fieldOf = (value: Json, key: string): Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? ((value as JsonObject)[key] ?? null) : null;
