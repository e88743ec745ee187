// Resumes an operation that was in flight when the process died: repeats it if allowed, else reports it as indeterminate.
import type { CellId, Failure } from '#base';
import type { Amounts, ReceiveOperation, SleepOperation, StepOperation } from '#contracts';
import type { BeginRecord } from './begin-record.ts';
import type { StartedChild } from './started-child.ts';
import type { LocalRun } from './local-run.ts';
import type { MailRequester } from './mail-room.ts';
import { msLeft } from './replay.ts';
import { startReceive, startSleep } from './start-wait.ts';
import { StepRunner } from './step-runner.ts';
import type { StepCell, SettleExtras, InFlightOperation } from './step-runner.ts';

/** What resuming needs from the cell. */
type Cell = StepCell &
  MailRequester & {
    readonly liveRun: LocalRun;
    readonly cellId: CellId;
    readonly now: number;
    readonly halted: boolean;
    fail(started: InFlightOperation, failure: Failure, more?: SettleExtras): void;
    startChild(started: InFlightOperation<StartedChild>, createdAt: number): void;
  };

export const resumeOperation = (cell: Cell, started: InFlightOperation, record: BeginRecord): void => {
  const { liveRun, cellId } = cell;
  const { operation } = started;
  // A child writes the resume record itself, once it has caught up with the log.
  if (operation.do !== 'child') liveRun.writePendingResume();
  if (cell.halted && operation.do !== 'child') return giveUp(cell, started, record.hold);
  switch (operation.do) {
    case 'step':
      // The step was recorded as not repeatable; what today's code says does not change that.
      // probe: step-never-repeated
      if (record.repeat === 'never' || operation.repeat === 'never')
        return cell.fail(started, { code: 'indeterminate' }, inFlightHold(cell, started, record.hold));
      // Reading the log already counted the hold as uncertain; this record says so in the log.
      if (record.hold !== undefined && liveRun.wasInFlight(cellId, started.no))
        liveRun.write(cellId, liveRun.time(), { type: 'again', op: started.no, uncertain: record.hold });
      return new StepRunner(cell, liveRun.ports, started as InFlightOperation<StepOperation>).resume();
    case 'child':
      return cell.startChild(
        started as InFlightOperation<StartedChild>,
        liveRun.recorded?.cells.get(operation.cell)?.createdAt ?? cell.now,
      );
    case 'sleep':
      return startSleep(
        cell,
        started as InFlightOperation<SleepOperation>,
        msLeft(operation.ms, record.until ?? 0, liveRun),
      );
    case 'receive':
      return startReceive(
        cell,
        started as InFlightOperation<ReceiveOperation>,
        msLeft(operation.timeoutMs, record.until ?? 0, liveRun),
      );
    case 'post':
      return;
    default:
      return operation satisfies never;
  }
};

/** The operation is no longer wanted, and what it used is unknown. */
const giveUp = (cell: Cell, started: InFlightOperation, hold: Amounts | undefined): void =>
  cell.fail(started, { code: 'cancelled' }, inFlightHold(cell, started, hold));

const inFlightHold = ({ liveRun, cellId }: Cell, { no }: InFlightOperation, hold: Amounts | undefined): SettleExtras =>
  liveRun.wasInFlight(cellId, no) ? { uncertain: hold } : {};
