// What may not be repeated and was under way in a crash is told as indeterminate, and nothing else is.
import { factsOf } from './facts.ts';
import type { Judge } from './judge.ts';

const known = ['indeterminate', 'cancelled', 'deadline_passed'];

export const indeterminate: Judge = {
  name: 'indeterminate after a crash',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const run of runs) {
      const { operations, resumes } = factsOf(run);
      for (const [key, { begin, settle, beganIn, settledIn }] of operations) {
        if (settle === undefined || begin.do !== 'step') continue;
        const crashed = resumes.some((no) => no > beganIn && no < settledIn);
        const code = settle.failure?.code;
        if (begin.repeat === 'never' && crashed) {
          checks++;
          if (code === undefined || !known.includes(code))
            say(`${key} to be indeterminate after the crash`, code ?? 'it succeeded');
        } else if (code === 'indeterminate') say(`${key} (${begin.repeat}) to be known`, 'it is indeterminate');
      }
    }
    return checks;
  },
};
