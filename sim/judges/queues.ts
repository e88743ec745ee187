// Nothing that waits grows without bound.
import type { Judge } from './judge.ts';

/** For each cell that lives: a few operations at once, each with a beginning and an end. */
const itemsPerCell = 16;
const eventsPerCell = 24;
const itemsPerMail = 2;
const rest = 32;
/** Of live text: for a reader that lags behind, that it does, and the one that it has in its hand. */
const piecesKept = 2_000 + 1 + 1;

export const queues: Judge = {
  name: 'queues bounded',
  look: ({ queues: { batchMost, eventsMost, cellsMost }, followings, mailings }, say) => {
    // Who writes from outside may write much at once.
    const [items, events] = [
      rest + cellsMost * itemsPerCell + mailings.length * itemsPerMail,
      rest + cellsMost * eventsPerCell,
    ];
    if (batchMost > items) say(`at most ${items} items in one batch`, `${batchMost}`);
    if (eventsMost > events) say(`at most ${events} things to wait for at once`, `${eventsMost}`);
    for (const { pieces, stalled, run } of followings)
      if (stalled && pieces > piecesKept)
        say(`at most ${piecesKept} pieces of run ${run} kept for a reader that stalls`, `${pieces}`);
    return 2 + followings.length;
  },
};
