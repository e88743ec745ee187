// The workspace log: records that any process may append, each chained to the one before it.
//
//   workspace-record-numbered-in-transaction. A record gets its number and hash inside the transaction that appends it, from
//       the table itself.
//   workspace-record-stale-refused. A record whose writer has not seen the newest one is refused; the rest of its batch is
//       written.
//   workspace-log-lost-end. A log that has lost its end is not continued as if the lost records had never existed.
import { CloisterError, deepFreeze } from '#base';
import type { RunId } from '#base';
import type { WorkspaceEntry } from '#contracts';
import { noTail, recordHash } from './chain.ts';
import type { FrameRow, Tail } from './chain.ts';
import { decodeWorkspaceEntry } from './decode-record.ts';
import type { Item, WorkspaceRecordAck } from './messages.ts';

export type WorkspaceLogTable = {
  /** The last record of the log, read from the table; undefined when the log is empty. */
  workspaceLogTail(): Tail | undefined;
  /** Inserts a record and stores the new end of the log. */
  insertRecord(no: number, body: string, hash: string): void;
};

/** The name of the workspace log among the runs in heads files. No run can have this name. */
export const workspaceLogName = '(book)' as RunId;

type RecordItem = Extract<Item, { do: 'record' }>;

export const appendWorkspaceRecord = (
  table: WorkspaceLogTable,
  item: RecordItem,
  acknowledged: Tail | undefined,
): WorkspaceRecordAck & { readonly end?: Tail } => {
  const tail = table.workspaceLogTail() ?? noTail;
  const { key, at, record, after } = item;
  const lost =
    acknowledged !== undefined &&
    (acknowledged.no > tail.no || (acknowledged.no === tail.no && acknowledged.hash !== tail.hash));
  if (lost) return { key, refused: 'lost' };
  // probe: page-follows
  if (after !== undefined && after !== tail.no) return { key, refused: 'moved' };
  const no = tail.no + 1;
  const body = workspaceRecordBody(no, at, record);
  const hash = recordHash(tail.hash, body);
  table.insertRecord(no, body, hash);
  return { key, no, end: { no, hash } };
};

/** `record` is already JSON. */
export const workspaceRecordBody = (no: number, at: number, record: string): string =>
  `{"no":${no},"at":${at},"record":${record}}`;

export const appendRefusal = (refused: 'moved' | 'lost'): CloisterError =>
  refused === 'moved'
    ? new CloisterError('book_moved')
    : new CloisterError('store_damaged', 'The workspace log is missing records at its end.');

/** Checked entries, and where they end. */
export type CheckedWorkspaceLog = { readonly entries: readonly WorkspaceEntry[]; readonly tail: Tail };

export const emptyWorkspaceLog: CheckedWorkspaceLog = { entries: [], tail: noTail };

/**
 * Continues from what was checked `before`; `rows` follow it. `end` is the end stored with the last write, `acknowledged` are
 * records that must be there. Throws `store_damaged` with the number of the first damaged or missing record.
 */
export const checkWorkspaceLog = (
  rows: Iterable<FrameRow>,
  end: Tail | undefined,
  acknowledged: readonly Tail[] = [],
  before: CheckedWorkspaceLog = emptyWorkspaceLog,
): CheckedWorkspaceLog => {
  const entries = [...before.entries];
  const expected = end === undefined ? acknowledged : [...acknowledged, end];
  let { tail } = before;
  for (const { no, body, hash } of rows) {
    const next = tail.no + 1;
    if (no !== next) throw damagedError(`record ${next} of the workspace log is missing`);
    const entry = decodeWorkspaceEntry(body);
    const matchesAcknowledged = expected.every((one) => one.no !== next || one.hash === hash);
    if (entry?.no !== next || hash !== recordHash(tail.hash, String(body)) || !matchesAcknowledged)
      throw damagedError(`record ${next} of the workspace log is damaged`);
    entries.push(deepFreeze(entry));
    tail = { no: next, hash: String(hash) };
  }
  if (end !== undefined && end.no < tail.no)
    throw damagedError(`the workspace log has record ${tail.no}, but its recorded end is record ${end.no}`);
  const last = Math.max(end?.no ?? noTail.no, ...acknowledged.map(({ no }) => no));
  if (last > tail.no) throw damagedError(`record ${tail.no + 1} of the workspace log is missing`);
  return { entries, tail };
};

const damagedError = (detail: string): CloisterError => new CloisterError('store_damaged', detail);
