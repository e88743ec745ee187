// A PostgreSQL server for tests and benchmarks, in a folder of its own. Installs it with apt-get where that can be done. It refuses to run as
// root, so root starts it as Debian's user `postgres`. It ends with the process that started it, also if that is killed.
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { thisMachine } from './deep-setup.ts';
import type { Machine } from './deep-setup.ts';

export type PostgresServer = {
  /** The address of a new and empty database. */
  newDatabase(): string;
  /** Runs a statement as the owner of everything; in the database of an address. */
  run(sql: string, url?: string): string;
  /** `immediate`: as in a crash. Resolves once it has ended. */
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  /** With the same data and on the same port. */
  start(): Promise<void>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
};

export type PostgresOutcome = { readonly server: PostgresServer } | { readonly server: null; readonly why: string };

type ServerOptions = {
  /** Where its folder is made. */
  readonly parent: string;
  /** More settings, as `name=value`. */
  readonly settings?: readonly string[];
};

export const startPostgres = async (
  options: ServerOptions,
  machine: Machine = thisMachine(),
): Promise<PostgresOutcome> => {
  const bin = findBinaries() ?? (install(machine) ? findBinaries() : undefined);
  if (bin === undefined) return { server: null, why: missingText };
  const user = machine.root ? idOf('postgres') : null;
  if (user === undefined)
    return { server: null, why: 'PostgreSQL refuses to run as root, and there is no user postgres.' };
  const folder = mkdtempSync(join(options.parent, 'cloister-postgres-'));
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'cloister', '--no-sync', '-E', 'UTF8', '--locale=C.UTF-8'],
    { ...user, cwd: folder, encoding: 'utf8' },
  );
  if (made.status !== 0) return { server: null, why: `initdb has failed: ${made.stderr}` };
  const server = newServer({ bin, data, folder, user, port: await freePort(), settings: options.settings ?? [] });
  await server.start();
  return { server };
};

const missingText =
  'PostgreSQL is not installed and could not be installed automatically. Install it with `apt-get install postgresql` (Debian).';

/** Of the newest version. */
const findBinaries = (): string | undefined => {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).toSorted((one, other) => Number(other) - Number(one)) : [];
  return versions.map((version) => join(root, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
};

/** Somebody else may be installing something. */
const patient = ['-o', 'DPkg::Lock::Timeout=600'];

const install = ({ platform, root, run }: Machine): boolean => {
  if (platform !== 'linux' || !root || run('apt-get', ['--version']).code !== 0) return false;
  const tried = (): boolean =>
    run('apt-get', [...patient, 'install', '-y', '-q', '--no-install-recommends', 'postgresql']).code === 0;
  // A fresh image has no package lists.
  return tried() || (run('apt-get', [...patient, 'update', '-q']).code === 0 && tried());
};

type User = { readonly uid: number; readonly gid: number };

const idOf = (name: string): User | undefined => {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
  return uid?.status === 0 && gid?.status === 0 ? { uid: Number(uid.stdout), gid: Number(gid.stdout) } : undefined;
};

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });

type Installed = {
  readonly bin: string;
  readonly data: string;
  readonly folder: string;
  readonly user: User | null;
  readonly port: number;
  readonly settings: readonly string[];
};

/** Its input ends with the process that started it. */
const untilInputEnds = '"$0" "$@" & server=$!; read -r how; kill -${how:-INT} $server; wait $server';

const newServer = ({ bin, data, folder, user, port, settings }: Installed): PostgresServer => {
  let running: { readonly input: { end(text: string): void }; readonly ended: Promise<void> } | undefined;
  let databases = 0;
  const urlOf = (database: string): string => `postgres://cloister@127.0.0.1:${port}/${database}`;
  const run = (sql: string, url = urlOf('postgres')): string => {
    const done = spawnSync(join(bin, 'psql'), ['-qAtX', '-v', 'ON_ERROR_STOP=1', '-d', url.split('?')[0]!, '-c', sql], {
      encoding: 'utf8',
    });
    if (done.status !== 0) throw new Error(done.stderr);
    return done.stdout.trim();
  };
  const isReady = (): boolean =>
    spawnSync(join(bin, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)]).status === 0;
  const server: PostgresServer = {
    newDatabase() {
      const name = `test_${databases++}`;
      run(`CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    run,
    async start() {
      const options = [
        'listen_addresses=127.0.0.1',
        `unix_socket_directories=${folder}`,
        'max_connections=200',
        ...settings,
      ];
      const args = ['-D', data, '-p', String(port), ...options.flatMap((option) => ['-c', option])];
      const child = spawn('/bin/sh', ['-c', untilInputEnds, join(bin, 'postgres'), ...args], {
        ...user,
        cwd: folder,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      child.stdin.on('error', () => undefined);
      const ended = new Promise<void>((resolve) => void child.on('exit', () => resolve()));
      running = { input: child.stdin, ended };
      for (let tries = 0; !isReady(); tries++) {
        if (child.exitCode !== null || tries > 600) throw new Error('PostgreSQL has not started');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async stop(how = 'fast') {
      running?.input.end(how === 'fast' ? 'INT\n' : 'QUIT\n');
      await running?.ended;
      running = undefined;
    },
    async remove() {
      await server.stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return server;
};
