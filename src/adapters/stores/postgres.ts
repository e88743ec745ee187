// The store in PostgreSQL: one schema, shared by any number of processes of any number of machines.
import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { Client } from 'pg';
import type { RunId } from '#base';
import type { Frame, Store } from '#contracts';
import type { Tail } from './chain.ts';
import { FrameFollowers } from './frame-followers.ts';
import type { LeasePorts } from './lease-keeper.ts';
import { leaseMs } from './lease.ts';
import type { LeaseAnswer } from './lease.ts';
import { loadPg } from './load-pg.ts';
import { openLogStore } from './log-store.ts';
import type { LogStore } from './log-store.ts';
import { parsePostgresUrl } from './postgres-address.ts';
import { PostgresChannel } from './postgres-channel.ts';
import { isOutage, postgresError } from './postgres-error.ts';
import { postgresLifeCycle } from './postgres-life-cycle.ts';
import { openPool, PostgresLink, prepareClient } from './postgres-link.ts';
import type { PostgresPool, PostgresPorts } from './postgres-link.ts';
import { openPostgresReader } from './postgres-reader.ts';
import { channelOf } from './postgres-schema.ts';
import { startPostgresWriter } from './postgres-writer.ts';
import { thisProcess } from './processes.ts';
import type { RunOwner } from './processes.ts';
import { openSteadyClock } from './steady-clock.ts';
import type { ThreadListener } from './writer.ts';

export type PostgresOptions = {
  /** Comes before the one in the address. */
  readonly password?: string | undefined;
  /** The folder for what is on this machine: files of agents, exports, archives. Null: there is none. */
  readonly folder?: string | null;
  /** Clock for records of the workspace log. */
  readonly now?: () => number;
  /** Steady milliseconds, and timers of the lease; for tests. */
  readonly steadyNow?: () => number;
  readonly timer?: LeasePorts['timer'];
  /** How long to try again while the database is away; then runs fail. */
  readonly patienceMs?: number;
};

/** Throws `store_unreachable`, `store_schema` or `store_failed` if it cannot be used. */
export const createPostgresStore = async (url: string, options: PostgresOptions = {}): Promise<LogStore> => {
  const { now = Date.now, password } = options;
  const folder = options.folder === undefined || options.folder === null ? null : resolve(options.folder);
  const instance = randomUUID();
  const ports = { pg: await loadPg(), address: parsePostgresUrl(url, { password }), instance };
  const pool = openPool(ports);
  await pool.check();
  const writing = openWriting(ports, pool, options);
  const { channel } = writing;
  const follows = openFollows(pool, channel);
  const reader = {
    ...openPostgresReader(pool),
    close() {
      follows.close();
      return writing.close();
    },
  };
  const store = openLogStore({
    kind: 'postgres',
    path: folder,
    reader,
    startThread: (listener) => writing.startThread(listener),
    defer: setImmediate,
    later: (work) => void setTimeout(work, releaseRetryMs).unref(),
    now,
    rebuild: async (run, request) =>
      (await import('./postgres-rebuild.ts')).rebuildPostgres({ pool, reader, folder }, run, request),
    lifeCycle: postgresLifeCycle(pool, folder),
    watchSignals: (notify) => channel.watchSignals(notify),
    watchFrames: () => () => undefined,
    live: {
      isFollowed: (run) => channel.isFollowed('live', run),
      publish: (run, piece) => channel.publish(run, piece),
      subscribe: (run, listener) => channel.follow('live', run, (piece) => piece !== null && listener(piece)),
    },
    instance,
    isLive: (other) => isLive(pool, other),
    lease: writing.lease,
  });
  let isWritable = false;
  const acquireRun: Store['acquireRun'] = async (...args) => {
    if (!isWritable) await writing.checkWritable();
    isWritable = true;
    return store.acquireRun(...args);
  };
  return { ...store, acquireRun, follow: follows.follow };
};

/** Each run that is followed is watched by itself, so that nobody is told of others. */
const openFollows = (pool: PostgresPool, channel: PostgresChannel) => {
  const all = new Set<FrameFollowers>();
  const reader = openPostgresReader(pool);
  const openRead = (run: RunId, from: number) => {
    let [tail, next]: [Tail | undefined, number] = [undefined, from];
    return async (): Promise<readonly Frame[]> => {
      const found = await reader.newer(run, next, tail);
      tail = found.tail;
      next += found.frames.length;
      return found.frames;
    };
  };
  const follow: Store['follow'] = (run, from) => {
    const followers: FrameFollowers = new FrameFollowers((notify) => {
      const stop = channel.follow('frames', run, () => notify(run));
      // Whoever hears nothing looks by itself.
      const looking = setInterval(() => notify(run), lookMs);
      all.add(followers);
      return () => {
        stop();
        clearInterval(looking);
        all.delete(followers);
      };
    }, openRead);
    return followers.follow(run, from);
  };
  return { follow, close: () => all.forEach((one) => one.close()) };
};

