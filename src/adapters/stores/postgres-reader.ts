// Reads the log from PostgreSQL, with the same checks as any other store.
import { CloisterError, sha256 } from '#base';
import type { Hash, RunId } from '#base';
import type { LogPage, Signal, WorkspaceEntry } from '#contracts';
import { ChainCheck, noTail } from './chain.ts';
import type { FrameRow, Tail } from './chain.ts';
import type { StoredRow } from './decode-owner.ts';
import { describeTombstone } from './describe-tombstone.ts';
import { parseTombstone, prefixLengthError, unlistedProblem } from './log-reader.ts';
import type { NewerFrames, StoreReader } from './log-reader.ts';
import { listPostgresRuns } from './postgres-list.ts';
import type { PostgresPool } from './postgres-link.ts';
import type { SharedRow, SignalRow } from './messages.ts';
import { parseShared } from './shared-values.ts';
import { parseSignal } from './signals.ts';
import { checkWorkspaceLog, emptyWorkspaceLog } from './workspace-log.ts';
import type { CheckedWorkspaceLog } from './workspace-log.ts';

export const openPostgresReader = (pool: PostgresPool): StoreReader => ({
  pages: (run, pause) => readPages(pool, run, pause),
  list: (query) => listPostgresRuns(pool, query),
  hashPrefix: (run, frames) => hashPrefixOf(pool, run, frames),
  readWorkspaceLog: openWorkspaceLogReader(pool),
  getBlob: (ref) => readBlob(pool, ref),
  async tombstone(run) {
    return parseTombstone(run, await readDeletion(pool, run));
  },
  signals: (run) => readSignals(pool, run),
  async shared(key) {
    const [row] = await rowsOf(pool, 'SELECT value, version FROM shared WHERE key = $1', [JSON.stringify(key)]);
    return parseShared(key, row as SharedRow | undefined);
  },
  newer: (run, from, before) => readNewer(pool, run, { from, before }),
  close: () => pool.close(),
});

const rowsOf = async (pool: PostgresPool, text: string, params: readonly unknown[]): Promise<readonly StoredRow[]> =>
  (await pool.read((client) => client.query<StoredRow>(text, [...params]))).rows;

/** A page ends with whichever comes first: a long log may have many frames, or few with megabytes of text. */
const [pageFrames, pageBytes] = [250, 1_000_000];

export const pageQuery = `
  SELECT no, body, hash FROM (
    SELECT no, body, hash, sum(octet_length(body)) OVER (ORDER BY no) - octet_length(body) AS before
    FROM (SELECT no, body, hash FROM frames WHERE run = $1 AND no >= $2 ORDER BY no LIMIT $3) AS next
  ) AS counted WHERE before < ${pageBytes} ORDER BY no`;

const readChunk = async (
  pool: PostgresPool,
  run: RunId,
  { from, most = pageFrames }: { readonly from: number; readonly most?: number },
): Promise<readonly FrameRow[]> => frameRows(await rowsOf(pool, pageQuery, [run, from, most]));

const frameRows = (rows: readonly StoredRow[]): readonly FrameRow[] =>
  rows.map(({ no, body, hash }) => ({ no, body, hash }));

/** Stored frames do not change, so the log up to the frame that is the last one now can be read in pages. */
async function* readPages(
  pool: PostgresPool,
  run: RunId,
  pause: () => Promise<void>,
): AsyncGenerator<LogPage, void, undefined> {
  const { last, listed } = await readTails(pool, run);
  if (last === undefined && listed === undefined) throw await unknownError(pool, run);
  const check = new ChainCheck(run, []);
  const end = last?.no ?? -Infinity;
  for (let from = -(2 ** 31); from <= end;) {
    const chunk = (await readChunk(pool, run, { from })).filter(({ no }) => Number(no) <= end);
    const next = Number(chunk.at(-1)?.no) + 1;
    // The run was deleted meanwhile.
    if (!(next > from)) throw await unknownError(pool, run);
    for (const row of chunk) check.add(row);
    yield check.take();
    from = next;
    await pause();
  }
  const { frames, problems } = check.finish(listed);
  yield { frames, problems: listed === undefined ? [...problems, unlistedProblem(run)] : problems };
}

/** The last frame, and what the row of the run says it is. Both are from one moment. */
const readTails = async (
  pool: PostgresPool,
  run: RunId,
): Promise<{ readonly last: Tail | undefined; readonly listed: Tail | undefined }> => {
  const rows = await rowsOf(
    pool,
    `(SELECT 'last' AS kind, no, hash FROM frames WHERE run = $1 ORDER BY no DESC LIMIT 1)
     UNION ALL SELECT 'listed', frames - 1, head FROM runs WHERE run = $1 AND frames > 0`,
    [run],
  );
  const tailOf = (kind: string): Tail | undefined => {
    const row = rows.find((one) => one['kind'] === kind);
    return row === undefined ? undefined : { no: Number(row['no']), hash: String(row['hash']) };
  };
  return { last: tailOf('last'), listed: tailOf('listed') };
};

type NewerRange = { readonly from: number; readonly before: Tail | undefined };

