// A sleep lasts as long as requested, not counting the time while its run is down.
import type { ReceiveResult } from '#contracts';
import { runFacts } from './facts.ts';
import type { Judge } from './judge.ts';

/** Times are rounded to milliseconds. */
const roundingMs = 2;

export const timers: Judge = {
  name: 'sleeps last as long as requested',
  check: ({ runs, clockWasSet, hasLeases }, report) => {
    let checks = 0;
    if (clockWasSet) return checks;
    for (const run of runs)
      for (const [key, { begin, settle, beganIn, settledIn }] of runFacts(run).operations) {
        if (begin.until === undefined || settle?.ok !== true) continue;
        // A question ends with its answer; another judge checks when it expires.
        if (begin.do === 'ask') continue;
        // A receive may end early with mail.
        if (begin.do === 'receive' && (settle.value as unknown as ReceiveResult).timedOut !== true) continue;
        checks++;
        const [from, to] = [run.frames[beganIn]!.at, run.frames[settledIn]!.at];
        const downMs = run.frames
          .slice(beganIn, settledIn)
          .reduce((sum, { record }) => (record.type === 'resume' ? sum + record.downMs : sum), 0);
        const expected = begin.until - from + downMs;
        // Where processes own runs by lease, they freeze, and wake late.
        const lateMs = Math.max(0, hasLeases ? 0 : to - from - expected);
        if (lateMs > roundingMs || expected - (to - from) > roundingMs)
          report(
            `${key} to sleep ${begin.until - from} ms plus ${downMs} ms while its run was down`,
            `${to - from} ms`,
          );
      }
    return checks;
  },
};
