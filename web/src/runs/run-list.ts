// Rows of the list of runs, in words; and how a list stays current while older rows are loaded.
import { clockTime, count, formatDuration, money, plural } from '#headends/run-view';
import type { RunRow } from '../source.ts';

/** As servers send them: older ones lack some columns, and a run of another version says why it cannot be read. */
export type ListedRun = Omit<RunRow, 'crossings' | 'refused' | 'fork' | 'conversation'> &
  Partial<Pick<RunRow, 'crossings' | 'refused' | 'fork' | 'conversation'>> & { readonly unreadable?: string };

export type RunFilters = {
  readonly text: string;
  readonly state: string;
  readonly agent: string;
  readonly refused: boolean;
};

export const noFilters: RunFilters = { text: '', state: '', agent: '', refused: false };

export const isFiltered = (filters: RunFilters): boolean =>
  filters.text.trim() !== '' || filters.state !== '' || filters.agent !== '' || filters.refused;

/** What the server is asked for. What is not filtered is not named, so that a server that cannot filter still answers. */
export const queryOf = ({ text, state, agent, refused }: RunFilters) => ({
  ...(text.trim() === '' ? {} : { text: text.trim() }),
  ...(state === '' ? {} : { state }),
  ...(agent === '' ? {} : { agent }),
  ...(refused ? { refused } : {}),
});

export const statesToFind = [
  'running',
  'waiting',
  'completed',
  'partial',
  'failed',
  'cancelled',
  'budget',
  'limit',
  'timeout',
  'interrupted',
  'damaged',
] as const;

/** How a run stands, in one word that `Status` knows. */
export const rowStatus = ({ state, status, unreadable }: ListedRun): string => {
  if (unreadable !== undefined) return 'damaged';
  return state === 'ended' ? (status ?? 'interrupted') : state;
};

/** Whether it may still change. */
export const isUnderWay = ({ state }: ListedRun): boolean => state === 'running' || state === 'waiting';

/** Puts the newest page over what is known: rows that the page should have and has not are gone. A page may be empty, with more to come. */
export const withNewest = (
  known: readonly ListedRun[],
  page: readonly ListedRun[],
  more: boolean,
): readonly ListedRun[] => {
  const last = page.at(-1);
  if (!more) return page;
  if (last === undefined) return known;
  const at = known.findIndex(({ run }) => run === last.run);
  const older = at < 0 ? known.filter(({ startedAt }) => startedAt < last.startedAt) : known.slice(at + 1);
  const fresh = new Set(page.map(({ run }) => run));
  return [...page, ...older.filter(({ run }) => !fresh.has(run))];
};

export const withOlder = (known: readonly ListedRun[], page: readonly ListedRun[]): readonly ListedRun[] => {
  const runs = new Set(known.map(({ run }) => run));
  return [...known, ...page.filter(({ run }) => !runs.has(run))];
};

/** `7 runs, $0.0425 in all`. */
export const totalText = (rows: readonly ListedRun[], more: boolean): string => {
  const costs = rows.flatMap(({ spent }) => (spent === null ? [] : [spent.usd]));
  const known = costs.reduce<number>((sum, usd) => sum + (usd ?? 0), 0);
  const cost = `${costs.includes(null) ? 'at least ' : ''}${money(known)}`;
  return more ? `newest ${plural(rows.length, 'run')}, ${cost}` : `${plural(rows.length, 'run')}, ${cost} in all`;
};

export const tookText = ({ spent, startedAt, endedAt, state }: ListedRun, now: number): string => {
  if (spent !== null) return formatDuration(spent.ms);
  if (endedAt !== null) return formatDuration(endedAt - startedAt);
  return state === 'running' ? formatDuration(now - startedAt) : '';
};

const dayMs = 86_400_000;

/** The time today, the day before that: `06:41:18`, `12 Nov 06:41`, `12 Nov 2024`. */
export const startedText = (at: number, now: number): string => {
  if (at === 0) return '';
  const [date, today] = [new Date(at), new Date(now)];
  if (date.toDateString() === today.toDateString()) return clockTime(at);
  const day = `${date.getDate()} ${months[date.getMonth()]}`;
  return now - at < 300 * dayMs ? `${day} ${clockTime(at).slice(0, 5)}` : `${day} ${date.getFullYear()}`;
};

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `1 room, 2 crossings`. */
export const roomsText = ({ cells, crossings }: ListedRun): string =>
  [plural(cells, 'room'), ...(crossings === undefined ? [] : [plural(crossings, 'crossing')])].join(', ');

/** As it is read out when it is selected. */
export const describeRow = (row: ListedRun, words: string): string =>
  `${row.agent}, ${words}: ${row.goal}. ${roomsText(row)}${row.refused ? `, ${count(row.refused)} refused` : ''}.`;
