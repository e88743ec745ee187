// No state that should not exist, nothing thrown where nobody catches it.
import { factsOf } from './facts.ts';
import type { Judge } from './judge.ts';

const impossible = ['defect', 'replay_differs', 'unattributed', 'budget_overdrawn', 'model_missing'];
/** What may keep a run from being recorded, and from being gone on with. */
const excused = ['store_failed', 'store_busy', 'run_owned', null];
const resumeExcused = [...excused, 'run_ended', 'run_unknown', 'conversation_busy'];
/** What may keep a checkpoint from being taken, or from being gone back to. */
const askExcused = [...excused, 'run_unknown', 'conversation_busy', 'checkpoint_invalid'];

export const failures: Judge = {
  name: 'no defect',
  look: ({ runs, followings, refusals, askings, uncaught }, say) => {
    let checks = 0;
    const judge = (
      failure: { readonly code: string; readonly detail?: string } | null | undefined,
      where: string,
    ): void => {
      checks++;
      if (failure && impossible.includes(failure.code)) say(`no ${failure.code}`, `${where}: ${failure.detail ?? ''}`);
    };
    for (const run of runs) {
      const { operations, cells } = factsOf(run);
      for (const [key, { settle, begin }] of operations) judge(settle?.failure, `${key} (${begin.name})`);
      for (const { birth, outcome } of cells.values()) judge(outcome?.failure, birth.cell);
    }
    for (const { error, process, run } of followings)
      if (!excused.includes(error)) say(`run ${run} to end, or the store to fail`, `process ${process}: ${error}`);
    for (const { code, process, run, said } of refusals)
      if (!resumeExcused.includes(code)) say(`run ${run} to be gone on with`, `process ${process}: ${said}`);
    for (const { code, process, what, said } of askings)
      if (!askExcused.includes(code)) say(`${what} to be done`, `process ${process}: ${said}`);
    for (const what of uncaught) say('nothing uncaught', what);
    return checks;
  },
};
