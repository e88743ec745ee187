// Plans who deletes, archives and brings back runs: while they work, when they have just ended, and long after.
import type { StorageActionPlan } from './plan.ts';
import type { Random } from './random.ts';

/** The share of all seeds in which somebody does. */
const storageShare = 0.16;

export const planStorageActions = (random: Random): readonly StorageActionPlan[] =>
  random.chance(storageShare)
    ? Array.from({ length: random.int(2, 7) }, () => ({
        afterMs: random.log(20, 40_000),
        what: random.weighted({ delete: 5, archive: 5, restore: 5, move: 2, conversation: 2, expire: 2, again: 3 }),
        force: random.chance(0.25),
        withLater: random.chance(0.4),
        twice: random.chance(0.35),
      }))
    : [];
