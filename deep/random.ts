// Seeded random numbers: the same seed gives the same numbers.
export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from 0 up to, not including, `below`. */
  whole(below: number): number;
  /** A new order of the same items. */
  shuffled<T>(items: readonly T[]): T[];
};

/** `name` separates the streams of different users of one seed. */
export const randomFrom = (seed: number, name: string): Random => {
  let state = seed | 0;
  for (const letter of name) state = mixBits(state ^ letter.codePointAt(0)!);
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    return (mixBits(state) >>> 0) / 2 ** 32;
  };
  const whole = (below: number): number => Math.floor(next() * below);
  return {
    next,
    whole,
    shuffled(items) {
      const order = [...items];
      for (let at = order.length - 1; at > 0; at--) {
        const other = whole(at + 1);
        [order[at], order[other]] = [order[other]!, order[at]!];
      }
      return order;
    },
  };
};

const mixBits = (value: number): number => {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return bits ^ (bits >>> 15);
};
