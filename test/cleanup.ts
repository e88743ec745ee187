// Cleanup that helpers run after a test or a test file. Where files share a process, a helper module is loaded only once, so its
// own hooks would belong to the first file only; `setup.ts` therefore runs this cleanup in every file.
type CleanupScope = 'test' | 'file';
type Cleanup = () => void | Promise<void>;

const cleanups: Record<CleanupScope, Cleanup[]> = { test: [], file: [] };

export const cleanUpAfter = (scope: CleanupScope, cleanup: Cleanup): void => void cleanups[scope].push(cleanup);

export const runCleanups = async (scope: CleanupScope): Promise<void> => {
  for (const cleanup of cleanups[scope]) await cleanup();
};
