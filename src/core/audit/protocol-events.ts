// The log in the form of the spawn protocol: what was asked for, that it was begun, and how it ended.
//
//   Q1. A projection and nothing else: the begin frame of a child is the request and its execution, its settlement the result.
//   Q2. The result is what crossed to the parent. What did not cross is not in it.
import type { CellId, Hash } from '#base';
import type { AgentDefinition, Envelope, Frame, ProtocolEvent } from '#contracts';
import type { BeginFrameRecord, SettleFrameRecord } from './records.ts';

export type ProtocolFold = { next(frame: Frame): readonly ProtocolEvent[] };

/** A fold over the frames of one run, in order. */
export const protocolEvents = (): ProtocolFold => {
  const definitions = new Map<Hash, AgentDefinition>();
  return {
    next: (frame) => {
      for (const { digest, definition } of frame.definitions ?? []) definitions.set(digest, definition);
      const { record } = frame;
      if (record.type === 'begin' && record.birth !== undefined) return requested(frame, record.birth, definitions);
      return record.type === 'settle' && record.ended !== undefined ? ended(frame, record, record.ended.cell) : [];
    },
  };
};

/** For who has set no time of its own. */
const timeoutDefaultMs = 60_000;

const requested = (
  frame: Frame,
  { cell: child, digest, agent }: NonNullable<BeginFrameRecord['birth']>,
  definitions: ReadonlyMap<Hash, AgentDefinition>,
): readonly ProtocolEvent[] => {
  const definition = definitions.get(digest);
  const payload = {
    parent_id: frame.cell,
    child_id: child,
    agent_id: agent,
    goal: contentFor(frame, child, 'goal') ?? '',
    tools: (definition?.tools ?? []).map(({ name }) => name),
    timeout_ms: definition?.limits.timeout_ms ?? timeoutDefaultMs,
  };
  const base = { type: 'spawn_request', correlation_id: child, at: frame.at, payload } as const;
  return [
    { ...base, id: `${idOf(frame)}a`, topic: 'agent.spawn' },
    { ...base, id: `${idOf(frame)}b`, topic: 'agent.spawn.execute' },
  ];
};

const ended = (frame: Frame, { ended: end, failure }: SettleFrameRecord, child: CellId): readonly ProtocolEvent[] => {
  const { cell: parent, at } = frame;
  const content = contentFor(frame, parent, 'result');
  const ids = { parent_id: parent, child_id: child };
  const payload = {
    ...ids,
    ...(content === undefined
      ? { success: false, result: '', error: end?.outcome.failure?.code ?? failure?.code ?? 'crossing_refused' }
      : resultOf(JSON.parse(content) as Envelope)),
  };
  return [{ id: idOf(frame), topic: 'agent.result', type: 'spawn_result', correlation_id: child, at, payload }];
};

const resultOf = ({ status, output, error }: Envelope) => ({
  success: status === 'completed' || status === 'partial',
  result: output,
  error: error?.code ?? null,
});

const contentFor = ({ contents = [] }: Frame, to: CellId, of: 'goal' | 'result'): string | undefined =>
  contents.find(({ cell, kind }) => cell === to && kind === of)?.content;

const idOf = ({ cell, no }: Frame): string => `${cell}/${no}`;
