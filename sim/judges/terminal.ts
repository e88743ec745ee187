// A run that started has exactly one end, and its caller got the same outcome.
import type { Judge } from './judge.ts';

export const terminal: Judge = {
  name: 'exactly one result',
  check: ({ runs, sessions }, report) => {
    let checks = 0;
    for (const { run, frames, listed, isDeleted } of runs) {
      if (frames.length === 0) continue;
      checks++;
      const closes = frames.filter(({ record }) => record.type === 'close');
      if (isDeleted && closes.length === 0) continue;
      const last = frames.at(-1)?.record;
      if (closes.length !== 1 || last?.type !== 'close') {
        report(`one end of run ${run}, in its last frame`, `${closes.length}, and the last frame is ${last?.type}`);
        continue;
      }
      const told = sessions.filter((one) => one.run === run && one.outcome !== null);
      if (told.length > 1) report(`one outcome of run ${run}`, `${told.length}`);
      for (const { outcome, process } of told)
        if (JSON.stringify(outcome) !== JSON.stringify(last.outcome))
          report(
            `the outcome in the log: ${JSON.stringify(last.outcome)}`,
            `process ${process} returned ${JSON.stringify(outcome)}`,
          );
      if (listed?.state !== 'ended' || listed.status !== last.outcome.status)
        report(`run ${run} in the list as ended: ${last.outcome.status}`, `${listed?.state}: ${listed?.status}`);
    }
    return checks;
  },
};