/** Whoever begins in the middle hears from the first frame whether this build can read the run. */
const readNewer = async (pool: PostgresPool, run: RunId, { from, before }: NewerRange): Promise<NewerFrames> => {
  if (before === undefined) {
    const [first] = await readChunk(pool, run, { from: 0, most: 1 });
    if (first === undefined) throw await unknownError(pool, run);
    new ChainCheck(run, []).add(first);
  }
  const chunk = await readChunk(pool, run, { from });
  if (chunk.length === 0) {
    // Perhaps it was deleted.
    if ((await readTails(pool, run)).last === undefined) throw await unknownError(pool, run);
    return { frames: [], tail: before };
  }
  const [previous] = before === undefined && from > 0 ? await readChunk(pool, run, { from: from - 1, most: 1 }) : [];
  const check = new ChainCheck(run, [], before ?? tailIn(previous) ?? noTail);
  for (const row of chunk) check.add(row);
  const { frames, problems } = check.take();
  if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
  return { frames, tail: tailIn(chunk.at(-1)) };
};

const tailIn = (row: FrameRow | undefined): Tail | undefined =>
  row === undefined ? undefined : { no: Number(row.no), hash: String(row.hash) };

/** Throws `store_damaged`. */
const unknownError = async (pool: PostgresPool, run: RunId): Promise<CloisterError> => {
  const tombstone = parseTombstone(run, await readDeletion(pool, run));
  return new CloisterError('run_unknown', tombstone === null ? run : describeTombstone(tombstone));
};

const readDeletion = async (pool: PostgresPool, run: RunId): Promise<string | undefined> => {
  const [row] = await rowsOf(pool, 'SELECT body FROM deleted JOIN book USING (no) WHERE run = $1', [run]);
  return row?.['body'] as string | undefined;
};

const hashPrefixOf = async (pool: PostgresPool, run: RunId, frames: number | undefined) => {
  const rows = await rowsOf(
    pool,
    `SELECT no, hash FROM frames WHERE run = $1 AND no = coalesce($2, (SELECT max(no) FROM frames WHERE run = $1))`,
    [run, frames === undefined ? null : frames - 1],
  );
  const [row] = rows;
  if (row !== undefined) return { frames: Number(row['no']) + 1, hash: String(row['hash']) as Hash };
  const { last } = await readTails(pool, run);
  if (last === undefined) throw new CloisterError('run_unknown', run);
  throw prefixLengthError(run, last.no + 1, frames);
};

/** Each record is checked once. */
const openWorkspaceLogReader = (pool: PostgresPool): (() => Promise<readonly WorkspaceEntry[]>) => {
  let checked: CheckedWorkspaceLog = emptyWorkspaceLog;
  const read = async (from: number) => {
    const rows = await rowsOf(
      pool,
      `SELECT no, body, hash, NULL AS stored_end FROM book WHERE no >= $1
       UNION ALL SELECT NULL, NULL, NULL, value FROM meta WHERE key = 'book' ORDER BY no`,
      [from],
    );
    const records = frameRows(rows.filter((row) => row['no'] !== null));
    const end = rows.find((row) => row['no'] === null)?.['stored_end'];
    const [no, hash = ''] = typeof end === 'string' ? end.split(' ') : [];
    return { records, end: no === undefined ? undefined : { no: Number(no), hash } };
  };
  return async () => {
    const before = checked;
    const { records, end } = await read(Math.max(before.tail.no, 0));
    const [last, ...newer] = records;
    const isContinued = before !== emptyWorkspaceLog && last?.no === before.tail.no && last.hash === before.tail.hash;
    if (isContinued) checked = checkWorkspaceLog(newer, end, [], before);
    else if (before === emptyWorkspaceLog) checked = checkWorkspaceLog(records, end);
    else {
      const all = await read(0);
      checked = checkWorkspaceLog(all.records, all.end);
    }
    return checked.entries;
  };
};

const readBlob = async (pool: PostgresPool, ref: string): Promise<Uint8Array> => {
  const [row] = await rowsOf(pool, 'SELECT bytes FROM blobs WHERE ref = $1', [ref]);
  if (row === undefined) throw new CloisterError('file_missing', ref);
  const bytes = new Uint8Array(row['bytes'] as Buffer);
  if (sha256(bytes) !== ref) throw new CloisterError('store_damaged', `blob ${ref} is damaged`);
  return bytes;
};

const readSignals = async (pool: PostgresPool, run: RunId | undefined): Promise<readonly Signal[]> => {
  const [where, params] = run === undefined ? ['', []] : ['WHERE run = $1', [run]];
  const rows = await rowsOf(pool, `SELECT run, id, sender, at, body FROM signals ${where} ORDER BY no`, params);
  return rows.map((row) => parseSignal(decodeSignal(row)));
};

export const decodeSignal = ({ run, id, sender, at, body }: StoredRow): SignalRow => ({
  run: String(run) as RunId,
  id: String(JSON.parse(String(id))),
  by: String(JSON.parse(String(sender))),
  at: Number(at),
  body: String(body),
});
