import { sha256 } from '#base';
import type { Hash } from '#base';
import type { Frame } from '#contracts';

/** One hash over frames as they were recorded. */
export const framesHash = (frames: readonly Frame[]): Hash => frames.reduce<Hash>(nextHash, sha256(''));

/** The same, with pauses. */
export const hashInPieces = async (
  frames: readonly Frame[],
  pause: (() => Promise<void> | undefined) | undefined,
): Promise<Hash> => {
  let hash = sha256('');
  for (const frame of frames) {
    hash = nextHash(hash, frame);
    const paused = pause?.();
    if (paused !== undefined) await paused;
  }
  return hash;
};

const nextHash = (previous: Hash, frame: Frame): Hash => sha256(previous + JSON.stringify(frame));
