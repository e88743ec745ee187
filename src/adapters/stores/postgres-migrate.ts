// Makes the tables of a store in PostgreSQL, and changes those of an earlier version, on request.
import type { MigrationReport } from '#contracts';
import type { Client } from 'pg';
import { loadPg } from './load-pg.ts';
import { parsePostgresUrl } from './postgres-address.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { postgresError } from './postgres-error.ts';
import { newClient, enterSchema, schemaError } from './postgres-link.ts';
import { schemaSteps, schemaVersion } from './postgres-schema.ts';

export type PostgresMigration = { readonly build: string; readonly password?: string | undefined };

/** In one transaction. Several processes may do it at the same time. Throws `store_schema` if there is no way to this version. */
export const migratePostgres = async (
  url: string,
  { build, password }: PostgresMigration,
): Promise<MigrationReport> => {
  const address = parsePostgresUrl(url, { password });
  const pg = await loadPg();
  const client = newClient({ pg, address });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await migrate(client, address, build);
  } catch (error) {
    throw postgresError(error, address);
  } finally {
    await client.end().catch(() => undefined);
  }
};

const migrate = async (client: Client, address: PostgresAddress, build: string): Promise<MigrationReport> => {
  const { schema } = address;
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock(1668507508, hashtext($1))', [schema]);
  const found = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (found.rows.length === 0) await client.query(`CREATE SCHEMA "${schema}"`);
  await client.query(enterSchema(schema));
  const { from, writtenBy } = await readVersion(client, address);
  const steps = schemaSteps(schema).slice(from);
  for (const step of steps) await client.query(step);
  if (steps.length > 0)
    await client.query(
      `INSERT INTO meta VALUES ('cloister', $1), ('created-by', $2), ('written-by', $2)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE meta.key <> 'created-by'`,
      [String(schemaVersion), build],
    );
  await client.query('COMMIT');
  return { from, to: schemaVersion, writtenBy, copy: null };
};

const readVersion = async (
  client: Client,
  address: PostgresAddress,
): Promise<{ readonly from: number; readonly writtenBy: string | null }> => {
  const tables = await client.query<{ name: string }>(
    'SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace',
  );
  if (tables.rows.length === 0) return { from: 0, writtenBy: null };
  const foreign = schemaError(address, 'has tables of something else. Choose another one with ?schema=<name>.');
  if (!tables.rows.some(({ name }) => name === 'meta')) throw foreign;
  const { rows } = await client.query<{ key: string; value: string }>('SELECT key, value FROM meta');
  const meta = new Map(rows.map(({ key, value }) => [key, value]));
  const version = Number(meta.get('cloister'));
  if (!Number.isInteger(version)) throw foreign;
  if (version > schemaVersion)
    throw schemaError(
      address,
      `has version ${version} of the tables; this build has ${schemaVersion}. Use the build that made it, or a newer one.`,
    );
  return { from: version, writtenBy: meta.get('written-by') ?? null };
};
