// The environment of a process that a test starts from source: it need not strip the same types, and compile the same code,
// again each time.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

export const compileCache = (): Readonly<Record<string, string>> => {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
};
