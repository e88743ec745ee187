// The end of a child: its result crosses in the frame of its settlement.
import { publicFailure } from '#base';
import type { CellId, Json } from '#base';
import type { Crossed, CrossingRefusal, Frame, Outcome, Settlement, Envelope } from '#contracts';
import type { CrossingMoment } from '#core/crossings';
import { settleRecord } from './operation-records.ts';
import type { StartedChild } from './live-cell.ts';
import type { LocalRun } from './local-run.ts';
import type { SettleExtras, InFlightOperation } from './step-runner.ts';

type Caller = {
  readonly run: LocalRun;
  readonly cellId: CellId;
  settle(started: InFlightOperation, result: Settlement<Json>, more?: SettleExtras): void;
};

/** `recorded`: where the log has this end. */
export const endChild = (
  caller: Caller,
  started: InFlightOperation<StartedChild>,
  outcome: Outcome,
  recorded: Frame | undefined,
): void => {
  const { run } = caller;
  const { cell } = started.operation;
  // The end of its session, up to here, was the child's own work.
  run.ports.stalls?.end(cell);
  const at = recorded?.at ?? run.time();
  const moment = { at, frame: recorded?.no ?? run.nextFrame };
  const passed = crossResult(caller, started.operation, outcome, moment);
  const result: Settlement<Json> =
    'refused' in passed
      ? { at, ok: false, failure: { code: 'crossing_refused' } }
      : { at, ok: true, value: { crossing: passed.seq } };
  const ended = { cell, outcome };
  if (!run.follower.mayEnd(run.door, recorded, settleRecord(started.no, result, { ended }))) return;
  if (run.usesMail) run.mail.returnUnread(cell, moment);
  caller.settle(started, result, { ended });
  run.forgetCell(cell);
  // Not before its parent was told: that may be work for the parent.
  if (!run.usesMail) return;
  run.mail.notifyIdleWaiters();
  run.mail.wake();
};

const crossResult = (
  { run, cellId: to }: Caller,
  { cell, spawned }: StartedChild,
  outcome: Outcome,
  moment: CrossingMoment,
): Crossed<'result'> | CrossingRefusal => {
  const content = JSON.stringify({
    // probe: child-envelope
    ...resultEnvelope(outcome, 'parent'),
    ...(spawned === undefined ? {} : { agent_id: spawned.name }),
  });
  return run.door.cross({ kind: 'result', from: cell, to, content }, moment);
};

// probe: result-envelope
/** The part of an outcome that its caller may see: no failure details, no usage figures. */
export const resultEnvelope = (outcome: Outcome, caller: 'outside' | 'parent'): Envelope => {
  const { status, output, failure, missing, spawned } = outcome;
  return {
    status,
    output,
    error: failure === null ? null : publicFailure(failure),
    missing,
    ...spawnedFor(caller, spawned),
  };
};

/**
 * What spawned agents wrote for their parent is not for its own caller: no grant leads there. It hears of those that did not
 * finish, and nothing of the others, so that it does not depend on what their parent has read.
 */
const spawnedFor = (caller: 'outside' | 'parent', spawned: Outcome['spawned'] = []): Pick<Envelope, 'spawned'> => {
  if (caller === 'outside') return spawned.length === 0 ? {} : { spawned };
  // probe: envelope-spawned
  const named = spawned.flatMap(({ agent, status, why }) => (why === null ? [] : [{ agent, status }]));
  return named.length === 0 ? {} : { spawned: named };
};
