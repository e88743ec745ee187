// One of the two streams of this process, as the command line writes to it, and what became of what was written.
import { fstatSync, writeSync } from 'node:fs';
import type { CliStream } from '#headends/cli';

export type OutputStream = CliStream & {
  /** When all was written that can be. Gives why the rest is lost; null also when whoever read it has gone away. */
  flushed(): Promise<Error | null>;
};

/** A reader that has gone away, or a disk that is full, ends the output, not the run. */
export const outputStream = (target: NodeJS.WriteStream & { readonly fd: number }): OutputStream => {
  const writes = isFile(target.fd) ? intoFile(target.fd) : (text: string) => target.write(text);
  let failure: Error | null = null;
  let used = false;
  target.on('error', (error) => (failure ??= error));
  return {
    write(text) {
      used = true;
      if (failure !== null) return false;
      try {
        return writes(text);
      } catch (error) {
        failure = error as Error;
        return false;
      }
    },
    isTTY: target.isTTY,
    get columns() {
      return target.columns;
    },
    get rows() {
      return target.rows;
    },
    async flushed() {
      if (used) await emptied(target);
      return failure === null || isGone(failure) ? null : failure;
    },
  };
};

const isFile = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
};

/** The stream of Node writes once, and says nothing of what a full disk did not take of it. */
const intoFile = (descriptor: number) => (text: string) => {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
  return true;
};

const emptied = async (target: NodeJS.WriteStream): Promise<void> => {
  if (!target.destroyed && target.writable)
    await new Promise<void>((resolve) => void target.write('', () => resolve()));
  // What went wrong is told a moment later.
  await new Promise(setImmediate);
};

const isGone = (error: NodeJS.ErrnoException): boolean => error.code === 'EPIPE' || error.code === 'ECONNRESET';
