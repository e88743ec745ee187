// No model or tool is called once a cancel has had time to arrive, or for an operation that began after a recorded cancel.
import type { FollowedSession, History } from '../history.ts';
import { attemptOnDisk, callingCell, runFacts, framesOnDisk, callingOperation } from './facts.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge, ReportProblem } from './judge.ts';

const arrivesMs = 50;

export const cancel: Judge = {
  name: 'nothing starts after cancel + 50 ms',
  check: (history, report) => {
    const calls = callsOf(history);
    for (const call of calls) judgeAfterRecordedCancel(call, report);
    const cancelled = history.sessions.filter(({ cancelledAt }) => cancelledAt !== null);
    for (const record of cancelled) {
      judgeCancelRecorded(history, record, report);
      for (const call of calls) judgeTime(record, call, report);
    }
    return calls.length + cancelled.length;
  },
};

type Call = {
  readonly what: string;
  readonly at: number;
  readonly process: number;
  /** The number of frames of its run on the disk at that moment. */
  readonly length: number;
  readonly operation: OperationFacts;
};

const callsOf = (history: History): readonly Call[] => {
  const models = history.modelCalls.flatMap((call): Call[] => {
    const { model, at, process, onDisk } = call;
    const cell = callingCell(history, call);
    const length = cell === undefined ? 0 : framesOnDisk(history, cell.run, onDisk);
    const operation = cell && attemptOnDisk(cell, length);
    return operation === undefined ? [] : [{ what: model, at, process, length, operation }];
  });
  const tools = history.toolCalls.flatMap((call): Call[] => {
    const { tool, at, process, onDisk } = call;
    const operation = callingOperation(history, call);
    return operation === undefined
      ? []
      : [{ what: tool, at, process, length: framesOnDisk(history, operation.cell.run, onDisk), operation }];
  });
  return [...models, ...tools];
};

const judgeTime = (
  { run, process, cancelledAt, endedAt }: FollowedSession,
  { what, at, process: by, operation }: Call,
  report: ReportProblem,
): void => {
  const until = (cancelledAt ?? Infinity) + arrivesMs;
  if (operation.cell.run.run === run && by === process && at > until && at < (endedAt ?? Infinity))
    report(`no call in run ${run} after ${until} ms`, `${what} at ${at} ms`);
};

const judgeAfterRecordedCancel = ({ what, at, length, operation }: Call, report: ReportProblem): void => {
  const { run } = operation.cell;
  const { cancelledIn, resumes } = runFacts(run);
  if (cancelledIn === null || cancelledIn >= length) return;
  const resumedIn = resumes.find((no) => no > cancelledIn) ?? Infinity;
  if (operation.beganIn > cancelledIn)
    report(`no call in run ${run.run} for an operation that began after the cancel`, `${what} at ${at} ms`);
  if (resumedIn < length)
    report(`no call in run ${run.run}, which was resumed after its cancel`, `${what} at ${at} ms`);
};

/** A cancelled run must not continue to its end without a record of the cancel. */
const judgeCancelRecorded = (
  { runs }: History,
  { run, process, cancelledIn }: FollowedSession,
  report: ReportProblem,
): void => {
  if (cancelledIn === null || runs.some((one) => one.run === run && runFacts(one).cancelledIn !== null)) return;
  const { writing, after } = cancelledIn;
  const types = writing.frames.map(({ record }) => record.type);
  if (!types.slice(0, after).includes('close') && types.includes('close') && !types.includes('cancel'))
    report(`a record of the cancel in run ${run}`, `process ${process} wrote none`);
};