/** A process without a lease has never owned a run or has gone: it is there while it has a connection. */
const isLive = async (pool: PostgresPool, instance: string): Promise<boolean> => {
  const { rows } = await pool.read((client) =>
    client.query<{ lives: boolean }>(
      `SELECT coalesce((SELECT is_live(lapses_at, lease_ms) FROM instances WHERE instance = $1),
         EXISTS (SELECT 1 FROM pg_stat_activity WHERE application_name = $2)) AS lives`,
      [instance, `cloister ${instance}`],
    ),
  );
  return rows[0]?.lives === true;
};

/** Until a run whose release could not be written is released again. */
const releaseRetryMs = 250;

const [answerMs, closeMs, lookMs] = [2_000, 3_000, 1_000];

/** One connection writes batches; another one, which never waits for them, renews the lease, and sends and hears messages. */
const openWriting = (ports: Required<PostgresPorts>, pool: PostgresPool, options: PostgresOptions) => {
  const { patienceMs = 60_000, steadyNow = openSteadyClock() } = options;
  const { address, instance } = ports;
  const self: RunOwner = { ...thisProcess(), since: Date.now(), instance };
  const writing = new PostgresLink(ports, (client) => prepareClient(client, ports));
  const control = new PostgresLink(
    ports,
    async (client) => {
      await prepareClient(client, ports);
      client.on('notification', ({ payload = '' }) => channel.receive(payload));
      await client.query(`LISTEN ${channelOf(address.schema)}`);
    },
    () => channel.reconnect(),
  );
  const channel = new PostgresChannel({
    instance: self.instance,
    now: steadyNow,
    hasSignals: async () =>
      (await pool.read((client) => client.query('SELECT 1 FROM signals LIMIT 1'))).rows.length > 0,
    send: (messages) => control.run((client) => notifyAll(client, channelOf(address.schema), messages), answerMs),
  });
  const release = async (): Promise<void> => {
    await writing
      .run((client) => client.query('SELECT close_instance($1)', [self.instance]), closeMs)
      .catch(() => undefined);
    await writing.close();
  };
  const writer = {
    link: writing,
    address,
    self,
    patienceMs,
    onCommit: (tails: ReadonlyMap<RunId, unknown>) => channel.tellFrames(tails.keys()),
    close: release,
  };
  const lease: LeasePorts = {
    now: steadyNow,
    timer: options.timer ?? systemTimer,
    renew: () => renewLease(control, self),
  };
  return {
    lease,
    channel,
    startThread: (listener: ThreadListener) => startPostgresWriter(writer, listener),
    /** A lease that cannot be had is waited for; one that never can is said. */
    async checkWritable() {
      try {
        await renewLease(control, self);
      } catch (error) {
        if (!isOutage(error)) throw postgresError(error, address);
      }
    },
    /** What reads and hears; what writes ends with its thread, after the last batch. */
    async close() {
      channel.close();
      await pool.close();
      await control.close();
    },
  };
};

const systemTimer: LeasePorts['timer'] = (ms, due) => {
  const timer = setTimeout(due, ms).unref();
  return () => clearTimeout(timer);
};

const notifyAll = async (client: Client, channel: string, messages: readonly string[]): Promise<void> => {
  if (messages.length > 0)
    await client.query('SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message', [channel, messages]);
};

const renewLease = async (link: PostgresLink, self: RunOwner): Promise<LeaseAnswer> => {
  const { instance, pid, host, started, since } = self;
  const values = [instance, pid, host, started, since, leaseMs];
  const text = 'SELECT renew_lease(ROW($1, $2, $3, $4, $5, $6, now(), 0)::instances) AS lapses';
  const { rows } = await link.run((client) => client.query<LeaseAnswer>({ name: 'renew', text, values }), answerMs);
  return { lapses: rows[0]?.lapses ?? 0 };
};

/** Throws if nothing could be written. */
export const probePostgresWritable = async (url: string, password: string | undefined): Promise<void> => {
  const ports = { pg: await loadPg(), address: parsePostgresUrl(url, { password }) };
  const link = new PostgresLink(ports, (client) => prepareClient(client, ports));
  try {
    await link.run((client) => client.query("UPDATE meta SET value = value WHERE key = 'written-by'"), answerMs);
  } catch (error) {
    throw postgresError(error, ports.address);
  } finally {
    await link.close();
  }
};
