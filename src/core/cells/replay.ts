// Reads the record of an operation when its cell is resumed or replayed.
import type { Hash, Json } from '#base';
import type { FrameRecord, Operation, Settlement } from '#contracts';
import { operationName } from './begin-record.ts';
import type { BeginRecord } from './begin-record.ts';
import type { PostRecord } from './post-record.ts';
import type { LocalRun } from './local-run.ts';
import type { InFlightOperation } from './step-runner.ts';

type Prompts = { readonly prompt: Hash | undefined; readonly recorded: Hash | undefined };

/** Describes how today's code deviates from the record; null if it does not. */
export const findDifference = (
  operation: Operation,
  record: BeginRecord | PostRecord,
  prompts: Prompts,
): string | null => {
  if (operationKind(record) !== operation.do || record.name !== operationName(operation))
    return `it was ${record.name} and is now ${operationName(operation)}`;
  if (operation.do === 'child' && record.type === 'begin' && record.birth?.digest !== operation.agent.digest)
    return `the definition of "${operation.agent.name}" has changed`;
  if (prompts.recorded !== undefined && prompts.recorded !== prompts.prompt)
    return 'its model would be shown a different prompt';
  return null;
};

export const operationKind = (record: BeginRecord | PostRecord): Operation['do'] =>
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
