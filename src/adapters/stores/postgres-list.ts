// The list of runs in PostgreSQL: which rows a query asks for.
import type { RunId } from '#base';
import type { RunQuery, RunSummary } from '#contracts';
import type { FrameRow } from './chain.ts';
import type { StoredRow } from './decode-owner.ts';
import { damagedSummary, summariseRows } from './list-runs.ts';
import type { RunRow } from './log-rows.ts';
import { describeOwner } from './processes.ts';
import type { Owners } from './processes.ts';
import type { PostgresPool } from './postgres-link.ts';
import { decodeRunRow } from './run-row.ts';

/** Newest first. */
export const listPostgresRuns = async (pool: PostgresPool, query: RunQuery = {}): Promise<readonly RunSummary[]> => {
  const { where, params } = whereClause(query);
  const rows = await pool.read(async (client) => (await client.query<StoredRow>(listQuery(where), [...params])).rows);
  const listed = summariseRows(rows.map(decodeListed), owners);
  return [...(await readLostRuns(pool, query)), ...listed];
};

/** Runs that have frames and are not in the list, because somebody has changed the tables: of those that are named. */
const readLostRuns = async (pool: PostgresPool, query: RunQuery): Promise<readonly RunSummary[]> => {
  if (!('runs' in query) || query.runs.length === 0) return [];
  const { rows } = await pool.read((client) =>
    client.query<FrameRow & { readonly run: RunId }>(lostQuery, [query.runs]),
  );
  return rows.map(({ run, ...first }) => damagedSummary(run, first));
};

const lostQuery = `
  SELECT run, no, body, hash FROM frames WHERE run = ANY ($1) AND no = 0
    AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = frames.run AND place IS NOT NULL)`;

/** A row names only owners whose lease has not lapsed. */
const owners: Owners = { isAlive: () => true, describe: describeOwner };

const listQuery = ({ conditions, most }: Where): string => `
  SELECT runs.*, instances.*, last.no AS last_no, last.hash AS last_hash, is_live(lapses_at, lease_ms) AS lives
  FROM runs LEFT JOIN instances ON instance = owner
  LEFT JOIN LATERAL (SELECT no, hash FROM frames WHERE frames.run = runs.run ORDER BY no DESC LIMIT 1) AS last ON true
  WHERE ${['place IS NOT NULL', ...conditions].join(' AND ')}
  ORDER BY place DESC, runs.run DESC ${most}`;

type Where = { readonly conditions: readonly string[]; readonly most: string };

/** Each condition has an index, except `since` without a caller. */
const whereClause = (query: RunQuery): { readonly where: Where; readonly params: readonly unknown[] } => {
  const params: unknown[] = [];
  const param = (value: unknown): string => `$${params.push(value)}`;
  if ('runs' in query) return { where: { conditions: [`runs.run = ANY (${param(query.runs)})`], most: '' }, params };
  const { caller, since, prefix, open, before, most } = query;
  const conditions: string[] = [];
  if (caller !== undefined) conditions.push(`caller = ${param(JSON.stringify(caller))}`);
  if (since !== undefined) conditions.push(`started_at >= ${param(since)}`);
  if (open !== undefined) conditions.push('ended_at IS NULL');
  if (before !== undefined) conditions.push(`place < (SELECT place FROM runs WHERE run = ${param(before)})`);
  if (prefix !== undefined) {
    // Bounded here, so that a short prefix does not sort what it is not asked for.
    const some = most === undefined ? '' : `LIMIT ${param(most)}`;
    conditions.push(
      `runs.run IN (SELECT run FROM runs WHERE run >= ${param(prefix)} AND run < ${param(idAfter(prefix))} ORDER BY run ${some})`,
    );
  }
  return { where: { conditions, most: most === undefined ? '' : `LIMIT ${param(most)}` }, params };
};

/** After every id that begins with this. */
const idAfter = (prefix: string): string => `${prefix}\u{10FFFF}`;

const decodeListed = (row: StoredRow): RunRow => {
  const { frames, head, last_no: no, last_hash: hash, lives } = row;
  const texts = Object.fromEntries(
    ['agent', 'goal', 'caller', 'build'].map((name) => [name, parseText(row[name])] as const),
  );
  return {
    ...decodeRunRow({ ...row, ...texts, pid: lives === true ? row['pid'] : null }),
    tails: {
      listed: { no: Number(frames) - 1, hash: String(head) },
      last: typeof no === 'number' ? { no, hash: String(hash) } : undefined,
    },
  };
};

const parseText = (json: unknown): unknown => {
  try {
    return typeof json === 'string' ? JSON.parse(json) : null;
  } catch {
    return null;
  }
};
