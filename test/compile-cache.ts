// Environment for a process that a test starts from source: it shares the compile cache, so types are not stripped and code is
// not compiled again each time.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

export const compileCache = (): Readonly<Record<string, string>> => {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
};
