// The size of a case. Every seed has a size, so that a short case can be found among the seeds of a small size.

export type CaseSize = {
  /** The most planned cells below the root. */
  readonly cells: number;
  /** The most private turns of a cell, and the most calls in each. */
  readonly turns: number;
  readonly calls: number;
  /** How often (in percent) a model fails before it answers, and a reply or result is delayed. */
  readonly faults: number;
  readonly delays: number;
  /** Whether some results and answers are too long to be shown in full. */
  readonly longTexts: boolean;
  /** Whether cells call children beyond the planned ones, as private work. */
  readonly extraChildren: boolean;
  /** Whether cells may end in other ways than with an answer. */
  readonly endings: boolean;
  /** Whether clients listen during the run. */
  readonly hasListeners: boolean;
};

const smallest: CaseSize = {
  cells: 1,
  turns: 1,
  calls: 1,
  faults: 0,
  delays: 0,
  longTexts: false,
  extraChildren: false,
  endings: false,
  hasListeners: false,
};

/** From small to large. */
export const caseSizes: readonly CaseSize[] = [
  smallest,
  { ...smallest, calls: 2, delays: 20 },
  { ...smallest, faults: 20, endings: true },
  { ...smallest, cells: 2, extraChildren: true, longTexts: true, hasListeners: true },
  { ...smallest, turns: 2, calls: 2, delays: 20, longTexts: true },
  { ...smallest, cells: 2, faults: 10, delays: 20, endings: true },
  { ...smallest, turns: 2, calls: 2, faults: 10, longTexts: true, extraChildren: true, endings: true },
  { ...smallest, cells: 3, delays: 10, extraChildren: true, endings: true },
];

/** The pairs of a group share their first run. */
const pairsPerGroup = 16;

export const groupOfSeed = (seed: number): number => Math.floor(seed / pairsPerGroup);

export const sizeOfGroup = (group: number): number => group % caseSizes.length;

/** The first seeds of one size from around a seed on. */
export const seedsOfSize = (size: number, near: number, count: number): readonly number[] => {
  const first = groupOfSeed(near) - sizeOfGroup(groupOfSeed(near)) + size;
  return Array.from({ length: count }, (_, index) => {
    const group = first + Math.floor(index / pairsPerGroup) * caseSizes.length;
    return group * pairsPerGroup + (index % pairsPerGroup);
  });
};
