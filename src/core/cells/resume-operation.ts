// An operation that was in flight when the process died: repeated if it may be, else reported as indeterminate.
import type { CellId, Failure } from '#base';
import type { Amounts, ChildOperation, ReceiveOperation, SleepOperation, StepOperation } from '#contracts';
import type { BeginRecord } from './begin-record.ts';
import type { LocalRun } from './local-run.ts';
import { msLeft } from './replay.ts';
import { startReceive, startSleep } from './start-wait.ts';
import { StepRunner } from './step-runner.ts';
import type { StepCell, SettleExtras, InFlightOperation } from './step-runner.ts';

/** What is needed of its cell. */
type Cell = StepCell & {
  readonly liveRun: LocalRun;
  readonly cellId: CellId;
  readonly now: number;
  readonly halted: boolean;
  fail(started: InFlightOperation, failure: Failure, more?: SettleExtras): void;
  startChild(started: InFlightOperation<ChildOperation>, bornAt: number): void;
};

export const resumeOperation = (cell: Cell, started: InFlightOperation, record: BeginRecord): void => {
  const { liveRun, cellId } = cell;
  const { operation } = started;
  // A child goes on by itself, when it comes to where it was.
  if (operation.do !== 'child') liveRun.goOn();
  if (cell.halted && operation.do !== 'child') return giveUp(cell, started, record.hold);
  switch (operation.do) {
    case 'step':
      // Whatever its code says today: it was begun as one that may not be repeated.
      // probe: step-never-repeated
      if (record.repeat === 'never' || operation.repeat === 'never')
        return cell.fail(started, { code: 'indeterminate' });
      // Its hold was counted as uncertain when the log was read; this says so in the log.
      if (record.hold !== undefined && liveRun.wasUnderWay(cellId, started.no))
        liveRun.write(cellId, liveRun.time(), { type: 'again', op: started.no, uncertain: record.hold });
      return new StepRunner(cell, liveRun.ports, started as InFlightOperation<StepOperation>).start();
    case 'child':
      return cell.startChild(
        started as InFlightOperation<ChildOperation>,
        liveRun.recorded?.cells.get(operation.cell)?.bornAt ?? cell.now,
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
  }
};

/** Not wanted any more: what it used is not known. */
const giveUp = (cell: Cell, started: InFlightOperation, hold: Amounts | undefined): void => {
  const held = cell.liveRun.wasUnderWay(cell.cellId, started.no);
  cell.fail(started, { code: 'cancelled' }, { uncertain: held ? hold : undefined });
};
