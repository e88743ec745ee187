// The end of a child: its result crosses in the frame of its settlement.
import type { CellId, Json } from '#base';
import type { ChildOperation, ChildResultRef, Frame, Outcome, Settlement } from '#contracts';
import { settleRecord } from './begin-record.ts';
import { crossResult } from './cross-result.ts';
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
  started: InFlightOperation<ChildOperation>,
  outcome: Outcome,
  recorded: Frame | undefined,
): void => {
  const { liveRun, cellId } = caller;
  const { replaying, ledger } = liveRun;
  const { cell, spawned } = started.operation;
  // The end of its session, up to here, was the child's own work.
  liveRun.ports.stalls?.end(cell);
  const result = crossResult(liveRun, cellId, started.operation, outcome, recorded);
  const ended = { cell, outcome };
  if (recorded !== undefined) liveRun.compareChildEnd(recorded, settleRecord(started.no, result, { ended }));
  if (replaying !== null) {
    ledger.discard();
    return replaying.leave();
  }
  if (liveRun.usesMail) liveRun.mail.returnUnread(cell, { ledger, at: result.at });
  caller.settle(started, result, { ended });
  liveRun.getLiveCell(cell)?.account.setMemoryBytes(0);
  liveRun.forgetCell(cell);
  if (spawned !== undefined && result.ok)
    liveRun.mail.notifyEnd(cellId, cell, (result.value as ChildResultRef).crossing);
  // Not before its parent was told: that may be work for the parent.
  if (liveRun.usesMail) liveRun.mail.notifyIdleWaiters();
};
