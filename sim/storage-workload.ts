// Plans who deletes, archives and brings back runs: while they work, when they have just ended, and long after.
import type { FaultPlan, StorageActionPlan, StorageMoment } from './plan.ts';
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

const moments: readonly StorageMoment[] = [
  'archive written',
  'deleted',
  'remove folder of deleted run',
  'finish deletions',
  'import run',
  'imported',
  'remove archive',
];

/** Where processes often crash, and how long faults last then: most runs must have ended before anything can be done with them. */
export const planStorageFaults = (
  actions: readonly StorageActionPlan[],
  random: Random,
): Pick<FaultPlan, 'crashInStorage'> & Partial<FaultPlan> => {
  if (actions.length === 0 || random.chance(0.4)) return { crashInStorage: null };
  return { crashInStorage: random.pick(moments), untilMs: 45_000, crashesMax: random.int(2, 5) };
};
