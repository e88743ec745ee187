// Where Cloister was started: the only things it takes from its surroundings.
import { isAbsolute, relative } from 'node:path';

export type LaunchEnvironment = {
  readonly cwd: string;
  readonly home: string;
  /** The file given with --config. */
  readonly config?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** A path as people want to read it: from here, unless it lies elsewhere. */
export const shownPath = (path: string, { cwd }: Pick<LaunchEnvironment, 'cwd'>): string => {
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
};
