// The end of a child: its result crosses in the frame of its settlement.
import type { CellId, Json } from '#base';
import type { ChildOperation, ChildValue, Frame, Outcome, Settled } from '#contracts';
import { settleRecord } from './begin-record.ts';
import { crossResult } from './cross-result.ts';
import type { LocalRun } from './local-run.ts';
import type { SettleExtras, Started } from './step-runner.ts';

type Caller = {
  readonly host: LocalRun;
  readonly cellId: CellId;
  settle(started: Started, result: Settled<Json>, more?: SettleExtras): void;
};

/** On replay its caller was handed that long ago: it is only compared. */
export const endChild = (
  caller: Caller,
  started: Started<ChildOperation>,
  outcome: Outcome,
  recorded: Frame | undefined,
): void => {
  const { host, cellId } = caller;
  const { replaying, ledger } = host;
  const { cell, spawned } = started.operation;
  const result = crossResult(host, cellId, started.operation, outcome, recorded);
  const ended = { cell, outcome };
  if (recorded !== undefined) host.compareEnd(recorded, settleRecord(started.no, result, { ended }));
  if (replaying !== null) {
    ledger.discard();
    return replaying.leave();
  }
  if (host.hasMail) host.post.returnUnread(cell, { ledger, at: result.at });
  caller.settle(started, result, { ended });
  host.living(cell)?.account.weigh(0);
  host.forget(cell);
  if (spawned !== undefined && result.ok) host.post.tellEnd(cellId, cell, (result.value as ChildValue).crossing);
};
