// Files that somebody names on the command line. What keeps one from being read or written is said, and is no defect.
import type { CliFiles } from './cli-world.ts';
import { UsageError } from './errors.ts';

/** `what` is to be read; `option` names the path, if no argument does. */
type FileUse = { readonly what: string; readonly option?: string };

export const readOrExplain = async <T>(path: string, read: () => Promise<T>, { what, option }: FileUse): Promise<T> => {
  try {
    return await read();
  } catch (error) {
    const check = option === undefined ? 'check the path' : `check the path of ${option}`;
    throw new UsageError(`${what} ${path} cannot be read: ${messageOf(error)}`, check);
  }
};

/** For what is written after long work. */
export const refuseUnwritable = async (path: string, files: CliFiles, suggestion: string): Promise<void> => {
  const why = await files.whyNotWritable(path);
  if (why !== null) throw new UsageError(`${path} cannot be written: ${why}`, suggestion);
};

export const writeOrExplain = async (path: string, write: () => Promise<void>, suggestion: string): Promise<void> => {
  try {
    await write();
  } catch (error) {
    throw new UsageError(`${path} cannot be written: ${messageOf(error)}`, suggestion);
  }
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
