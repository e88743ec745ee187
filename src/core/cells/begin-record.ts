// Operations as frame records.
import { omitUndefined } from '#base';
import type { CellId, Json } from '#base';
import type { BeginOperation, FrameRecord, Operation, Settlement } from '#contracts';
import type { LiveCell } from './live-cell.ts';
import type { StartedChild } from './started-child.ts';
import type { SettleExtras } from './step-runner.ts';

export type BeginRecord = Extract<FrameRecord, { type: 'begin' }>;
export type SettleRecord = Extract<FrameRecord, { type: 'settle' }>;

/** The recorded name of an operation; a replay must produce the same one. */
export const operationName = (operation: Operation): string => {
  switch (operation.do) {
    case 'step':
      return operation.name;
    case 'child':
      return `agent:${operation.agent.toolName}`;
    case 'sleep':
      return 'sleep';
    case 'post':
    case 'receive':
      return operation.name;
    default:
      return operation satisfies never;
  }
};

export const beginRecord = (operation: BeginOperation, op: number, at: number, parent: Parent): BeginRecord => {
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
    default:
      return operation satisfies never;
  }
};

export const settleRecord = (
  op: number,
  result: Settlement<Json>,
  more?: SettleExtras,
  halted?: SettleRecord['halted'],
): SettleRecord => ({
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

export type Parent = {
  readonly cellId: CellId;
  readonly depth: number;
  readonly liveRun: Pick<LiveCell['liveRun'], 'passedOver'>;
};

const birthRecord = (
  { cell, agent, caps, deadline, groupTokens, spawned, task, floor }: StartedChild,
  { cellId, depth, liveRun }: Parent,
): BeginRecord['birth'] => ({
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
  ...omitUndefined({ passedOver: liveRun.passedOver(cell, agent) }),
});
