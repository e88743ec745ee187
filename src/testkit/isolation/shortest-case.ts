// Looks for a shorter case that shows a difference too: among the seeds of smaller sizes, the one with the fewest operations.
import type { PairResult, Pairs } from './compare-pair.ts';
import { groupOf, seedsOfSize, sizeOf } from './case-size.ts';

/** `isAlone`: its two runs show it by themselves, whatever ran before. */
export type Case = { readonly seed: number; readonly compared: PairResult; readonly isAlone: boolean };

/** How many seeds of each size are tried. */
const triesPerSize = 96;

export const shortestCase = async (pairs: Pairs, found: PairResult, seed: number): Promise<Case> => {
  const first = (await alone(pairs, seed)) ?? { seed, compared: found, isAlone: false };
  const largest = sizeOf(groupOf(seed));
  for (let size = 0; size <= largest; size++) {
    const best = await shortestOfSize(pairs, size, seed);
    if (best !== null) return first.isAlone && first.compared.weight <= best.compared.weight ? first : best;
  }
  return first;
};

const shortestOfSize = async (pairs: Pairs, size: number, near: number): Promise<Case | null> => {
  let best: Case | null = null;
  let tries = 0;
  for (const seed of seedsOfSize(size, near)) {
    if (tries++ === triesPerSize) break;
    const compared = await pairs.compare(seed);
    if (compared === null || compared.difference === null) continue;
    if (best === null || compared.weight < best.compared.weight) best = (await alone(pairs, seed)) ?? best;
  }
  return best;
};

/** The pair once more, by itself; null when it shows nothing then. */
const alone = async (pairs: Pairs, seed: number): Promise<Case | null> => {
  const compared = await pairs.compare(seed, true);
  return compared === null || compared.difference === null ? null : { seed, compared, isAlone: true };
};
