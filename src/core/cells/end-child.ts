// The end of a child: its result crosses in the frame of its settlement.
import type { CellId, Json } from '#base';
import type { Crossed, CrossingRefusal, Frame, Outcome, Settlement } from '#contracts';
import type { CrossingMoment } from '#core/crossings';
import { settleRecord } from './begin-record.ts';
import type { StartedChild } from './started-child.ts';
import { resultEnvelope } from './envelope.ts';
import type { LocalRun } from './local-run.ts';
import type { SettleExtras, InFlightOperation } from './step-runner.ts';

type Caller = {
  readonly liveRun: LocalRun;
  readonly cellId: CellId;
  settle(started: InFlightOperation, result: Settlement<Json>, more?: SettleExtras): void;
};

/** On replay the caller already has the recorded result, so this one is only compared. */
export const endChild = (
  caller: Caller,
  started: InFlightOperation<StartedChild>,
  outcome: Outcome,
  recorded: Frame | undefined,
): void => {
  const { liveRun } = caller;
  const { replaying, door } = liveRun;
  const { cell } = started.operation;
  // The end of its session, up to here, was the child's own work.
  liveRun.ports.stalls?.end(cell);
  const at = recorded?.at ?? liveRun.time();
  const moment = { at, frame: recorded?.no ?? liveRun.nextFrame };
  const passed = crossResult(caller, started.operation, outcome, moment);
  const result: Settlement<Json> =
    'refused' in passed
      ? { at, ok: false, failure: { code: 'crossing_refused' } }
      : { at, ok: true, value: { crossing: passed.seq } };
  const ended = { cell, outcome };
  if (recorded !== undefined) liveRun.compareChildEnd(recorded, settleRecord(started.no, result, { ended }));
  if (replaying !== null) {
    door.discard();
    return replaying.leave();
  }
  if (liveRun.usesMail) liveRun.mail.returnUnread(cell, moment);
  caller.settle(started, result, { ended });
  liveRun.forgetCell(cell);
  // Not before its parent was told: that may be work for the parent.
  if (!liveRun.usesMail) return;
  liveRun.mail.notifyIdleWaiters();
  liveRun.mail.wake();
};

const crossResult = (
  { liveRun, cellId: to }: Caller,
  { cell, spawned }: StartedChild,
  outcome: Outcome,
  moment: CrossingMoment,
): Crossed<'result'> | CrossingRefusal => {
  const content = JSON.stringify({
    // probe: child-envelope
    ...resultEnvelope(outcome, 'parent'),
    ...(spawned === undefined ? {} : { agent_id: spawned.name }),
  });
  return liveRun.door.cross({ kind: 'result', from: cell, to, content }, moment);
};
