// No step is still under way when the time that its cell was given has passed.
import { factsOf, pausedMs, waitedMs } from './facts.ts';
import type { Judge } from './judge.ts';

/** Times are whole milliseconds. */
const roundingMs = 2;

export const deadlines: Judge = {
  name: 'nothing outlasts its deadline',
  look: ({ runs, clockWasSet }, say) => {
    let checks = 0;
    if (clockWasSet) return checks;
    for (const run of runs) {
      const { operations, resumes } = factsOf(run);
      for (const [key, { begin, cell, beganIn, settledIn }] of operations) {
        if (cell.birth.deadline === 0) continue;
        const deadline = cell.birth.deadline + pausedMs(run, cell.bornIn, beganIn) + waitedMs(cell, beganIn);
        // While a run is down nothing can end in it.
        if (begin.do !== 'step' || resumes.some((no) => no > beganIn && no < settledIn)) continue;
        const [from, to] = [run.frames[beganIn]?.at ?? 0, run.frames[settledIn]?.at ?? 0];
        checks++;
        if (to > Math.max(from, deadline) + roundingMs)
          say(`${key} (${begin.name}) to settle by ${deadline}`, `it settled ${to - deadline} ms later`);
      }
    }
    return checks;
  },
};
