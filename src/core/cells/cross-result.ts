// A child's result crosses to its parent in the frame of its end.
import type { CellId, Json } from '#base';
import type { ChildOperation, Frame, Outcome, Settlement } from '#contracts';
import { cross } from '#core/crossings';
import { resultEnvelope } from './envelope.ts';
import type { LocalRun } from './local-run.ts';

/** `recorded`: on replay, the frame that records the child's end. */
export const crossResult = (
  liveRun: LocalRun,
  to: CellId,
  { cell, agent, grants, spawned }: ChildOperation,
  outcome: Outcome,
  recorded: Frame | undefined,
): Settlement<Json> => {
  const at = recorded?.at ?? liveRun.time();
  const door = {
    grants: liveRun.amendments.grants(agent.name, grants, recorded?.no ?? liveRun.nextFrame),
    ledger: liveRun.ledger,
    at,
  };
  const content = JSON.stringify({
    // probe: child-envelope
    ...resultEnvelope(outcome, 'parent'),
    ...(spawned === undefined ? {} : { agent_id: spawned.name }),
  });
  const passed = cross({ kind: 'result', from: cell, to, content, labels: [] }, door);
  if ('refused' in passed) return { at, ok: false, failure: { code: 'crossing_refused' } };
  return { at, ok: true, value: { crossing: passed.seq } };
};
