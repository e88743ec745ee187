// Looks for a shorter case with a difference: among the seeds of smaller sizes, the one with the fewest records.
import type { PairResult, Pairs } from './compare-pair.ts';
import { groupOfSeed, seedsOfSize, sizeOfGroup } from './case-size.ts';

/** `isAlone`: the difference shows in the two runs on their own, whatever ran before. */
type FailingCase = { readonly seed: number; readonly compared: PairResult; readonly isAlone: boolean };

/** Seeds to try of each size. */
const triesPerSize = 96;

export const shortestCase = async (pairs: Pairs, found: PairResult, seed: number): Promise<FailingCase> => {
  const first = (await compareAlone(pairs, seed)) ?? { seed, compared: found, isAlone: false };
  const largest = sizeOfGroup(groupOfSeed(seed));
  for (let size = 0; size <= largest; size++) {
    const best = await shortestOfSize(pairs, size, seed);
    if (best !== null) return first.isAlone && first.compared.weight <= best.compared.weight ? first : best;
  }
  return first;
};

const shortestOfSize = async (pairs: Pairs, size: number, near: number): Promise<FailingCase | null> => {
  let best: FailingCase | null = null;
  let tries = 0;
  for (const seed of seedsOfSize(size, near)) {
    if (tries++ === triesPerSize) break;
    const compared = await pairs.compare(seed);
    if (compared === null || compared.difference === null) continue;
    if (best === null || compared.weight < best.compared.weight) best = (await compareAlone(pairs, seed)) ?? best;
  }
  return best;
};

/** Repeats the pair on its own; null if it shows no difference then. */
const compareAlone = async (pairs: Pairs, seed: number): Promise<FailingCase | null> => {
  const compared = await pairs.compare(seed, true);
  return compared === null || compared.difference === null ? null : { seed, compared, isAlone: true };
};
