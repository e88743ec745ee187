// stdout or stderr as the command line writes to it, and whether everything was written.
import { fstatSync, writeSync } from 'node:fs';
import type { CliStream } from '#headends/cli';

type OutputStream = CliStream & {
  /** Resolves when everything that can be written is written. Returns the write error; null also when the reader closed the pipe. */
  flush(): Promise<Error | null>;
};

/** A closed pipe or a full disk ends the output, not the run. */
export const outputStream = (target: NodeJS.WriteStream & { readonly fd: number }): OutputStream => {
  const writes = isFile(target.fd) ? fileWriter(target.fd) : (text: string) => target.write(text);
  let failure: Error | null = null;
  let hasWritten = false;
  target.on('error', (error) => (failure ??= error));
  return {
    write(text) {
      hasWritten = true;
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
    async flush() {
      if (hasWritten) await waitUntilDrained(target);
      return failure === null || isReaderGone(failure) ? null : failure;
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

/** Node's stream calls write once, and does not report the part that a full disk did not accept. */
const fileWriter = (descriptor: number) => (text: string) => {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
  return true;
};

const waitUntilDrained = async (target: NodeJS.WriteStream): Promise<void> => {
  if (!target.destroyed && target.writable)
    await new Promise<void>((resolve) => void target.write('', () => resolve()));
  // The stream reports errors on a later tick.
  await new Promise(setImmediate);
};

const isReaderGone = (error: NodeJS.ErrnoException): boolean => error.code === 'EPIPE' || error.code === 'ECONNRESET';
