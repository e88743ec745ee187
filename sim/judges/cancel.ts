// Nothing is asked of a model or a tool once a cancel has had time to arrive; and none at all after a recorded one.
import type { RunId } from '#base';
import { cellByGoal, factsOf, lengthThen, operationByKey } from './facts.ts';
import type { Following, History, RunHistory } from '../history.ts';
import type { Judge } from './judge.ts';

const arrivesMs = 50;

export const cancel: Judge = {
  name: 'nothing starts after cancel + 50 ms',
  look: (history, say) => {
    const calls = [
      ...history.modelCalls.map((call) => ({ call, what: call.model, run: cellByGoal(history, call.goal)?.run })),
      ...history.toolCalls.map((call) => ({ call, what: call.tool, run: operationByKey(history, call.key)?.cell.run })),
    ];
    let checks = 0;
    for (const following of history.followings) {
      const { run, process, cancelledAt, endedAt } = following;
      if (cancelledAt === null) continue;
      checks++;
      if (isUnheard(following) && !isCancelled(history, run))
        say(`the cancel of run ${run} in the log`, `process ${process} wrote none`);
      for (const { call, what, run: of } of calls)
        if (
          of?.run === run &&
          call.process === process &&
          call.at > cancelledAt + arrivesMs &&
          call.at < (endedAt ?? Infinity)
        )
          say(`nothing to start in run ${run} after ${cancelledAt + arrivesMs} ms`, `${what} at ${call.at} ms`);
    }
    for (const { call, what, run } of calls) if (run !== undefined) checks += resumedCancelled(run, call, what);
    return checks;

    function resumedCancelled(run: RunHistory, call: (typeof calls)[number]['call'], what: string): number {
      const { cancelledIn, resumes } = factsOf(run);
      if (cancelledIn === null) return 0;
      const resumedIn = resumes.find((no) => no > cancelledIn);
      if (resumedIn !== undefined && resumedIn < lengthThen(history, run, call.onDisk))
        say(
          `nothing to start in run ${run.run}: it was cancelled before it was gone on with`,
          `${what} at ${call.at} ms`,
        );
      return 1;
    }
  },
};

const isCancelled = ({ runs }: History, run: RunId): boolean =>
  runs.some((one) => one.run === run && factsOf(one).cancelledIn !== null);

/** Whether a run that was not over went on to its end as if nobody had cancelled it. */
const isUnheard = ({ cancelledIn }: Following): boolean => {
  if (cancelledIn === null) return false;
  const { writing, after } = cancelledIn;
  const types = writing.frames.map(({ record }) => record.type);
  return !types.slice(0, after).includes('close') && types.includes('close') && !types.includes('cancel');
};
