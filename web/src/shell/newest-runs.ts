// The newest runs, for a page that shows none.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { RunRow } from '../source.ts';
import { source } from '../state.ts';

const recentRuns = 6;

/** The newest ones; null: not known yet. */
export const newestRuns = signal<readonly RunRow[] | null>(null);

export const useNewestRuns = (isNeeded: boolean): void => {
  useEffect(() => {
    if (!isNeeded) return;
    source.value.runs({ limit: recentRuns }).then(
      ({ runs }) => void (newestRuns.value = runs),
      () => void (newestRuns.value = []),
    );
  }, [isNeeded]);
};
