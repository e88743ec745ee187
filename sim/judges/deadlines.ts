// No step is in flight after the deadline of its cell.
import { askedMs } from './asked-time.ts';
import { runFacts, pausedMs, waitedMs } from './facts.ts';
import type { Judge } from './judge.ts';

/** Times are rounded to milliseconds. */
const roundingMs = 2;

export const deadlines: Judge = {
  name: 'no step outlasts its deadline',
  check: ({ runs, clockWasSet, hasLeases }, report) => {
    let checks = 0;
    // Where processes own runs by lease, they freeze, and wake late.
    if (clockWasSet || hasLeases) return checks;
    for (const run of runs) {
      const { operations, resumes } = runFacts(run);
      for (const [key, { begin, cell, beganIn, settledIn }] of operations) {
        if (cell.birth.deadline === 0) continue;
        const deadline =
          cell.birth.deadline +
          pausedMs(run, cell.createdIn, beganIn) +
          waitedMs(cell, beganIn) +
          askedMs(cell, beganIn);
        // While a run is down, nothing can settle.
        if (begin.do !== 'step' || resumes.some((no) => no > beganIn && no < settledIn)) continue;
        const [from, to] = [run.frames[beganIn]?.at ?? 0, run.frames[settledIn]?.at ?? 0];
        checks++;
        if (to > Math.max(from, deadline) + roundingMs)
          report(`${key} (${begin.name}) to settle by ${deadline}`, `it settled ${to - deadline} ms later`);
      }
    }
    return checks;
  },
};
