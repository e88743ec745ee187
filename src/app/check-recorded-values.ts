// Checks the settled values in a log before a run is continued from it: a session takes them for what its models, tools and children
// returned.
import { CloisterError, isObject } from '#base';
import type { Frame, RecordOf } from '#contracts';

/** Throws `store_damaged` with the first record whose value is of another kind than its operation returns. */
export const checkRecordedValues = (frames: readonly Frame[]): void => {
  const begun = new Map<string, (value: unknown) => boolean>();
  for (const { run, no, cell, record, attempt } of frames) {
    if (record.type === 'begin') begun.set(`${cell}/${record.op}`, attempt === undefined ? valueOf(record) : isReply);
    if (record.type !== 'settle' || !record.ok) continue;
    const fits = begun.get(`${cell}/${record.op}`);
    if (fits === undefined || fits(record.value)) continue;
    throw new CloisterError('store_damaged', `Frame ${no} of run ${run} has a value that its operation never returns.`);
  }
};

const valueOf = ({ do: kind, name }: RecordOf<'begin'>): ((value: unknown) => boolean) => {
  if (kind === 'child') return (value) => isObject(value) && typeof value['crossing'] === 'number';
  if (kind === 'receive') return (value) => isObject(value) && isListOf(value['messages'], isNumber);
  return kind === 'step' && name.startsWith('tool:') ? isToolResult : () => true;
};

const isNumber = (value: unknown): boolean => typeof value === 'number';

const isListOf = (value: unknown, fits: (one: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(fits);

const isReply = (value: unknown): boolean =>
  isObject(value) && typeof value['finish'] === 'string' && isListOf(value['parts'], isPart);

const isPart = (part: unknown): boolean => {
  if (!isObject(part)) return false;
  const texts = part['type'] === 'call' ? ['id', 'name', 'input'] : ['text'];
  return texts.every((key) => typeof part[key] === 'string');
};

const isToolResult = (value: unknown): boolean =>
  value === undefined || value === null || (isObject(value) && typeof value['text'] === 'string');
