// Numbers that look random and are the same for the same seed.
export const testRandom = (seed: number) => {
  let state = (seed + 1) * 2_654_435_761;
  const next = (): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 13), 0x297a2d39);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 4_294_967_296;
  };
  return { next, below: (limit: number): number => Math.floor(next() * limit) };
};
