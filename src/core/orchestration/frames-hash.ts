import { canonicalJson, sha256 } from '#base';
import type { Hash } from '#base';
import type { Frame } from '#contracts';

/** One hash over records, whatever the order of their keys. */
export const framesHash = (frames: readonly Frame[]): Hash =>
  frames.reduce<Hash>((previous, frame) => sha256(previous + canonicalJson(frame)), sha256(''));
