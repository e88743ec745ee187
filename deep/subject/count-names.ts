// Replaces random names with counted ones: strace needs to know before a run which files it will create.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/** `by` is unique per process. */
export const countNames = (by: string): void => {
  let drawn = 0;
  const next = (): Buffer => crypto.createHash('sha256').update(`${by}:${drawn++}`).digest();
  const counted = {
    randomUUID: () =>
      next()
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/u, '$1-$2-$3-$4-$5'),
    randomBytes: (size: number) => next().subarray(0, size),
  };
  Object.assign(crypto, counted);
  syncBuiltinESMExports();
};
