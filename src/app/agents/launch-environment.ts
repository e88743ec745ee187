// Where Cloister was started: all that it takes from its process.
import { isAbsolute, relative } from 'node:path';

export type LaunchEnvironment = {
  readonly cwd: string;
  readonly home: string;
  /** The file passed with --config. */
  readonly config?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** A path for people: relative to the working folder if inside it, otherwise absolute. */
export const displayPath = (path: string, { cwd }: Pick<LaunchEnvironment, 'cwd'>): string => {
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
};
