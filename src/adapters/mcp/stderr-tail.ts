// The last words of a process: all of its stderr is read, little of it is kept.
import type { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { stderrCharsMax } from './limits.ts';

/** A character takes four bytes at most. */
const bytesMax = 4 * stderrCharsMax;

export const keepTail = (stderr: Readable): (() => string) => {
  let tail: Buffer = Buffer.alloc(0);
  let cut = false;
  stderr.on('error', () => undefined);
  stderr.on('data', (chunk: Buffer) => {
    cut ||= tail.length + chunk.length > bytesMax;
    tail = Buffer.concat([tail, chunk.subarray(-bytesMax)]).subarray(-bytesMax);
  });
  return () => {
    const chars = [...stripVTControlCharacters(tail.toString())];
    const kept = chars.slice(-stderrCharsMax).join('').toWellFormed();
    return (cut || chars.length > stderrCharsMax ? withoutFirstWord(kept) : kept).trim();
  };
};

/** It may be the end of a longer one, a secret among others, which nobody would know again. */
const withoutFirstWord = (text: string): string => {
  const at = text.search(/\s/u);
  return at < 0 ? '' : text.slice(at);
};
