// Projects the log to the spawn protocol: each request, its start, and its result.
//
//   protocol-is-a-projection. A child's begin frame is the request and its execution, and its settlement is the result.
//   protocol-shows-what-crossed. The result contains only what crossed to the parent.
import { limitBehind } from '#base';
import type { CellId, Failure, Hash } from '#base';
import { decodeEnvelope } from '#contracts';
import type { AgentDefinition, Birth, Envelope, Frame, ProtocolEvent, RecordOf } from '#contracts';
import { resolveLimits } from '#core/registry';

type ProtocolFold = { next(frame: Frame): readonly ProtocolEvent[] };

/** A fold over the frames of one run, in order. */
export const protocolEvents = (): ProtocolFold => {
  const definitions = new Map<Hash, AgentDefinition>();
  return {
    next: (frame) => {
      for (const { digest, definition } of frame.definitions ?? []) definitions.set(digest, definition);
      const { record } = frame;
      if (record.type === 'begin' && record.birth !== undefined) return spawnEvents(frame, record.birth, definitions);
      return record.type === 'settle' && record.ended !== undefined
        ? resultEvents(frame, record, record.ended.cell)
        : [];
    },
  };
};

const spawnEvents = (
  frame: Frame,
  { cell: child, digest, agent }: Birth,
  definitions: ReadonlyMap<Hash, AgentDefinition>,
): readonly ProtocolEvent[] => {
  const definition = definitions.get(digest);
  const payload = {
    parent_id: frame.cell,
    child_id: child,
    agent_id: agent,
    goal: contentFor(frame, child, 'goal') ?? '',
    tools: (definition?.tools ?? []).map(({ name }) => name),
    timeout_ms: resolveLimits(definition?.limits ?? {}, false).timeout_ms,
  };
  const base = { type: 'spawn_request', correlation_id: child, at: frame.at, payload } as const;
  return [
    { ...base, id: `${eventId(frame)}a`, topic: 'agent.spawn' },
    { ...base, id: `${eventId(frame)}b`, topic: 'agent.spawn.execute' },
  ];
};

const resultEvents = (
  frame: Frame,
  { ended: end, failure }: RecordOf<'settle'>,
  child: CellId,
): readonly ProtocolEvent[] => {
  const { cell: parent, at } = frame;
  const content = contentFor(frame, parent, 'result');
  const ids = { parent_id: parent, child_id: child };
  const payload = {
    ...ids,
    ...(content === undefined
      ? {
          success: false,
          result: '',
          ...refusedPayload(end?.outcome.failure ?? failure ?? { code: 'crossing_refused' }),
        }
      : resultPayload(decodeEnvelope(content))),
  };
  return [{ id: eventId(frame), topic: 'agent.result', type: 'spawn_result', correlation_id: child, at, payload }];
};

const resultPayload = ({ status, output, error }: Envelope) => ({
  success: status === 'completed' || status === 'partial',
  result: output,
  error: error?.code ?? null,
  limit: error?.limit ?? null,
});

const refusedPayload = (failure: Failure) => ({ error: failure.code, limit: limitBehind(failure) ?? null });

const contentFor = ({ contents = [] }: Frame, to: CellId, of: 'goal' | 'result'): string | undefined =>
  contents.find(({ cell, kind }) => cell === to && kind === of)?.content;

const eventId = ({ cell, no }: Frame): string => `${cell}/${no}`;
