// A store in PostgreSQL as the source or the target of a copy.
import type { Client } from 'pg';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { notEmpty } from './copy-store.ts';
import type { CopySource, CopyTarget } from './copy-store.ts';
import type { StoredRow } from './decode-owner.ts';
import { loadPg } from './load-pg.ts';
import { parsePostgresUrl } from './postgres-address.ts';
import { insertDeleted, insertFrames, insertRecord, insertRunRow } from './postgres-changes.ts';
import { postgresError } from './postgres-error.ts';
import { newClient, prepareClient } from './postgres-link.ts';
import { decodeSignal, pageQuery } from './postgres-reader.ts';

type Place = { readonly url: string; readonly password: string | undefined };

const connect = async ({ url, password }: Place): Promise<{ readonly client: Client; readonly shown: string }> => {
  const ports = { pg: await loadPg(), address: parsePostgresUrl(url, { password }) };
  const client = newClient(ports);
  client.on('error', () => undefined);
  try {
    await client.connect();
    await prepareClient(client, ports);
    return { client, shown: ports.address.shown };
  } catch (error) {
    await client.end().catch(() => undefined);
    throw postgresError(error, ports.address);
  }
};

export const openPostgresSource = async (place: Place): Promise<CopySource> => {
  const { client } = await connect(place);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const rowsOf = async <R extends object>(text: string, values: unknown[] = []): Promise<readonly R[]> =>
    (await client.query<R>(text, values)).rows;
  return {
    async workspaceLog() {
      const rows = await rowsOf<{ no: number; body: string; hash: string }>(
        'SELECT no, body, hash FROM book ORDER BY no',
      );
      const [end] = await rowsOf<{ value: string }>(`SELECT value FROM meta WHERE key = 'book'`);
      const [no, hash = ''] = end?.value.split(' ') ?? [];
      return { rows, end: no === undefined ? undefined : { no: Number(no), hash } };
    },
    acknowledged: () => [],
    deleted: () => rowsOf('SELECT run, deleted.no, pending FROM deleted JOIN book USING (no) ORDER BY no'),
    async runs() {
      const rows = await rowsOf<Tail & { run: RunId; lives: boolean; place: number | null }>(
        `SELECT run, frames - 1 AS no, head AS hash, place, ended_at IS NULL AND is_live(lapses_at, lease_ms) AS lives
         FROM runs LEFT JOIN instances ON instance = owner WHERE frames > 0 ORDER BY place, run`,
      );
      const lost = await rowsOf<{ run: RunId }>(
        'SELECT DISTINCT run FROM frames WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = frames.run)',
      );
      return {
        ends: new Map(rows.map(({ run, no, hash }) => [run, { no, hash }])),
        unlisted: [...lost, ...rows.filter(({ place: at }) => at === null)].map(({ run }) => run),
        live: rows.filter(({ lives }) => lives).map(({ run }) => run),
      };
    },
    async *frames(run) {
      for (let from = 0; ;) {
        const rows = await rowsOf<{ no: number; body: string; hash: string }>(pageQuery, [run, from, 250]);
        if (rows.length === 0) return;
        yield rows;
        from = rows.at(-1)!.no + 1;
      }
    },
    async *blobs() {
      for (let after = ''; ;) {
        const [row] = await rowsOf<{ ref: string; bytes: Buffer }>(
          'SELECT ref, bytes FROM blobs WHERE ref > $1 ORDER BY ref LIMIT 1',
          [after],
        );
        if (row === undefined) return;
        yield row;
        after = row.ref;
      }
    },
    signals: async () =>
      (await rowsOf<StoredRow>('SELECT run, id, sender, at, body FROM signals ORDER BY no')).map(decodeSignal),
    close: () => client.end(),
  };
};

export const openPostgresTarget = async (place: Place): Promise<CopyTarget> => {
  const { client, shown } = await connect(place);
  return {
    async begin() {
      await client.query('BEGIN');
      const tables = ['runs', 'frames', 'blobs', 'book', 'deleted', 'signals'];
      await client.query(`LOCK TABLE ${tables.join(', ')} IN EXCLUSIVE MODE`);
      const found = tables.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ');
      const { rows } = await client.query<{ used: boolean }>(`SELECT ${found} AS used`);
      if (rows[0]?.used !== false) throw notEmpty(shown);
    },
    addRecord: (record) => insertRecord(client, record),
    addDeleted: (deleted) => insertDeleted(client, deleted),
    addFrames: (run, frames) => insertFrames(client, run, { frames, from: frames[0]?.no ?? 0 }),
    addRun: (run, facts, tail) => insertRunRow(client, run, { facts, tail }),
    async addBlob(ref, bytes) {
      await client.query('INSERT INTO blobs VALUES ($1, $2)', [ref, Buffer.from(bytes)]);
    },
    async addSignal({ run, id, by, at, body }) {
      await client.query('INSERT INTO signals(run, id, sender, at, body) VALUES ($1, $2, $3, $4, $5)', [
        run,
        JSON.stringify(id),
        JSON.stringify(by),
        at,
        body,
      ]);
    },
    async ends() {
      const { rows } = await client.query<Tail & { run: RunId }>(
        'SELECT DISTINCT ON (run) run, no, hash FROM frames ORDER BY run, no DESC',
      );
      return new Map(rows.map(({ run, no, hash }) => [run, { no, hash }]));
    },
    async commit() {
      await client.query('COMMIT');
      await client.query('ANALYZE runs, frames').catch(() => undefined);
    },
    close: () => client.end(),
  };
};
