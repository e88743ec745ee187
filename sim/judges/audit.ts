// The audit finds no problem, and the store finds every record as it was written.
import type { Judge } from './judge.ts';

// invariant: frames-in-order
export const audit: Judge = {
  name: 'audit',
  check: ({ runs }, report) => {
    for (const { run, frames, problems, audit: auditReport } of runs) {
      for (const problem of problems) report(`every record of run ${run} as it was written`, problem);
      if (frames.length > 0 && !auditReport.ok)
        report(`no audit problem in run ${run}`, auditReport.problems.join('; ') || 'bytes without an origin');
    }
    return runs.length;
  },
};
