// The workspace's own log: pages that any process may add, each chained to the one before it.
//
//   B1. A page gets its number and its hash inside the transaction that adds it, from the table itself.
//   B2. A page whose writer has not seen the newest one is refused alone; the rest of its batch goes on.
//   B3. A book that has lost its end is not continued as if that had never been.
import { CloisterError, deepFreeze } from '#base';
import type { RunId } from '#base';
import type { WorkspaceEntry, WorkspaceRecord } from '#contracts';
import { noTail, recordHash } from './chain.ts';
import type { FrameRow, Tail } from './chain.ts';
import type { Item, WorkspaceRecordAck } from './messages.ts';

export type WorkspaceLogTable = {
  /** The last page of the book, looked up; undefined when it has none. */
  bookTail(): Tail | undefined;
  /** Adds a page, and sets where the book ends now. */
  page(no: number, body: string, hash: string): void;
};

/** How the book's end is noted among those of runs: no run can have that name. */
export const workspaceLogName = '(book)' as RunId;

type PageItem = Extract<Item, { do: 'page' }>;

export const appendWorkspaceRecord = (
  table: WorkspaceLogTable,
  item: PageItem,
  noted: Tail | undefined,
): WorkspaceRecordAck & { readonly end?: Tail } => {
  const tail = table.bookTail() ?? noTail;
  const { key, at, record, after } = item;
  const lost = noted !== undefined && (noted.no > tail.no || (noted.no === tail.no && noted.hash !== tail.hash));
  if (lost) return { key, refused: 'lost' };
  // probe: page-follows
  if (after !== undefined && after !== tail.no) return { key, refused: 'moved' };
  const no = tail.no + 1;
  const body = workspaceRecordBody(no, at, record);
  const hash = recordHash(tail.hash, body);
  table.page(no, body, hash);
  return { key, no, end: { no, hash } };
};

/** `record` is JSON already. */
export const workspaceRecordBody = (no: number, at: number, record: string): string =>
  `{"no":${no},"at":${at},"record":${record}}`;

export const appendRefusal = (refused: 'moved' | 'lost'): CloisterError =>
  refused === 'moved'
    ? new CloisterError('book_moved')
    : new CloisterError('store_damaged', 'Pages at the end of the book are missing.');

/** Pages that were checked, and where they end. */
export type CheckedWorkspaceLog = { readonly pages: readonly WorkspaceEntry[]; readonly tail: Tail };

export const emptyWorkspaceLog: CheckedWorkspaceLog = { pages: [], tail: noTail };

/**
 * Goes on from what was checked before: `rows` follow it. `end` is where the book ended when it was last written, `noted` are
 * pages that must be there. Throws `store_damaged`, naming the first page that is not what was written.
 */
export const checkWorkspaceLog = (
  rows: Iterable<FrameRow>,
  end: Tail | undefined,
  noted: readonly Tail[] = [],
  before: CheckedWorkspaceLog = emptyWorkspaceLog,
): CheckedWorkspaceLog => {
  const pages = [...before.pages];
  const expected = end === undefined ? noted : [...noted, end];
  let { tail } = before;
  for (const { no, body, hash } of rows) {
    const next = tail.no + 1;
    if (no !== next) throw damaged(`page ${next} of the book is missing`);
    const page = parsePage(body);
    const asNoted = expected.every((one) => one.no !== next || one.hash === hash);
    if (page?.no !== next || hash !== recordHash(tail.hash, String(body)) || !asNoted)
      throw damaged(`page ${next} of the book is not what was written`);
    pages.push(page);
    tail = { no: next, hash: String(hash) };
  }
  if (end !== undefined && end.no < tail.no)
    throw damaged(`the book has page ${tail.no}, but was ended with page ${end.no}`);
  const last = Math.max(end?.no ?? noTail.no, ...noted.map(({ no }) => no));
  if (last > tail.no) throw damaged(`page ${tail.no + 1} of the book is missing`);
  return { pages, tail };
};

const damaged = (detail: string): CloisterError => new CloisterError('store_damaged', detail);

const parsePage = (body: unknown): WorkspaceEntry | undefined => {
  try {
    const parsed = JSON.parse(String(body)) as { no?: unknown; at?: unknown; record?: unknown } | null;
    const fits = typeof parsed?.no === 'number' && typeof parsed.at === 'number' && typeof parsed.record === 'object';
    if (!fits || parsed.record === null) return undefined;
    return deepFreeze({ no: parsed.no as number, at: parsed.at as number, record: parsed.record as WorkspaceRecord });
  } catch {
    return undefined;
  }
};
