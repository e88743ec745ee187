import type { CellId } from '#base';
import type { ChildOperation, FrameRecord, Operation } from '#contracts';

export type BeginRecord = Extract<FrameRecord, { type: 'begin' }>;

/** What a replay must find again. */
export const nameOf = (operation: Operation): string => {
  switch (operation.do) {
    case 'step':
      return operation.name;
    case 'child':
      return `agent:${operation.agent.toolName}`;
    case 'sleep':
      return 'sleep';
  }
};

/** An operation as the log keeps its beginning. */
export const beginRecord = (operation: Operation, op: number, at: number, parent: Parent): BeginRecord => {
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
        name: nameOf(operation),
        about: operation.about,
        birth: birthOf(operation, parent),
      };
    case 'sleep':
      return { type: 'begin', op, do: 'sleep', name: 'sleep', until: at + operation.ms, about: { why: operation.why } };
  }
};

type Parent = { readonly cellId: CellId; readonly depth: number };

const birthOf = ({ cell, agent, caps, deadline }: ChildOperation, { cellId, depth }: Parent): BeginRecord['birth'] => ({
  cell,
  parent: cellId,
  agent: agent.name,
  digest: agent.digest,
  depth: depth + 1,
  caps,
  deadline,
});
