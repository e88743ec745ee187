// The audit finds nothing, and the store finds every record as it was written.
import type { Judge } from './judge.ts';

export const audit: Judge = {
  name: 'audit',
  look: ({ runs }, say) => {
    for (const { run, frames, problems, audit: report } of runs) {
      for (const problem of problems) say(`every record of run ${run} as it was written`, problem);
      if (frames.length > 0 && !report.ok)
        say(`nothing to find in run ${run}`, report.problems.join('; ') || 'bytes without an origin');
    }
    return runs.length;
  },
};
