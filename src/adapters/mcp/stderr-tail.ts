// The last words of a process: all of its stderr is read, little of it is kept.
import type { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { stderrCharsMax } from './limits.ts';

/** A character takes four bytes at most. */
const bytesMax = 4 * stderrCharsMax;

export const keepTail = (stderr: Readable): (() => string) => {
  let tail: Buffer = Buffer.alloc(0);
  stderr.on('error', () => undefined);
  stderr.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk.subarray(-bytesMax)]).subarray(-bytesMax);
  });
  return () => [...stripVTControlCharacters(tail.toString())].slice(-stderrCharsMax).join('').toWellFormed().trim();
};
