// Time never goes backwards in the log of a run, whatever the wall clock does.
import type { Judge } from './judge.ts';

export const time: Judge = {
  name: 'time never goes backwards',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const { run, frames } of runs)
      for (const [no, { at, record }] of frames.entries()) {
        checks++;
        const before = frames[no - 1]?.at ?? at;
        if (at < before)
          report(`frame ${no} of run ${run} not before frame ${no - 1}`, `it is ${before - at} ms earlier`);
        const lasted = record.type === 'settle' ? (record.ms ?? 0) : 0;
        const spent = record.type === 'close' ? record.outcome.spent.ms : 0;
        if (lasted < 0 || spent < 0)
          report(`no negative duration in frame ${no} of run ${run}`, `${Math.min(lasted, spent)} ms`);
      }
    return checks;
  },
};
