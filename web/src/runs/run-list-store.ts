// The list of runs, kept current while it is shown. It stays as it is while a run is open, so that Back finds it again.
import { signal } from '@preact/signals';
import { source } from '../state.ts';
import { isUnderWay, noFilters, queryOf, withNewest, withOlder } from './run-list.ts';
import type { ListedRun, RunFilters } from './run-list.ts';

const pageSize = 50;
const liveEveryMs = 2_000;
const idleEveryMs = 10_000;

export const filters = signal<RunFilters>(noFilters);
/** Null: not loaded yet. */
export const rows = signal<readonly ListedRun[] | null>(null);
/** Where older runs follow; null: there are none. */
export const olderFrom = signal<string | null>(null);
export const listProblem = signal<Error | null>(null);
/** The run that is selected, and the one that is marked for a comparison. */
export const selectedRun = signal<string | null>(null);
export const markedRun = signal<string | null>(null);

/** Answers to earlier filters are dropped. */
let asked = 0;
let isLoadingOlder = false;

type RunsPage = { readonly runs: readonly ListedRun[]; readonly more: boolean; readonly next?: string | null };

/** A server may say where the next page begins: a filter reads a limited number of logs for one page. */
const nextOf = ({ runs, more, next }: RunsPage): string | null => (more ? (next ?? runs.at(-1)?.run ?? null) : null);

/** Reads the newest runs; as many as it takes to reach the last one that is under way. */
export const readNewest = async (): Promise<void> => {
  const question = asked;
  const known = rows.peek() ?? [];
  const limit = Math.min(1_000, Math.max(pageSize, known.findLastIndex(isUnderWay) + 1));
  try {
    const page = await source.peek().runs({ limit, ...queryOf(filters.peek()) });
    if (question !== asked) return;
    const merged = withNewest(known, page.runs, page.more);
    // Where the next page begins changes only while there is one page.
    if (merged.length <= page.runs.length) olderFrom.value = nextOf(page);
    rows.value = merged;
    listProblem.value = null;
  } catch (error) {
    if (question === asked) listProblem.value = error as Error;
  }
};

export const readOlder = async (): Promise<void> => {
  const from = olderFrom.peek();
  if (isLoadingOlder || from === null) return;
  isLoadingOlder = true;
  const question = asked;
  try {
    const page = await source.peek().runs({ limit: pageSize, before: from, ...queryOf(filters.peek()) });
    if (question !== asked) return;
    rows.value = withOlder(rows.peek() ?? [], page.runs);
    olderFrom.value = nextOf(page) === from ? null : nextOf(page);
  } catch (error) {
    // A server that cannot page has no older ones to give.
    olderFrom.value = null;
    listProblem.value = error as Error;
  } finally {
    isLoadingOlder = false;
  }
};

export const setFilters = (changes: Partial<RunFilters>): void => {
  filters.value = { ...filters.peek(), ...changes };
  asked++;
  rows.value = null;
  olderFrom.value = null;
  void readNewest();
};

/** Until the returned function is called. */
export const keepListCurrent = (): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const next = async (): Promise<void> => {
    if (!document.hidden) await readNewest();
    timer = setTimeout(() => void next(), rows.peek()?.some(isUnderWay) === true ? liveEveryMs : idleEveryMs);
  };
  let isClosed = false;
  void next().then(() => isClosed && clearTimeout(timer));
  return () => {
    isClosed = true;
    clearTimeout(timer);
  };
};
