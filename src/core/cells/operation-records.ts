// Operations as frame records, and records as settlements.
import { omitUndefined } from '#base';
import type { CellId, Json } from '#base';
import type { BeginOperation, Frame, Operation, PostOperation, RecordOf, Settlement } from '#contracts';
import type { LiveCell, StartedChild } from './live-cell.ts';
import type { SettleExtras } from './step-runner.ts';

/** The recorded name of an operation; a replay must produce the same one. */
export const operationName = (operation: Operation): string => {
  switch (operation.do) {
    case 'step':
      return operation.name;
    case 'child':
      return `agent:${operation.agent.signature.toolName}`;
    case 'sleep':
      return 'sleep';
    case 'post':
    case 'receive':
    case 'ask':
      return operation.name;
    default:
      return operation satisfies never;
  }
};

export const beginRecord = (operation: BeginOperation, op: number, at: number, parent: Parent): RecordOf<'begin'> => {
  switch (operation.do) {
    case 'step': {
      const { name, repeat, hold, about } = operation;
      return { type: 'begin', op, do: 'step', name, repeat, hold, about };
    }
    case 'child':
      return {
        type: 'begin',
        op,
        do: 'child',
        name: operationName(operation),
        about: operation.about,
        birth: birthRecord(operation as StartedChild, parent),
      };
    case 'sleep':
      return { type: 'begin', op, do: 'sleep', name: 'sleep', until: at + operation.ms, about: { why: operation.why } };
    case 'receive': {
      const { name, about, timeoutMs } = operation;
      return { type: 'begin', op, do: 'receive', name, about, ...(timeoutMs > 0 ? { until: at + timeoutMs } : {}) };
    }
    case 'ask': {
      const { name, about, timeoutMs, question } = operation;
      return { type: 'begin', op, do: 'ask', name, about, until: at + timeoutMs, question };
    }
    default:
      return operation satisfies never;
  }
};

export const settleRecord = (
  op: number,
  result: Settlement<Json>,
  more?: SettleExtras,
  halted?: RecordOf<'settle'>['halted'],
): RecordOf<'settle'> => ({
  type: 'settle',
  op,
  ok: result.ok,
  ms: result.ms,
  value: result.ok ? result.value : undefined,
  failure: result.ok ? undefined : result.failure,
  cost: more?.cost,
  uncertain: more?.uncertain,
  ended: more?.ended,
  halted,
});

/** A post is begun, decided and settled in one frame. */
export const postRecord = (
  op: number,
  { name, about }: Pick<PostOperation, 'name' | 'about'>,
  result: Settlement<Json>,
  halted?: RecordOf<'post'>['halted'],
): RecordOf<'post'> => ({
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
): RecordOf<'begin' | 'post'> => {
  if (operation.do !== 'post') {
    const begin = beginRecord(operation, no, at, parent);
    return record.type === 'begin' && record.waits === true ? { ...begin, waits: true } : begin;
  }
  const { name, about } = operation;
  return record.type === 'post' ? { ...record, op: no, name, about } : { type: 'post', op: no, name, about, ok: true };
};

/** The settlement that a record holds. */
export const readSettlement = (settle: RecordOf<'settle' | 'post'>, at: number): Settlement<Json> => {
  const ms = settle.type === 'settle' ? settle.ms : undefined;
  if (settle.ok) return { at, ms, ok: true, value: settle.value ?? null };
  return { at, ms, ok: false, failure: settle.failure ?? { code: 'defect' } };
};

/** The kind of operation that a record began. */
export const operationKind = (record: RecordOf<'begin' | 'post'>): Operation['do'] =>
  record.type === 'post' ? 'post' : record.do;

export type Parent = {
  readonly cellId: CellId;
  readonly depth: number;
  readonly run: Pick<LiveCell['run'], 'passedOver'>;
};

const birthRecord = (
  { cell, agent, caps, deadline, groupTokens, spawned, task, floor }: StartedChild,
  { cellId, depth, run }: Parent,
): RecordOf<'begin'>['birth'] => ({
  cell,
  parent: cellId,
  agent: agent.name,
  digest: agent.digest,
  depth: depth + 1,
  caps,
  deadline,
  ...(groupTokens === undefined ? {} : { groupTokens }),
  ...(spawned === undefined ? {} : { spawned }),
  ...(task === undefined ? {} : { task }),
  ...(floor === undefined ? {} : { floor }),
  ...omitUndefined({ passedOver: run.passedOver(cell, agent) }),
});
