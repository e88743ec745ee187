// Resuming a long run with the published package, from opening the workspace to the outcome, against plainly reading and
// parsing every body of its log.
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Cloister, defineAgent, openCloister } from 'cloister';
import { openSqliteStore } from '#adapters/stores';
import { unpackRecord } from '#testing/adapters/stores';
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { teamAgent } from './agents.ts';
import type { Benchmark, Line } from './benchmark.ts';
import { compare, median, expectCompleted, processMs, wallMs } from './measure.ts';
import type { Comparison } from './measure.ts';
import { fastModel, goals } from './models.ts';
import { installInto } from './published.ts';

/** Each turn has a request, four lookups, and two helpers with eight requests and seven lookups each. */
const team = { turns: 271, lookups: 4, helpers: 2, turnsEach: 7 };
const operationsMin = 10_000;
const rounds = { warm: 1, measured: 9 };

export const resumeBenchmark: Benchmark = {
  name: 'resume',
  about: `resuming a run of ${operationsMin} operations, cut one record before its end, against reading its log`,
  async run() {
    const folder = await mkdtemp(join(tmpdir(), 'cloister-bench-resume-'));
    try {
      const cut = await cutRun(folder, await openLibrary(folder));
      const cpu: Cpu = { raw: [], cloister: [] };
      const wall = await compareResumes(cut, cpu);
      return [line('time of one resume', wall, { atMost: 5 }), line('… CPU, all threads', compareCpu(cpu), null)];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const line = (what: string, { raw, cloister, ratio }: Comparison, target: Line['target']): Line => ({
  what,
  unit: 'ms',
  raw,
  cloister,
  figure: ratio,
  figureUnit: '×',
  target,
});

const limits = { maxToolTurns: 1_000, parallelToolCalls: 8, contextTokensMax: 1_000_000_000 };

type Library = { readonly defineAgent: typeof defineAgent; readonly openCloister: typeof openCloister };

/** Opens a Cloister with the agent in a workspace. */
type Open = (workspace: string) => Promise<Cloister>;

const openLibrary = async (folder: string): Promise<Open> => {
  const home = await installInto(folder);
  const library = (await import(pathToFileURL(join(home, 'dist', 'index.js')).href)) as Library;
  const agent = teamAgent(fastModel(), limits, library.defineAgent);
  return (workspace) => library.openCloister({ workspace, agents: [agent] });
};

type CutRun = {
  readonly run: RunId;
  readonly folder: string;
  readonly frames: number;
  readonly copy: string;
  readonly open: Open;
};

/** Makes a complete run, and a workspace that holds all of it except the record of its end. */
const cutRun = async (folder: string, open: Open): Promise<CutRun> => {
  const [whole, cut, copy] = ['whole', 'cut', 'copy'].map((name) => join(folder, name)) as [string, string, string];
  await using runtime = await open(whole);
  const session = runtime.run('lead', goals.team(team));
  await expectCompleted(session);
  const run = session.run;
  const frames = await framesOf(whole, run);
  const operations = frames.filter(({ record }) => record.type === 'begin').length;
  if (operations < operationsMin) throw new Error(`The run has only ${operations} operations.`);
  const store = await openSqliteStore(cut);
  const log = await store.acquireRun(run);
  for (const frame of frames.slice(0, -1)) log.append(frame);
  await log.close();
  await store.close();
  return { run, folder: cut, frames: frames.length - 1, copy, open };
};

const framesOf = async (folder: string, run: RunId): Promise<readonly Frame[]> => {
  const store = await openSqliteStore(folder);
  try {
    return await store.read(run);
  } finally {
    await store.close();
  }
};

type Cpu = { readonly raw: number[]; readonly cloister: number[] };

const compareCpu = (cpu: Cpu): Comparison => {
  const [raw, cloister] = [cpu.raw.slice(rounds.warm), cpu.cloister.slice(rounds.warm)];
  return {
    raw: median(raw),
    cloister: median(cloister),
    ratio: median(cloister.map((ms, round) => ms / raw[round]!)),
  };
};

/** Milliseconds of reading the log and of one resume. Each resume gets its own copy of the workspace as the crash left it. */
const compareResumes = (cut: CutRun, cpu: Cpu): Promise<Comparison> =>
  compare(rounds, {
    raw: () => timed(async () => readRawLog(cut), cpu.raw),
    cloister: async () => {
      await mkdir(cut.copy);
      await copyFile(join(cut.folder, 'cloister.db'), join(cut.copy, 'cloister.db'));
      const opened: Cloister[] = [];
      try {
        return await timed(async () => {
          const runtime = await cut.open(cut.copy);
          opened.push(runtime);
          await expectCompleted(await runtime.resume(cut.run));
        }, cpu.cloister);
      } finally {
        for (const runtime of opened) await runtime.close();
        await rm(cut.copy, { recursive: true, force: true });
      }
    },
  });

/** Measures wall time and CPU together: on a busy machine only CPU is meaningful. */
const timed = async (work: () => Promise<void>, cpu: number[]): Promise<number> => {
  let ms = 0;
  cpu.push(await processMs(async () => void (ms = await wallMs(work))));
  return ms;
};

const readRawLog = ({ folder, run, frames }: CutRun): void => {
  const database = new DatabaseSync(join(folder, 'cloister.db'), { readOnly: true });
  const rows = database.prepare('SELECT body FROM frames WHERE run = ? ORDER BY no').all(run);
  const parsed = rows.map(({ body }) => JSON.parse(String(unpackRecord(body))) as Frame);
  database.close();
  if (parsed.length !== frames || parsed.at(-1)?.no !== frames - 1) throw new Error('The log was not read completely.');
};
