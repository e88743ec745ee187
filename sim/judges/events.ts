// A reader gets the events of the log: all of them, once, in order.
import type { Frame } from '#contracts';
import { projectEvents } from '#core/events';
import type { Judge } from './judge.ts';

export const events: Judge = {
  name: 'events = log',
  check: ({ sessions, runs, writings }, report) => {
    let checks = 0;
    for (const { events: sent, process, run, startedAt, resumed, readAll } of sessions) {
      if (sent === null) continue;
      const kept = runs.find((one) => one.run === run)?.frames ?? [];
      const own = writings.filter((one) => one.run === run && one.process === process);
      // A run is owned before it is resumed; a new run is owned after it was requested.
      const written = resumed ? own.findLast((one) => one.ownedAt <= startedAt) : own[0];
      const frames = written?.frames ?? [];
      // A process that died at its first record may have read what earlier ones had stored.
      const expected = idsOf(resumed && frames.length === 0 ? kept : seenBy(kept, frames));
      const ids = sent.map(({ id }) => id);
      checks += ids.length;
      const wrong = ids.findIndex((id, index) => id !== expected[index]);
      if (wrong >= 0)
        report(`event ${wrong} of run ${run} to be ${expected[wrong]}`, `process ${process} sent ${ids[wrong]}`);
      if (readAll && frames.length > 0 && ids.length < expected.length)
        report(`all ${expected.length} events of run ${run}`, `process ${process} sent ${ids.length}`);
    }
    return checks;
  },
};

/** The frames stored before, and those that this process wrote. */
const seenBy = (kept: readonly Frame[], written: readonly Frame[]): readonly Frame[] =>
  written.length === 0 ? [] : [...kept.slice(0, written[0]!.no), ...written];

const idsOf = (frames: readonly Frame[]): readonly string[] => {
  const fold = projectEvents('contents');
  return frames.flatMap((frame) => fold.next(frame).map(({ id }) => id));
};
