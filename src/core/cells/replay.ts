// Reads the record of an operation when its cell is resumed or replayed.
import { CloisterError } from '#base';
import type { CellId, Failure, Hash, Json } from '#base';
import type { Attempt, Frame, FrameRecord, Operation, Settlement } from '#contracts';
import { operationName } from './begin-record.ts';
import type { BeginRecord, Parent } from './begin-record.ts';
import { replayedRecord } from './post-record.ts';
import type { PostRecord } from './post-record.ts';
import type { LocalRun } from './local-run.ts';
import type { InFlightOperation } from './step-runner.ts';

type Follower = Parent & {
  readonly liveRun: LocalRun;
  fail(started: InFlightOperation, failure: Failure): void;
};

/**
 * Compares an operation that a cell begins with the recorded one. False: the cell cannot go on as recorded. A run that is resumed
 * is broken then; a replay reports it.
 */
export const followLog = (
  cell: Follower,
  started: InFlightOperation,
  frame: Frame & { readonly record: BeginRecord | PostRecord },
  { attempt, ids }: { readonly attempt: Attempt | undefined; readonly ids: readonly CellId[] | undefined },
): boolean => {
  const { liveRun, cellId } = cell;
  const { operation, no } = started;
  if (liveRun.replaying !== null) {
    const record = replayedRecord(operation, no, frame, cell);
    liveRun.compare(frame, { record, attempt, ids });
    return operationKind(frame.record) === operation.do && frame.record.name === record.name;
  }
  const prompts = { prompt: attempt?.prompt, recorded: frame.attempt?.prompt };
  const difference = findDifference(operation, frame.record, prompts);
  liveRun.door.discard();
  if (difference === null) return true;
  liveRun.markBroken(new CloisterError('replay_differs', `Operation ${no} of ${cellId}: ${difference}.`));
  cell.fail(started, { code: 'replay_differs' });
  return false;
};

type Prompts = { readonly prompt: Hash | undefined; readonly recorded: Hash | undefined };

/** Describes how today's code deviates from the record; null if it does not. */
const findDifference = (operation: Operation, record: BeginRecord | PostRecord, prompts: Prompts): string | null => {
  if (operationKind(record) !== operation.do || record.name !== operationName(operation))
    return `it was ${record.name} and is now ${operationName(operation)}`;
  if (operation.do === 'child' && record.type === 'begin' && record.birth?.digest !== operation.agent.digest)
    return `the definition of "${operation.agent.name}" has changed`;
  if (prompts.recorded !== undefined && prompts.recorded !== prompts.prompt)
    return 'its model would be shown a different prompt';
  return null;
};

const operationKind = (record: BeginRecord | PostRecord): Operation['do'] =>
  record.type === 'post' ? 'post' : record.do;

export const readSettlement = (
  settle: Extract<FrameRecord, { type: 'settle' | 'post' }>,
  at: number,
): Settlement<Json> => {
  const ms = settle.type === 'settle' ? settle.ms : undefined;
  if (settle.ok) return { at, ms, ok: true, value: settle.value ?? null };
  return { at, ms, ok: false, failure: settle.failure ?? { code: 'defect' } };
};

/** What is left of a timer: it stands still while the run is down. */
export const msLeft = (ms: number, until: number, run: LocalRun): number => {
  const now = run.time();
  const downMs = run.downMs(now) - run.downMs(until - ms);
  return Math.max(0, until + downMs - now);
};

export const isSettledBefore = ({ result, order }: InFlightOperation, frame: number): boolean =>
  result !== undefined && order < frame;

/** The operation that settled first, before that frame, and has not been handed out yet. */
export const earliestSettled = (all: readonly InFlightOperation[], before: number): InFlightOperation | undefined => {
  let earliest: InFlightOperation | undefined;
  for (const one of all)
    // probe: replay-earliest
    if (
      one.result !== undefined &&
      one.settled === undefined &&
      one.order < before &&
      (earliest === undefined || one.order < earliest.order)
    )
      earliest = one;
  return earliest;
};
