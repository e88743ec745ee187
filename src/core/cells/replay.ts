// How the record of an operation is read when its cell goes on.
import type { Hash, Json } from '#base';
import type { FrameRecord, Operation, Settlement } from '#contracts';
import { nameOf } from './begin-record.ts';
import type { BeginRecord } from './begin-record.ts';
import type { PostRecord } from './post-record.ts';
import type { LocalRun } from './local-run.ts';
import type { InFlightOperation } from './step-runner.ts';

type Prompts = { readonly prompt: Hash | undefined; readonly recorded: Hash | undefined };

/** What today's code would do other than the record says, in words. */
export const differenceIn = (
  operation: Operation,
  record: BeginRecord | PostRecord,
  prompts: Prompts,
): string | null => {
  if (operationKind(record) !== operation.do || record.name !== nameOf(operation))
    return `it was ${record.name} and is now ${nameOf(operation)}`;
  if (operation.do === 'child' && record.type === 'begin' && record.birth?.digest !== operation.agent.digest)
    return `the definition of "${operation.agent.name}" has changed since`;
  if (prompts.recorded !== undefined && prompts.recorded !== prompts.prompt)
    return 'its model would be shown another prompt';
  return null;
};

export const operationKind = (record: BeginRecord | PostRecord): Operation['do'] =>
  record.type === 'post' ? 'post' : record.do;

export const settlementOf = (
  settle: Extract<FrameRecord, { type: 'settle' | 'post' }>,
  at: number,
): Settlement<Json> => {
  const ms = settle.type === 'settle' ? settle.ms : undefined;
  if (settle.ok) return { at, ms, ok: true, value: settle.value ?? null };
  return { at, ms, ok: false, failure: settle.failure ?? { code: 'defect' } };
};

/** A timer stands still while the run is down. */
export const msLeft = (ms: number, until: number, run: LocalRun): number => {
  const now = run.time();
  const downMs = run.downMs(now) - run.downMs(until - ms);
  return Math.max(0, until + downMs - now);
};

/** The earliest settled of these that was not handed out yet, of what settled before that frame. */
export const earliestOf = (all: readonly InFlightOperation[], before: number): InFlightOperation | undefined => {
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
