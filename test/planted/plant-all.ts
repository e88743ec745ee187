// A family of plants, a few at a time.
import { availableParallelism } from 'node:os';
import { removeMine } from './folders.ts';
import { plantAndRun } from './plant.ts';
import type { Ended, Plant } from './plant.ts';

export type Named = Plant & { readonly name: string };

/** Begins at once; each is asked for by its name, and who is asked for is next. */
export const plantAll = (plants: readonly Named[]) => {
  const ended = new Map(plants.map(({ name }) => [name, Promise.withResolvers<Ended>()]));
  if (ended.size < plants.length) throw new Error('Two plants have the same name.');
  for (const { promise } of ended.values()) promise.catch(() => undefined);
  const waiting = [...plants];
  const end = new AbortController();
  const work = async (): Promise<void> => {
    for (let plant = waiting.shift(); plant !== undefined; plant = waiting.shift()) {
      const { resolve, reject } = ended.get(plant.name)!;
      await plantAndRun(plant, end.signal).then(resolve, reject);
    }
  };
  const all = Promise.all(Array.from({ length: Math.max(2, availableParallelism() - 1) }, work));
  return {
    of: async (name: string): Promise<Ended> => {
      if (!ended.has(name)) throw new Error(`There is no plant called "${name}".`);
      const at = waiting.findIndex((plant) => plant.name === name);
      if (at > 0) waiting.unshift(...waiting.splice(at, 1));
      return ended.get(name)!.promise;
    },
    /** Also ends what nobody waits for: some tests may have been left out. */
    remove: async (): Promise<void> => {
      waiting.length = 0;
      end.abort();
      await all;
      await removeMine();
    },
  };
};
