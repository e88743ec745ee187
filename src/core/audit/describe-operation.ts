// Describes an operation and its result as text.
import { unknownKind } from '#base';
import type { Json, JsonObject } from '#base';
import type { OperationRecord, SettleFrameRecord } from './records.ts';

/** `operation` is undefined if the cell did not get that far. `goal`: the goal a child received. The text is not shortened. */
export const describeOperation = (operation: OperationRecord | undefined, goal?: string): string => {
  if (operation === undefined) return 'nothing: it did not get that far';
  const { begin, attempt, settle, beganAt } = operation;
  const called = begin.name.slice(begin.name.indexOf(':') + 1);
  if (attempt !== undefined) return `model ${attempt.model}${settlementText(settle, replyText)}`;
  switch (begin.do) {
    case 'sleep':
      return `waits ${Math.max(0, (begin.until ?? beganAt) - beganAt)} ms`;
    case 'child':
      return `agent ${begin.birth?.agent ?? called}${argumentsText(goal === undefined ? begin.about?.['args'] : `"${goal}"`)}${settlementText(settle, (_value, settled) => childText(settled))}`;
    case 'step':
    case 'receive':
      return begin.name.startsWith('tool:')
        ? `tool ${called}${argumentsText(begin.about?.['args'])}${settlementText(settle, valueText)}`
        : `${begin.name}${settlementText(settle, valueText)}`;
    default:
      return unknownKind(begin.do, begin.name);
  }
};

const settlementText = (
  settle: SettleFrameRecord | undefined,
  describe: (value: Json, settle: SettleFrameRecord) => string,
): string => {
  if (settle === undefined) return ', not settled';
  if (settle.ok) return `: ${describe(settle.value ?? null, settle)}`;
  const { code = 'defect', detail } = settle.failure ?? {};
  return `, failed: ${code}${detail === undefined ? '' : ` (${detail})`}`;
};

const argumentsText = (args: Json | undefined): string => {
  if (args === undefined) return '';
  return ` ${typeof args === 'string' ? args : JSON.stringify(args)}`;
};

/** A reply's text and calls. A value that is not a reply is shown as it is. */
const replyText = (value: Json): string => {
  const parts = getField(value, 'parts');
  if (!Array.isArray(parts)) return valueText(value);
  const texts = parts.flatMap((part: Json) => {
    const type = getField(part, 'type');
    if (type === 'call') return [`calls ${fieldText(part, 'name')} ${fieldText(part, 'input')}`];
    return type === 'text' ? [fieldText(part, 'text')] : [];
  });
  return texts.join(' · ');
};

const childText = ({ ended }: SettleFrameRecord): string =>
  ended === undefined ? 'ended' : `${ended.outcome.status} ${ended.outcome.output}`.trimEnd();

const valueText = (value: Json): string =>
  typeof getField(value, 'text') === 'string' ? fieldText(value, 'text') : JSON.stringify(value);

const fieldText = (value: Json, key: string): string => {
  const field = getField(value, key);
  return typeof field === 'string' ? field : JSON.stringify(field);
};

const getField = (value: Json, key: string): Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? ((value as JsonObject)[key] ?? null) : null;
