// Nothing that waits grows without bound.
import type { Judge } from './judge.ts';

/** For each cell that lives: a few operations at once, each with a beginning and an end. */
const itemsPerCell = 16;
const eventsPerCell = 24;
const rest = 32;

export const queues: Judge = {
  name: 'queues bounded',
  look: ({ queues: { batchMost, eventsMost, cellsMost } }, say) => {
    const [items, events] = [rest + cellsMost * itemsPerCell, rest + cellsMost * eventsPerCell];
    if (batchMost > items) say(`at most ${items} items in one batch`, `${batchMost}`);
    if (eventsMost > events) say(`at most ${events} things to wait for at once`, `${eventsMost}`);
    return 2;
  },
};
