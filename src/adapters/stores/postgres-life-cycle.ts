// What a store in PostgreSQL does about whole runs besides its log.
// Deleted rows are left to VACUUM, which is asked for when a deletion is finished; copies in the log of the database go with it.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isName } from '#base';
import type { RunId } from '#base';
import type { Leftover, SpaceReport } from '#contracts';
import type { Client } from 'pg';
import type { LifeCyclePorts } from './life-cycle.ts';
import { blobNames } from './postgres-changes.ts';
import type { PostgresPool } from './postgres-link.ts';

export const postgresLifeCycle = (pool: PostgresPool, folder: string | null): LifeCyclePorts => {
  const column = async (text: string, params: readonly unknown[] = []): Promise<readonly string[]> =>
    (await pool.read((client) => client.query<{ value: unknown }>({ text, values: [...params] }))).rows.map(
      ({ value }) => String(value),
    );
  return {
    async pending() {
      const query = 'SELECT run, pending FROM deleted WHERE pending IS NOT NULL ORDER BY no';
      return (await pool.read((client) => client.query<{ run: RunId; pending: string }>(query))).rows;
    },
    finish: (runs, compact) => pool.read((client) => finishDeletions(client, { runs, compact, folder })),
    forkBodies: () => column('SELECT body AS value FROM forks JOIN frames USING (run, no)'),
    async runBytes() {
      const query = 'SELECT run, sum(octet_length(body)) AS bytes FROM frames GROUP BY run';
      const { rows } = await pool.read((client) => client.query<{ run: RunId; bytes: unknown }>(query));
      return new Map(rows.map(({ run, bytes }) => [run, Number(bytes)]));
    },
    async strayFolders() {
      const names = folder === null ? [] : listFolder(join(folder, 'runs'));
      if (names.length === 0) return [];
      const known = await column(
        `SELECT run AS value FROM runs WHERE run = ANY ($1)
         UNION SELECT run FROM deleted WHERE run = ANY ($1) AND pending IS NOT NULL`,
        [names],
      );
      return names.filter((name) => !known.includes(name));
    },
    leftovers: () => pool.read(findLeftovers),
  };
};

const listFolder = (path: string): readonly string[] => {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
};

type Finishing = { readonly runs: readonly RunId[]; readonly compact: boolean; readonly folder: string | null };

const finishDeletions = async (client: Client, { runs, compact, folder }: Finishing): Promise<SpaceReport> => {
  const { rows } = await client.query<{ run: RunId }>('SELECT run FROM deleted WHERE run = ANY ($1)', [runs]);
  for (const { run } of rows)
    if (folder !== null && isName(run)) rmSync(join(folder, 'runs', run), { recursive: true, force: true });
  const blobs = await removeLooseBlobs(client);
  const bytesBefore = await bytesOfTables(client);
  if (rows.length + blobs > 0 || compact) {
    const how = compact ? 'VACUUM (FULL)' : 'VACUUM';
    // Only the owner of a table may; otherwise the server does it in its own time.
    for (const table of ['frames', 'runs', 'blobs', 'signals'])
      await client.query(`${how} ${table}`).catch(() => undefined);
  }
  await client.query('UPDATE deleted SET pending = NULL WHERE run = ANY ($1)', [rows.map(({ run }) => run)]);
  return { bytesBefore, bytesAfter: await bytesOfTables(client), blobs, isFinished: true };
};

const bytesOfTables = async (client: Client): Promise<number> => {
  const query = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
    FROM pg_class AS c WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`;
  const [row] = (await client.query<{ bytes: number }>(query)).rows;
  return row?.bytes ?? 0;
};

const usedBlobs = (from: string): string =>
  `SELECT DISTINCT name[1] AS ref FROM (${from}) AS read, ${blobNames} AS name
   WHERE EXISTS (SELECT 1 FROM loose_blobs WHERE ref = name[1])`;

/** Two passes: a long one while others write, and a short one over what they wrote meanwhile. */
const removeLooseBlobs = async (client: Client): Promise<number> => {
  if ((await client.query('SELECT 1 FROM loose_blobs LIMIT 1')).rows.length === 0) return 0;
  await client.query('CREATE TEMP TABLE seen AS SELECT run, frames FROM runs; ANALYZE seen');
  try {
    await client.query(`CREATE TEMP TABLE used AS ${usedBlobs('SELECT body FROM frames')}`);
    await client.query('BEGIN');
    await client.query('LOCK TABLE runs IN SHARE MODE');
    await client.query(`INSERT INTO used ${usedBlobs(newFrames)}`);
    const { rowCount } = await client.query(
      `DELETE FROM blobs USING loose_blobs AS loose
       WHERE blobs.ref = loose.ref AND NOT EXISTS (SELECT 1 FROM used WHERE used.ref = loose.ref)`,
    );
    await client.query('DELETE FROM loose_blobs');
    await client.query('COMMIT');
    return rowCount ?? 0;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    await client.query('DROP TABLE IF EXISTS seen, used').catch(() => undefined);
  }
};

const newFrames = `
  SELECT body FROM runs JOIN frames USING (run) LEFT JOIN seen USING (run)
  WHERE runs.frames > coalesce(seen.frames, 0) AND no >= coalesce(seen.frames, 0)`;

/** Rows that belong to no run: processes that died leave some. */
const findLeftovers = async (client: Client): Promise<readonly Leftover[]> => {
  const { rows } = await client.query<{ kind: Leftover['kind']; name: string }>(`
    SELECT 'owner' AS kind, run AS name FROM runs LEFT JOIN instances ON instance = owner
      WHERE frames = 0 AND NOT is_live(lapses_at, lease_ms)
    UNION ALL SELECT DISTINCT 'signals', run FROM signals
      WHERE NOT EXISTS (SELECT 1 FROM frames WHERE frames.run = signals.run)
    UNION ALL (SELECT 'blob', ref FROM blobs EXCEPT
      SELECT 'blob', name[1] FROM (SELECT body FROM frames UNION ALL SELECT body FROM book UNION ALL SELECT body FROM signals) AS read,
        ${blobNames} AS name)`);
  return rows;
};
