import { sha256 } from '#base';
import type { Ids } from '#contracts';

/** Ids that are the same for the same seed and, as cells see them, show no order. */
export const countingIds = (seed: string | number = 0): Ids => {
  let count = 0;
  return { random: () => sha256(`${seed}:${count++}`).slice(0, 12) };
};
