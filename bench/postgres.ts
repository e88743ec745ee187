// Runs in PostgreSQL, compared with SQLite: one process, and several at once. The server and its commits take from the same processors.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migratePostgresStore } from '#adapters/stores';
import { startPostgres } from '../tools/postgres.ts';
import type { Benchmark } from './benchmark.ts';
import { median } from './measure.ts';

const [together, rounds] = [3, 5];

/** As recommended in docs/POSTGRES.md. */
const settings = ['wal_compression=lz4', 'max_wal_size=4GB', 'shared_buffers=256MB'];

export const postgresBenchmark: Benchmark = {
  name: 'postgres',
  about: `256 sessions with a 20 ms model in PostgreSQL and in SQLite; ${together} such processes on one store`,
  async run() {
    const { server, ...missing } = await startPostgres({ parent: tmpdir(), settings });
    if (server === null) throw new Error('why' in missing ? missing.why : '');
    try {
      const url = server.newDatabase();
      await migratePostgresStore(url, { build: 'bench' });
      const samples: Record<'sqlite' | 'postgres', Sample>[][] = [[], []];
      for (let round = -1; round < rounds; round++)
        for (const [nth, processes] of [1, together].entries()) {
          const sample = { sqlite: await inSqlite(processes), postgres: await workTogether(processes, () => url) };
          if (round >= 0) samples[nth]!.push(sample);
        }
      return [1, together].flatMap((processes, nth) => linesOf(processes, samples[nth]!));
    } finally {
      await server.remove();
    }
  },
};

const linesOf = (processes: number, samples: readonly Record<'sqlite' | 'postgres', Sample>[]) => {
  const name = processes === 1 ? 'one process' : `${processes} processes`;
  return [
    {
      what: `steps per second of ${name}, raw = SQLite`,
      unit: '/s',
      raw: median(samples.map(({ sqlite }) => sqlite.perSecond)),
      cloister: median(samples.map(({ postgres }) => postgres.perSecond)),
      figure: median(samples.map(({ sqlite, postgres }) => postgres.perSecond / sqlite.perSecond)),
      figureUnit: '×',
      target: { atLeast: processes === 1 ? 0.7 : 3 },
    },
    {
      what: `CPU of a step in Node, ${name}, raw = SQLite`,
      unit: 'µs',
      raw: median(samples.map(({ sqlite }) => sqlite.cpuUs)),
      cloister: median(samples.map(({ postgres }) => postgres.cpuUs)),
      figure: median(samples.map(({ sqlite, postgres }) => postgres.cpuUs / sqlite.cpuUs)),
      figureUnit: '×',
      target: { atMost: 1 },
    },
  ];
};

type Sample = { readonly perSecond: number; readonly cpuUs: number };

type Told = { readonly steps: number; readonly ms: number; readonly cpuMs: number };

const inSqlite = async (processes: number): Promise<Sample> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-postgres-'));
  try {
    return await workTogether(processes, () => '', workspace);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
};

const workTogether = async (
  processes: number,
  store: () => string,
  workspace = join(tmpdir(), 'cloister-bench-no-files'),
): Promise<Sample> => {
  const workers = Array.from({ length: processes }, () => startWorker(workspace, store()));
  await Promise.all(workers.map(({ ready }) => ready));
  for (const { begin } of workers) begin();
  const told = await Promise.all(workers.map(({ done }) => done));
  const steps = told.reduce((sum, one) => sum + one.steps, 0);
  return {
    perSecond: (1_000 * steps) / Math.max(...told.map(({ ms }) => ms)),
    cpuUs: (1_000 * told.reduce((sum, { cpuMs }) => sum + cpuMs, 0)) / steps,
  };
};

const startWorker = (workspace: string, store: string) => {
  const path = new URL('postgres-process.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--conditions=cloister-source', path, workspace, store], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const [ready, done] = [Promise.withResolvers<void>(), Promise.withResolvers<Told>()];
  let [text, errors] = ['', ''];
  child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()));
  child.stdout.on('data', (piece: Buffer) => {
    text += piece.toString();
    if (text.startsWith('ready\n')) ready.resolve();
  });
  child.on('close', () => {
    const last = text.trimEnd().split('\n').at(-1) ?? '';
    if (last.startsWith('{')) return done.resolve(JSON.parse(last) as Told);
    const error = new Error(errors.slice(-500));
    ready.reject(error);
    done.reject(error);
  });
  return { ready: ready.promise, done: done.promise, begin: () => void child.stdin.end('begin\n') };
};
