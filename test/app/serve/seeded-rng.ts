// Random choices from a seed.

export type SeededRng = {
  /** From 0 up to, but not including, `most`. */
  below(most: number): number;
  chance(part: number): boolean;
  of<T>(choices: readonly T[]): T;
};

export const seededRng = (seed: number): SeededRng => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e_37_79_b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21_f0_aa_ad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x73_5a_2d_97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  const below = (most: number): number => Math.floor(next() * most);
  return { below, chance: (part) => next() < part, of: (choices) => choices[below(choices.length)]! };
};
