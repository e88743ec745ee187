// Nothing is asked of a model or a tool once a cancel has had time to arrive, nor for what began after a recorded one.
import type { Following, History } from '../history.ts';
import { attemptThen, cellOf, factsOf, lengthThen, operationOf } from './facts.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge, Say } from './judge.ts';

const arrivesMs = 50;

export const cancel: Judge = {
  name: 'nothing starts after cancel + 50 ms',
  look: (history, say) => {
    const calls = callsOf(history);
    for (const call of calls) judgeRecorded(call, say);
    const cancelled = history.followings.filter(({ cancelledAt }) => cancelledAt !== null);
    for (const following of cancelled) {
      judgeHeard(history, following, say);
      for (const call of calls) judgeTime(following, call, say);
    }
    return calls.length + cancelled.length;
  },
};

type Call = {
  readonly what: string;
  readonly at: number;
  readonly process: number;
  /** How much of its run was on the disk then. */
  readonly length: number;
  readonly operation: OperationFacts;
};

const callsOf = (history: History): readonly Call[] => {
  const models = history.modelCalls.flatMap((call): Call[] => {
    const { model, at, process, onDisk } = call;
    const cell = cellOf(history, call);
    const length = cell === undefined ? 0 : lengthThen(history, cell.run, onDisk);
    const operation = cell && attemptThen(cell, length);
    return operation === undefined ? [] : [{ what: model, at, process, length, operation }];
  });
  const tools = history.toolCalls.flatMap((call): Call[] => {
    const { tool, at, process, onDisk } = call;
    const operation = operationOf(history, call);
    return operation === undefined
      ? []
      : [{ what: tool, at, process, length: lengthThen(history, operation.cell.run, onDisk), operation }];
  });
  return [...models, ...tools];
};

const judgeTime = (
  { run, process, cancelledAt, endedAt }: Following,
  { what, at, process: by, operation }: Call,
  say: Say,
): void => {
  const until = (cancelledAt ?? Infinity) + arrivesMs;
  if (operation.cell.run.run === run && by === process && at > until && at < (endedAt ?? Infinity))
    say(`nothing to start in run ${run} after ${until} ms`, `${what} at ${at} ms`);
};

const judgeRecorded = ({ what, at, length, operation }: Call, say: Say): void => {
  const { run } = operation.cell;
  const { cancelledIn, resumes } = factsOf(run);
  if (cancelledIn === null || cancelledIn >= length) return;
  const resumedIn = resumes.find((no) => no > cancelledIn) ?? Infinity;
  if (operation.beganIn > cancelledIn)
    say(`nothing to start in run ${run.run} for what began after its cancel`, `${what} at ${at} ms`);
  if (resumedIn < length)
    say(`nothing to start in run ${run.run}, gone on with after its cancel`, `${what} at ${at} ms`);
};

/** A run that was not over did not go on to its end as if nobody had cancelled it. */
const judgeHeard = ({ runs }: History, { run, process, cancelledIn }: Following, say: Say): void => {
  if (cancelledIn === null || runs.some((one) => one.run === run && factsOf(one).cancelledIn !== null)) return;
  const { writing, after } = cancelledIn;
  const types = writing.frames.map(({ record }) => record.type);
  if (!types.slice(0, after).includes('close') && types.includes('close') && !types.includes('cancel'))
    say(`the cancel of run ${run} in the log`, `process ${process} wrote none`);
};
