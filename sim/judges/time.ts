// In the log of a run time does not go back, whatever the clock on the wall does.
import type { Judge } from './judge.ts';

export const time: Judge = {
  name: 'time goes on',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const { run, frames } of runs)
      for (const [no, { at, record }] of frames.entries()) {
        checks++;
        const before = frames[no - 1]?.at ?? at;
        if (at < before) say(`frame ${no} of run ${run} not before frame ${no - 1}`, `it is ${before - at} ms earlier`);
        const lasted = record.type === 'settle' ? (record.ms ?? 0) : 0;
        const spent = record.type === 'close' ? record.outcome.spent.ms : 0;
        if (lasted < 0 || spent < 0)
          say(`no time below zero in frame ${no} of run ${run}`, `${Math.min(lasted, spent)} ms`);
      }
    return checks;
  },
};
