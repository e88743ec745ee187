// Connections to PostgreSQL: opened when they are needed, and opened again when they broke.
//
//   link-checks-schema. Nothing is read or written before the tables are known to be ours, of this version, and durable when they say so.
//
// A connection keeps the process alive while it is asked something, and no longer.
import type { Socket } from 'node:net';
import type { Client, ClientConfig } from 'pg';
import { CloisterError } from '#base';
import type { Pg } from './load-pg.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { isConflict, isOutage, postgresError } from './postgres-error.ts';
import { schemaVersion } from './postgres-schema.ts';

export type PostgresPorts = {
  readonly pg: Pg;
  readonly address: PostgresAddress;
  /** This process, which others know by its connections. */
  readonly instance?: string;
};

const connectMs = 5_000;

/** Numbers of the database fit in ours. */
const bigintType = 20;

/** Not connected yet. */
export const newClient = ({ pg, address, instance = '' }: PostgresPorts): Client => {
  const client = new pg(clientConfig(address, instance));
  client.setTypeParser(bigintType, Number);
  return client;
};

const clientConfig = (
  { host, port, user, database, password, tls }: PostgresAddress,
  instance: string,
): ClientConfig => {
  return {
    host,
    port,
    user,
    database,
    // Asked for only if the server wants one. Without it the driver would look in files and variables of the user.
    password: () => password ?? '',
    ssl:
      tls === null
        ? false
        : { rejectUnauthorized: tls.verify, ...(tls.ca === undefined ? {} : { ca: tls.ca }), servername: host },
    application_name: `cloister ${instance}`,
    keepAlive: true,
    connectionTimeoutMillis: connectMs,
  };
};

/** `schema` has been checked. */
export const enterSchema = (schema: string): string => `SET search_path = "${schema}"`;

/** Throws `store_schema`, or `store_failed` if what is committed could get lost. */
export const prepareClient = async (client: Client, { address }: PostgresPorts): Promise<void> => {
  try {
    await client.query(enterSchema(address.schema));
    const { rows } = await client.query<{ version: string; sync: string }>(
      `SELECT value AS version, current_setting('synchronous_commit') AS sync FROM meta WHERE key = 'cloister'`,
    );
    const [row] = rows;
    if (row === undefined) throw schemaError(address, 'is not one of Cloister.');
    checkVersion(address, row.version);
    if (row.sync === 'off')
      throw new CloisterError(
        'store_failed',
        `${address.shown}: synchronous_commit is off, so what was recorded could get lost. Set it to on for this user or database.`,
      );
  } catch (error) {
    if ((error as { code?: string }).code === '42P01')
      throw schemaError(address, 'has no tables of Cloister. Make them with `cloister store migrate`.');
    throw error;
  }
};

const checkVersion = (address: PostgresAddress, version: string): void => {
  if (version === String(schemaVersion)) return;
  const how =
    Number(version) > schemaVersion
      ? 'Use the build that made it, or a newer one.'
      : version === 'copying'
        ? 'A copy into it was not finished. Repeat `cloister store copy`.'
        : 'Migrate it with `cloister store migrate`.';
  throw schemaError(address, `has version ${version} of the tables; this build has ${schemaVersion}. ${how}`);
};

export const schemaError = ({ shown, schema }: PostgresAddress, problem: string): CloisterError =>
  new CloisterError('store_schema', `${shown}: schema ${schema} ${problem}`);

/** One connection, for one thing after another. */
export class PostgresLink {
  readonly #ports: PostgresPorts;
  /** Called with each new connection before it is used. */
  readonly #prepare: (client: Client) => Promise<void>;
  readonly #onBreak: () => void;
  #client: Client | undefined;
  #opening: Promise<Client> | undefined;
  #running = 0;
  #isClosed = false;

  constructor(ports: PostgresPorts, prepare: (client: Client) => Promise<void>, onBreak = (): void => undefined) {
    this.#ports = ports;
    this.#prepare = prepare;
    this.#onBreak = onBreak;
  }

