// No queue grows without bound.
import type { Judge } from './judge.ts';

/** For each live cell: a few parallel operations, each with a begin and a settle record. */
const itemsPerCell = 16;
const eventsPerCell = 24;
const itemsPerMail = 2;
/** Whoever answers through another process looks again and again. */
const eventsPerAnswer = 2;
const rest = 32;
/** Live pieces buffered for a slow reader, plus the note that it lags, plus the piece it is reading. */
const piecesKept = 2_000 + 1 + 1;

export const queues: Judge = {
  name: 'queues are bounded',
  check: ({ queues: { batchPeak, eventsPeak, cellsPeak }, sessions, outsideMail, answers }, report) => {
    // A sender outside may send many messages in a row.
    const [items, events] = [
      rest + cellsPeak * itemsPerCell + outsideMail.length * itemsPerMail,
      rest + cellsPeak * eventsPerCell + answers.length * eventsPerAnswer,
    ];
    if (batchPeak > items) report(`at most ${items} items in one batch`, `${batchPeak}`);
    if (eventsPeak > events) report(`at most ${events} waiting events of the runtime`, `${eventsPeak}`);
    for (const { pieces, stalled, run } of sessions)
      if (stalled && pieces > piecesKept)
        report(`at most ${piecesKept} pieces of run ${run} buffered for a reader that stalls`, `${pieces}`);
    return 2 + sessions.length;
  },
};
