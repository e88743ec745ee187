// The end of a process's stderr: everything is read, little is kept.
import type { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { stderrCharsMax } from './limits.ts';

/** A character takes at most four bytes. */
const bytesMax = 4 * stderrCharsMax;

export const collectStderrTail = (stderr: Readable): (() => string) => {
  let tail: Buffer = Buffer.alloc(0);
  let isTruncated = false;
  stderr.on('error', () => undefined);
  stderr.on('data', (chunk: Buffer) => {
    isTruncated ||= tail.length + chunk.length > bytesMax;
    tail = Buffer.concat([tail, chunk.subarray(-bytesMax)]).subarray(-bytesMax);
  });
  return () => {
    const chars = [...stripVTControlCharacters(tail.toString())];
    const kept = chars.slice(-stderrCharsMax).join('').toWellFormed();
    return (isTruncated || chars.length > stderrCharsMax ? withoutFirstWord(kept) : kept).trim();
  };
};

/** The first word may be the end of a longer one, such as a secret that could no longer be recognised. */
const withoutFirstWord = (text: string): string => {
  const at = text.search(/\s/u);
  return at < 0 ? '' : text.slice(at);
};
