// A run that began has exactly one end, and it is what its caller was told.
import type { Judge } from './judge.ts';

export const terminal: Judge = {
  name: 'exactly one result',
  look: ({ runs, followings }, say) => {
    let checks = 0;
    for (const { run, frames, listed } of runs) {
      if (frames.length === 0) continue;
      checks++;
      const closes = frames.filter(({ record }) => record.type === 'close');
      const last = frames.at(-1)?.record;
      if (closes.length !== 1 || last?.type !== 'close') {
        say(`one end of run ${run}, in its last frame`, `${closes.length}, and the last frame is ${last?.type}`);
        continue;
      }
      const told = followings.filter((one) => one.run === run && one.outcome !== null);
      if (told.length > 1) say(`one outcome of run ${run}`, `${told.length}`);
      for (const { outcome, process } of told)
        if (JSON.stringify(outcome) !== JSON.stringify(last.outcome))
          say(
            `the outcome in the log: ${JSON.stringify(last.outcome)}`,
            `process ${process} told ${JSON.stringify(outcome)}`,
          );
      if (listed?.state !== 'ended' || listed.status !== last.outcome.status)
        say(`run ${run} in the list as ended: ${last.outcome.status}`, `${listed?.state}: ${listed?.status}`);
    }
    return checks;
  },
};
