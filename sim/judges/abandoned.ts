// A run is never left with nobody on it: it has ended, or was deleted; or a live process that owns it can record what it does.
import type { Judge } from './judge.ts';

/** How long a process may take to give up a run whose records cannot be written: tools may go on, and servers take up to five seconds to close. */
const giveUpMs = 10_000;

// invariant: failed-log-ends-run
export const abandoned: Judge = {
  name: 'no run is left with nobody on it',
  check: ({ runs, sessions, writings, processes, ended }, report) => {
    for (const { run, process, failedAt, releasedAt } of writings) {
      if (failedAt === null) continue;
      const { diedAt, exitedAt } = processes[process - 1]!;
      const until = Math.min(...[releasedAt, diedAt, exitedAt].map((at) => at ?? Infinity));
      // It ends together with its world, at the latest.
      if (until - failedAt > giveUpMs)
        report(
          `process ${process} to give up run ${run}, which it cannot record since ${failedAt} ms`,
          until === Infinity ? 'it never did' : `it did at ${until} ms`,
        );
    }
    if (ended.by !== 'done') return writings.length;
    for (const { run, frames, isDeleted } of runs)
      if (frames.length > 0 && !isDeleted && frames.at(-1)?.record.type !== 'close')
        report(`run ${run} to have ended when nobody works any more`, 'it has not');
    for (const { run, process, endedAt } of sessions) {
      const { diedAt, exitedAt } = processes[process - 1]!;
      if (endedAt === null && diedAt === null && exitedAt === null)
        report(`run ${run} to end in process ${process}, which lives`, 'its caller still waits');
    }
    return writings.length + runs.length + sessions.length;
  },
};
