// A child's result at the door, in the frame of its end.
import type { CellId, Json } from '#base';
import type { ChildOperation, Frame, Outcome, Settled } from '#contracts';
import { cross } from '#core/crossings';
import { envelopeOf } from './envelope.ts';
import type { LocalRun } from './local-run.ts';

/** `recorded`: the frame of its end, when the run is made again. */
export const crossResult = (
  host: LocalRun,
  to: CellId,
  { cell, agent, grants, spawned }: ChildOperation,
  outcome: Outcome,
  recorded: Frame | undefined,
): Settled<Json> => {
  const at = recorded?.at ?? host.time();
  const door = {
    grants: host.amendments.grants(agent.name, grants, recorded?.no ?? host.nextFrame),
    ledger: host.ledger,
    at,
  };
  const content = JSON.stringify({
    // probe: child-envelope
    ...envelopeOf(outcome),
    ...(spawned === undefined ? {} : { agent_id: spawned.name }),
  });
  const passed = cross({ kind: 'result', from: cell, to, content, labels: [] }, door);
  if ('refused' in passed) return { at, ok: false, failure: { code: 'crossing_refused' } };
  return { at, ok: true, value: { crossing: passed.seq } };
};
