// A Restate server for tests, in a folder of its own. Its binary is not a dependency: the lane that needs it installs it from npm once,
// into a cache. Its licence is BSL 1.1.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type RestateServer = {
  readonly ingress: string;
  readonly adminPort: number;
  start(): Promise<void>;
  /** As in a crash. Resolves once it has ended. */
  kill(): Promise<void>;
  /** While it does not run. */
  wipe(): void;
  remove(): Promise<void>;
};

const version = '1.7.12';
const cache = fileURLToPath(new URL('../node_modules/.cache/restate', import.meta.url));

/** Null, if it can neither be found nor installed. */
const findBinary = (): string | null => {
  const folder = join(cache, version);
  const name = `restate-server-${process.platform}-${process.arch}`;
  const binary = join(folder, 'node_modules/@restatedev', name, 'bin/restate-server');
  if (existsSync(binary)) return binary;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  spawnSync('npm', ['install', '--no-audit', '--no-fund', `@restatedev/restate-server@${version}`], { cwd: folder });
  return existsSync(binary) ? binary : null;
};

export const startRestate = async (parent: string): Promise<RestateServer | null> => {
  const binary = findBinary();
  if (binary === null) return null;
  const folder = mkdtempSync(join(parent, 'cloister-restate-'));
  const data = join(folder, 'data');
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const env = {
    ...process.env,
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_ADVERTISED_HOST: '127.0.0.1',
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '512MB',
  };
  let running: { readonly end: () => void; readonly ended: Promise<void> } | undefined;
  const server: RestateServer = {
    ingress: `127.0.0.1:${ingress}`,
    adminPort: admin,
    async start() {
      const log = openSync(join(folder, 'log'), 'a');
      const child = spawn(binary, ['--base-dir', data], { env, cwd: folder, stdio: ['ignore', log, log] });
      const ended = new Promise<void>((resolve) => void child.on('exit', () => resolve()));
      const end = (): void => void child.kill('SIGKILL');
      process.once('exit', end);
      running = { end, ended };
      for (const url of [`http://127.0.0.1:${admin}/health`, `http://127.0.0.1:${ingress}/restate/health`])
        await untilAnswers(url);
    },
    async kill() {
      running?.end();
      await running?.ended;
      running = undefined;
    },
    wipe: () => rmSync(data, { recursive: true, force: true }),
    async remove() {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
};

const untilAnswers = async (url: string): Promise<void> => {
  for (let tries = 0; tries < 600; tries++) {
    const reply = await fetch(url).catch(() => null);
    if (reply?.ok === true) return;
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
  throw new Error(`Nobody answers at ${url}`);
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
