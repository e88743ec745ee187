// How large a case is. Every seed has its size, so that a short case can be looked for among the seeds of a small one.

export type CaseSize = {
  /** How many planned cells there may be below the root. */
  readonly cells: number;
  /** How many turns a cell may take for itself, and how many calls in each. */
  readonly turns: number;
  readonly calls: number;
  /** How many times in a hundred a model fails before it answers, and something takes time. */
  readonly faults: number;
  readonly delays: number;
  /** Results and answers that are too long to be shown whole. */
  readonly long: boolean;
  /** Cells besides those that were planned: for the asking cell alone. */
  readonly twins: boolean;
  /** Endings other than an answer. */
  readonly endings: boolean;
  /** Clients that listen while it runs. */
  readonly heard: boolean;
};

const smallest: CaseSize = {
  cells: 1,
  turns: 1,
  calls: 1,
  faults: 0,
  delays: 0,
  long: false,
  twins: false,
  endings: false,
  heard: false,
};

/** Each a little larger than the one before. */
export const sizes: readonly CaseSize[] = [
  smallest,
  { ...smallest, calls: 2, delays: 20 },
  { ...smallest, faults: 20, endings: true },
  { ...smallest, cells: 2, twins: true, long: true, heard: true },
  { ...smallest, turns: 2, calls: 2, delays: 20, long: true },
  { ...smallest, cells: 2, faults: 10, delays: 20, endings: true },
  { ...smallest, turns: 2, calls: 2, faults: 10, long: true, twins: true, endings: true },
  { ...smallest, cells: 3, delays: 10, twins: true, endings: true },
];

/** Pairs of one group have their first run in common. */
const pairsPerGroup = 16;

export const groupOf = (seed: number): number => Math.floor(seed / pairsPerGroup);

export const sizeOf = (group: number): number => group % sizes.length;

/** The seeds of one size around a seed, nearest first; endless. */
export function* seedsOfSize(size: number, near: number): Generator<number> {
  const first = groupOf(near) - sizeOf(groupOf(near)) + size;
  for (let group = first; ; group += sizes.length)
    for (let variant = 0; variant < pairsPerGroup; variant++) yield group * pairsPerGroup + variant;
}
