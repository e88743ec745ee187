import { sha256 } from '#base';
import type { Ids } from '#contracts';

/** The same seed gives the same ids. The ids do not reveal their order to cells. */
export const countingIds = (seed: string | number = 0): Ids => {
  let count = 0;
  return { random: () => sha256(`${seed}:${count++}`).slice(0, 12) };
};
