// Whatever a client was told is there after any crash: it stands outside, and knows only the events that it was sent.
import { projectEvents } from '#core/events';
import type { Judge } from './judge.ts';

export const told: Judge = {
  name: 'told = kept',
  check: ({ sessions, runs }, report) => {
    let checks = 0;
    for (const { events: sent, process, run } of sessions) {
      if (sent === null || sent.length === 0) continue;
      const fold = projectEvents('contents');
      const frames = runs.find((one) => one.run === run)?.frames ?? [];
      const kept = frames.flatMap((frame) => fold.next(frame));
      checks += sent.length;
      const lost = sent.findIndex((event, index) => JSON.stringify(event) !== JSON.stringify(kept[index]));
      if (lost >= 0)
        report(
          `event ${sent[lost]!.id} of run ${run}, which process ${process} sent, to be in the log`,
          kept[lost] === undefined ? `the log ends after ${kept.length} events` : `event ${kept[lost].id} is there`,
        );
    }
    return checks;
  },
};
