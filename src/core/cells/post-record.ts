// A post operation as one frame record: begun, decided and settled together.
import type { Json } from '#base';
import type { Frame, FrameRecord, Operation, PostOperation, Settlement } from '#contracts';
import { beginRecord } from './begin-record.ts';
import type { BeginRecord, Parent } from './begin-record.ts';

export type PostRecord = Extract<FrameRecord, { type: 'post' }>;

export const postRecord = (
  op: number,
  { name, about }: Pick<PostOperation, 'name' | 'about'>,
  result: Settlement<Json>,
  halted?: PostRecord['halted'],
): PostRecord => ({
  type: 'post',
  op,
  name,
  about,
  ok: result.ok,
  value: result.ok ? result.value : undefined,
  failure: result.ok ? undefined : result.failure,
  halted,
});

/**
 * The record that a replay produces. The outcome of a post and the wait for a hold depend on other cells, so they are taken from
 * the log.
 */
export const replayedRecord = (
  operation: Operation,
  no: number,
  { record, at }: Frame,
  parent: Parent,
): BeginRecord | PostRecord => {
  if (operation.do !== 'post') {
    const begin = beginRecord(operation, no, at, parent);
    return record.type === 'begin' && record.waits === true ? { ...begin, waits: true } : begin;
  }
  const { name, about } = operation;
  return record.type === 'post' ? { ...record, op: no, name, about } : { type: 'post', op: no, name, about, ok: true };
};
