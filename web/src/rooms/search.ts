/** How many are less; `sorted` ascends. */
export const countBefore = (sorted: readonly number[] | Float64Array, value: number): number =>
  countWhile(sorted.length, (at) => sorted[at]! < value);

/** How many of `length` come before the first for which it does not hold. */
export const countWhile = (length: number, holds: (at: number) => boolean): number => {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
};