  /** Rejects with what the driver throws. If there is no answer in time, nobody knows whether the work was done. */
  async run<T>(work: (client: Client) => Promise<T>, timeoutMs: number): Promise<T> {
    if (this.#isClosed) throw new CloisterError('store_failed', 'The store is closed.');
    this.#running++;
    let client: Client | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      client = await (this.#opening ??= this.#open());
      socketOf(client).ref();
      const late = Promise.withResolvers<never>();
      timer = setTimeout(() => late.reject(new Error('timeout exceeded: the server does not answer')), timeoutMs);
      return await Promise.race([work(client), late.promise]);
    } catch (error) {
      if (isOutage(error)) this.#drop(client);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#running--;
      if (this.#running === 0 && this.#client !== undefined) socketOf(this.#client).unref();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    if (client === undefined) return;
    // Whoever waits for this must not be left by a process that has nothing else to do.
    socketOf(client).ref();
    await client.end().catch(() => undefined);
  }

  async #open(): Promise<Client> {
    const client = newClient(this.#ports);
    client.on('error', () => this.#drop(client));
    client.on('end', () => this.#drop(client));
    try {
      await client.connect();
      await this.#prepare(client);
      this.#client = client;
      return client;
    } catch (error) {
      this.#opening = undefined;
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  #drop(client: Client | undefined): void {
    if (client === undefined || client !== this.#client) return;
    this.#client = undefined;
    this.#opening = undefined;
    // Not ended politely: a server that does not answer would not answer that either.
    socketOf(client).destroy();
    if (!this.#isClosed) this.#onBreak();
  }
}

const socketOf = (client: Client): Socket =>
  (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;

export type PostgresPool = {
  /** Reads with a connection of its own, again for a while if the server is away. Rejects with errors of the catalogue. */
  read<T>(work: (client: Client) => Promise<T>): Promise<T>;
  /** Once, without patience: whoever mistyped an address should not wait. */
  check(): Promise<void>;
  close(): Promise<void>;
};

export const openPool = (ports: PostgresPorts): PostgresPool => {
  const links: PostgresLink[] = [];
  const free: PostgresLink[] = [];
  const waiting: ((link: PostgresLink) => void)[] = [];
  const take = async (): Promise<PostgresLink> => {
    const link = free.pop();
    if (link !== undefined) return link;
    if (links.length === ports.address.readers) return new Promise((resolve) => void waiting.push(resolve));
    const added = new PostgresLink(ports, (client) => prepareClient(client, ports));
    links.push(added);
    return added;
  };
  const give = (link: PostgresLink): void => {
    const next = waiting.shift();
    if (next === undefined) free.push(link);
    else next(link);
  };
  const readOnce = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const link = await take();
    try {
      return await link.run(work, answerMs);
    } finally {
      give(link);
    }
  };
  return {
    async read(work) {
      try {
        return await patiently(() => readOnce(work), readPatienceMs);
      } catch (error) {
        throw postgresError(error, ports.address, 'store_unreadable');
      }
    },
    async check() {
      try {
        await readOnce(async () => undefined);
      } catch (error) {
        throw postgresError(error, ports.address);
      }
    },
    async close() {
      await Promise.all(links.map((link) => link.close()));
    },
  };
};

/** Some reads look at everything. */
const answerMs = 600_000;

const readPatienceMs = 15_000;

/** Tries again while the server is away, or if two transactions got in each other's way. */
export const patiently = async <T>(work: () => Promise<T>, forMs: number): Promise<T> => {
  const from = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const mayRetry = isConflict(error) ? tries < conflictTries : isOutage(error);
      if (!mayRetry || performance.now() - from > forMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(longestPauseMs, 10 * 2 ** tries)));
    }
  }
};

const [conflictTries, longestPauseMs] = [10, 500];
