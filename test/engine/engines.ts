// The engines of this lane, each started once. What cannot be started here is named.
import { startPostgres } from '../../tools/postgres.ts';
import type { PostgresServer } from '../../tools/postgres.ts';
import { startRestate } from '../../tools/restate.ts';
import type { RestateServer } from '../../tools/restate.ts';
import { migratePostgresStore } from '#adapters/stores';
import { openPgBoss, parseRestateAddress, RestateEngine, StoreEngine } from '#adapters/engines';
import type { Cloister, RunEngine } from '#contracts';
import { cleanUpAfter } from '../cleanup.ts';
import { scratchFolder } from '../scratch-folder.ts';
import { startBalancer } from './balancer.ts';

export type LaneEngine = {
  readonly name: string;
  /** The address of an empty store. Absent: each crew has a workspace of its own. */
  newStore?(): Promise<string>;
  /** For one process; `port`: where a worker listens, if it does. */
  open(cloister: Cloister): Promise<RunEngine>;
  /** The value of --engine for a worker. */
  argument(port: number): string;
  /** Kills the engine and starts it again; `wipe`: it has forgotten everything. Absent: it has nothing that can die. */
  restart?(options: { readonly wipe: boolean }): Promise<void>;
};

const clock = {
  now: () => Date.now(),
  timer: (ms: number, due: () => void) => {
    const timer = setTimeout(due, ms);
    return () => clearTimeout(timer);
  },
};

const none = (): LaneEngine => ({
  name: 'none',
  open: async ({ driver }) => new StoreEngine({ driver, clock }),
  argument: () => 'none',
});

/** A server that holds stores and pg-boss's queue; undefined where there can be none. */
const openDatabase = async (): Promise<PostgresServer | string> => {
  const settings = ['fsync=off', 'shared_buffers=64MB'];
  const { server, ...missing } = await startPostgres({ parent: scratchFolder(), settings });
  if (server === null) return 'why' in missing ? missing.why : '';
  cleanUpAfter('file', () => server.remove());
  return server;
};

const onPostgres = (server: PostgresServer): LaneEngine => ({
  ...none(),
  name: 'none, store in PostgreSQL',
  newStore: async () => {
    const url = server.newDatabase();
    await migratePostgresStore(url, { build: 'test' });
    return url;
  },
  restart: async () => {
    await server.stop('immediate');
    await server.start();
  },
});

const pgBoss = (server: PostgresServer): LaneEngine => {
  const database = server.newDatabase();
  return {
    name: 'pg-boss',
    open: () => openPgBoss(database, () => undefined),
    argument: () => `pg-boss:${database}`,
    restart: async ({ wipe }) => {
      if (wipe) server.run('UPDATE pgboss.job SET state = $$cancelled$$ WHERE state < $$completed$$', database);
      await server.stop('immediate');
      await server.start();
    },
  };
};

const restate = async (): Promise<LaneEngine | string> => {
  const server = await startRestate(scratchFolder()).catch(() => null);
  if (server === null) return 'restate: its server could not be installed from npm or started.';
  cleanUpAfter('file', () => server.remove());
  const balancer = await startBalancer();
  cleanUpAfter('file', () => balancer.close());
  const address = `restate://${server.ingress}?admin=${server.adminPort}`;
  const argument = (port: number): string => {
    balancer.add(port);
    return `${address}&listen=127.0.0.1:${port}&reach=http://127.0.0.1:${balancer.port}`;
  };
  return {
    name: 'restate',
    open: async () => new RestateEngine(parseRestateAddress(address)),
    argument,
    restart: ({ wipe }) => restartRestate(server, { wipe, reach: `http://127.0.0.1:${balancer.port}` }),
  };
};

const restartRestate = async (
  server: RestateServer,
  { wipe, reach }: { readonly wipe: boolean; readonly reach: string },
): Promise<void> => {
  await server.kill();
  if (wipe) server.wipe();
  await server.start();
  if (!wipe) return;
  const body = JSON.stringify({ uri: reach, force: true });
  const headers = { 'content-type': 'application/json' };
  await fetch(`http://127.0.0.1:${server.adminPort}/deployments`, { method: 'POST', headers, body });
};

/** Those that can be used here, and why the others cannot. */
export const startEngines = async (): Promise<{
  readonly engines: readonly LaneEngine[];
  readonly missing: readonly string[];
}> => {
  const database = await openDatabase();
  const onDatabase =
    typeof database === 'string' ? [`PostgreSQL: ${database}`] : [onPostgres(database), pgBoss(database)];
  const all = [none(), ...onDatabase, await restate()];
  return {
    engines: all.filter((one) => typeof one !== 'string'),
    missing: all.filter((one) => typeof one === 'string'),
  };
};
