// A step that is not safe to retry and was in flight during a crash is reported as indeterminate, and nothing else is.
import { runFacts } from './facts.ts';
import type { Judge } from './judge.ts';

const known = ['indeterminate', 'cancelled', 'deadline_passed'];

export const indeterminate: Judge = {
  name: 'indeterminate after a crash',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      const { operations, resumes } = runFacts(run);
      for (const [key, { begin, settle, beganIn, settledIn }] of operations) {
        if (settle === undefined || begin.do !== 'step') continue;
        const crashed = resumes.some((no) => no > beganIn && no < settledIn);
        const code = settle.failure?.code;
        if (begin.repeat === 'never' && crashed) {
          checks++;
          if (code === undefined || !known.includes(code))
            report(`${key} to be indeterminate after the crash`, code ?? 'it succeeded');
        } else if (code === 'indeterminate')
          report(`${key} (${begin.repeat}) to have a known outcome`, 'it is indeterminate');
      }
    }
    return checks;
  },
};
