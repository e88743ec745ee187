// Whoever reads along is told what the log says: all of it, once, in order.
import type { Frame } from '#contracts';
import { projectEvents } from '#core/audit';
import type { Judge } from './judge.ts';

export const events: Judge = {
  name: 'events = log',
  look: ({ followings, runs, writings }, say) => {
    let checks = 0;
    for (const { events: told, process, run, startedAt, resumed, readAll } of followings) {
      if (told === null) continue;
      const kept = runs.find((one) => one.run === run)?.frames ?? [];
      const own = writings.filter((one) => one.run === run && one.process === process);
      // A run is owned before it is gone on with, and after a new one was asked for.
      const written = resumed ? own.findLast((one) => one.ownedAt <= startedAt) : own[0];
      const expected = idsOf(seenBy(kept, written?.frames ?? []));
      const ids = told.map(({ id }) => id);
      checks += ids.length;
      const wrong = ids.findIndex((id, index) => id !== expected[index]);
      if (wrong >= 0)
        say(`event ${wrong} of run ${run} to be ${expected[wrong]}`, `process ${process} told ${ids[wrong]}`);
      if (readAll && ids.length < expected.length)
        say(`all ${expected.length} events of run ${run}`, `process ${process} told ${ids.length}`);
    }
    return checks;
  },
};

/** What was kept before, and what this process wrote itself. */
const seenBy = (kept: readonly Frame[], written: readonly Frame[]): readonly Frame[] =>
  written.length === 0 ? [] : [...kept.slice(0, written[0]!.no), ...written];

const idsOf = (frames: readonly Frame[]): readonly string[] => {
  const fold = projectEvents();
  return frames.flatMap((frame) => fold.next(frame).map(({ id }) => id));
};
