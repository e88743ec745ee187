import { sha256 } from '#base';
import type { Hash } from '#base';
import type { Frame } from '#contracts';

/** One hash over frames as they were recorded. */
export const framesHash = (frames: readonly Frame[]): Hash =>
  frames.reduce<Hash>((previous, frame) => sha256(previous + JSON.stringify(frame)), sha256(''));
