// A run that waited for people continues only once it has a slot: whoever answers, and if a question expires.
import type { Judge } from './judge.ts';

// invariant: wait-ends-when-admitted
export const admissions: Judge = {
  name: 'a wait for people ends with a slot',
  check: ({ waitEnds }, report) => {
    for (const { process, run, frame, lateMs } of waitEnds)
      if (lateMs === null) report(`run ${run} to have a slot in process ${process}`, `frame ${frame} ended its wait`);
    return waitEnds.length;
  },
};
