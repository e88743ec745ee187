// How the cells of a run follow its log: a resumed run continues where the log ends, a replay (`ReplayComparison`) only compares.
import { CloisterError } from '#base';
import type { CellId, Failure, Hash } from '#base';
import type {
  Amounts,
  AskOperation,
  Attempt,
  Frame,
  FrameRecord,
  Operation,
  ReceiveOperation,
  RecordOf,
  RunPorts,
  SleepOperation,
  StepOperation,
} from '#contracts';
import type { Door } from '#core/crossings';
import type { MailRequester } from './mail-room.ts';
import type { QuestionRoom } from './question-room.ts';
import type { ReceivedCrossings } from './received-crossings.ts';
import { operationKind, operationName } from './operation-records.ts';
import type { Parent } from './operation-records.ts';
import { releaseOperation } from './recorded-run.ts';
import type { RecordedRun } from './recorded-run.ts';
import { startReceive, startSleep } from './start-wait.ts';
import type { StartedChild } from './live-cell.ts';
import { StepRunner } from './step-runner.ts';
import type { InFlightOperation, SettleExtras, StepCell } from './step-runner.ts';

export interface LogFollower {
  /** Whether the log is only repeated: nothing is written, and no mail is delivered. */
  readonly onlyRepeats: boolean;
  /** Compares an operation that a cell begins with the recorded one. False: the cell cannot continue as recorded. */
  follow(cell: FollowingCell, started: InFlightOperation, frame: BeginFrame, extras: CellFrameExtras): boolean;
  /** Continues an operation that was followed. A settled one has its settlement from the log. */
  continueOperation(cell: FollowingCell, started: InFlightOperation, frame: BeginFrame): void;
  /** Whether an operation that is not in the log can begin. If not, it never settles. */
  mayBegin(cell: FollowingCell, started: InFlightOperation): boolean;
  /** Whether the end of a cell is to be written. `recorded`: where the log has it. */
  mayEnd(door: Door, recorded: Frame | undefined, record: FrameRecord): boolean;
  /** A cell waits for its operations. */
  notifyWaiting(): void;
  /** Set when it is time to let others work, before a cell continues. Absent: a run that writes waits for the world anyway. */
  pause?(): Promise<void> | undefined;
}

export type BeginFrame = Frame & { readonly record: RecordOf<'begin' | 'post'> };

/** What belongs into a cell's next frame. */
export type CellFrameExtras = { readonly attempt: Attempt | undefined; readonly ids: readonly CellId[] | undefined };

/** What following the log needs from a cell. */
export type FollowingCell = StepCell &
  MailRequester &
  Parent & {
    readonly run: {
      readonly ports: RunPorts;
      readonly recorded: Pick<RecordedRun, 'cells'> | null;
      downMs(until: number): number;
      markBroken(error: CloisterError): void;
      wasInFlight(cell: CellId, op: number): boolean;
      writePendingResume(): void;
      readonly questions: QuestionRoom;
    };
    readonly receivedCrossings: ReceivedCrossings;
    readonly now: number;
    readonly halted: boolean;
    fail(started: InFlightOperation, failure: Failure, more?: SettleExtras): void;
    startChild(started: InFlightOperation<StartedChild>, createdAt: number): void;
  };

/** For runs that write: new ones, which have nothing to follow, and those that are resumed. */
export const writingFollower: LogFollower = {
  onlyRepeats: false,
  follow: (cell, started, { record, attempt: recorded }, { attempt }) => {
    const { run, cellId } = cell;
    const prompts = { prompt: attempt?.prompt, recorded: recorded?.prompt };
    const difference = findDifference(started.operation, record, prompts);
    run.door.discard();
    if (difference === null) return true;
    run.markBroken(new CloisterError('replay_differs', `Operation ${started.no} of ${cellId}: ${difference}.`));
    cell.fail(started, { code: 'replay_differs' });
    return false;
  },
  continueOperation: (cell, started, { record }) => {
    if (started.result !== undefined) releaseOperation(cell.run.recorded!.cells.get(cell.cellId)!, started.no);
    else if (record.type === 'begin') resumeOperation(cell, started, record);
  },
  mayBegin: () => true,
  mayEnd: () => true,
  notifyWaiting: () => undefined,
};

type Prompts = { readonly prompt: Hash | undefined; readonly recorded: Hash | undefined };

/** Describes how today's code deviates from the record; null if it does not. */
const findDifference = (operation: Operation, record: RecordOf<'begin' | 'post'>, prompts: Prompts): string | null => {
  if (operationKind(record) !== operation.do || record.name !== operationName(operation))
    return `it was ${record.name} and is now ${operationName(operation)}`;
  if (operation.do === 'child' && record.type === 'begin' && record.birth?.digest !== operation.agent.digest)
    return `the definition of "${operation.agent.name}" has changed`;
  if (prompts.recorded !== undefined && prompts.recorded !== prompts.prompt)
    return 'its model would be shown a different prompt';
  return null;
};

/** An operation that was in flight when the process died: repeats it if allowed, else reports it as indeterminate. */
const resumeOperation = (cell: FollowingCell, started: InFlightOperation, record: RecordOf<'begin'>): void => {
  const { run, cellId } = cell;
  const { operation } = started;
  // A child writes the resume record itself, once it has caught up with the log.
  if (operation.do !== 'child') run.writePendingResume();
  if (cell.halted && operation.do !== 'child') return giveUp(cell, started, record.hold);
  switch (operation.do) {
    case 'step':
      // The step was recorded as not repeatable; what today's code says does not change that.
      // probe: step-never-repeated
      if (record.repeat === 'never' || operation.repeat === 'never')
        return cell.fail(started, { code: 'indeterminate' }, inFlightHold(cell, started, record.hold));
      // Reading the log already counted the hold as uncertain; this record says so in the log.
      if (record.hold !== undefined && run.wasInFlight(cellId, started.no))
        run.write(cellId, run.time(), { type: 'again', op: started.no, uncertain: record.hold });
      return new StepRunner(cell, run.ports, started as InFlightOperation<StepOperation>).resume();
    case 'child':
      return cell.startChild(
        started as InFlightOperation<StartedChild>,
        run.recorded?.cells.get(operation.cell)?.createdAt ?? cell.now,
      );
    case 'sleep':
      return startSleep(
        cell,
        started as InFlightOperation<SleepOperation>,
        msLeft(operation.ms, record.until ?? 0, run),
      );
    case 'receive':
      return startReceive(
        cell,
        started as InFlightOperation<ReceiveOperation>,
        msLeft(operation.timeoutMs, record.until ?? 0, run),
      );
    case 'ask':
      return run.questions.start(cell, started as InFlightOperation<AskOperation>);
    case 'post':
      return;
    default:
      return operation satisfies never;
  }
};

/** The operation is no longer wanted, and what it used is unknown. */
const giveUp = (cell: FollowingCell, started: InFlightOperation, hold: Amounts | undefined): void =>
  cell.fail(started, { code: 'cancelled' }, inFlightHold(cell, started, hold));

const inFlightHold = (
  { run, cellId }: FollowingCell,
  { no }: InFlightOperation,
  hold: Amounts | undefined,
): SettleExtras => (run.wasInFlight(cellId, no) ? { uncertain: hold } : {});

/** What is left of a timer: it stands still while the run is down. */
const msLeft = (ms: number, until: number, run: FollowingCell['run']): number => {
  const now = run.time();
  const downMs = run.downMs(now) - run.downMs(until - ms);
  return Math.max(0, until + downMs - now);
};
