// A sleep lasts as long as was asked for, and stands still while its run is down.
import type { ReceiveResult } from '#contracts';
import { factsOf } from './facts.ts';
import type { Judge } from './judge.ts';

/** Times are whole milliseconds. */
const roundingMs = 2;

export const timers: Judge = {
  name: 'sleeps last as asked',
  look: ({ runs, clockWasSet }, say) => {
    let checks = 0;
    if (clockWasSet) return checks;
    for (const run of runs)
      for (const [key, { begin, settle, beganIn, settledIn }] of factsOf(run).operations) {
        if (begin.until === undefined || settle?.ok !== true) continue;
        // Mail comes when it comes.
        if (begin.do === 'receive' && (settle.value as unknown as ReceiveResult).timedOut !== true) continue;
        checks++;
        const [from, to] = [run.frames[beganIn]!.at, run.frames[settledIn]!.at];
        const downMs = run.frames
          .slice(beganIn, settledIn)
          .reduce((sum, { record }) => (record.type === 'resume' ? sum + record.downMs : sum), 0);
        const expected = begin.until - from + downMs;
        if (Math.abs(to - from - expected) > roundingMs)
          say(
            `${key} to sleep ${begin.until - from} ms and the ${downMs} ms in which its run was down`,
            `${to - from} ms`,
          );
      }
    return checks;
  },
};
