// Only the owner of a run appends to its log and starts what has effects: whoever has lost it has lost it at that moment, also if it does
// not know yet.
import type { OwnershipEvent } from '../leases.ts';
import type { RunId } from '#base';
import { callingCell, callingOperation } from './facts.ts';
import type { Judge } from './judge.ts';

/** By whom the run was acquired last, before that moment; undefined: by nobody since it was deleted. */
const ownerBefore = (events: readonly OwnershipEvent[], run: RunId, nth: number): OwnershipEvent | undefined => {
  const newest = events.findLast(
    (one) => one.run === run && (one.what === 'acquired' || one.what === 'deleted') && one.nth < nth,
  );
  return newest?.what === 'acquired' ? newest : undefined;
};

export const onlyOwnerAppends: Judge = {
  name: 'only the owner appends',
  check: ({ ownership }, report) => {
    let checks = 0;
    for (const { what, run, process, at, nth, takenFrom } of ownership) {
      if (takenFrom !== null)
        report(`run ${run} left to process ${takenFrom}, which has it`, `process ${process} acquired it at ${at} ms`);
      if (what !== 'wrote') continue;
      checks++;
      const owner = ownerBefore(ownership, run, nth)?.process;
      if (owner !== process && owner !== undefined)
        report(
          `frames of run ${run} only by its owner, process ${owner}`,
          `process ${process} appended one at ${at} ms`,
        );
    }
    return checks;
  },
};

export const onlyOwnerStarts: Judge = {
  name: 'only the owner starts',
  check: (history, report) => {
    const { ownership, modelCalls, toolCalls } = history;
    const check = (
      run: RunId | undefined,
      what: string,
      { process, at, nth }: (typeof modelCalls | typeof toolCalls)[number],
    ) => {
      if (run === undefined) return;
      const owner = ownerBefore(ownership, run, nth);
      if (owner !== undefined && owner.process !== process)
        report(
          `${what} of run ${run} only by its owner, process ${owner.process} since ${owner.at} ms`,
          `process ${process} called it at ${at} ms`,
        );
    };
    for (const call of modelCalls) check(callingCell(history, call)?.run.run, `model ${call.model}`, call);
    for (const call of toolCalls)
      if (call.repeat !== 'free') check(callingOperation(history, call)?.cell.run.run, `tool ${call.tool}`, call);
    return modelCalls.length + toolCalls.length;
  },
};
