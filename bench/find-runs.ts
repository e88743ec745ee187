// Finding one run among many: by id, by a prefix, the newest, and a page of a list. Rows are written straight into the database.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { toolAgent } from './agents.ts';
import type { Benchmark, Line } from './benchmark.ts';
import { expectCompleted, median } from './measure.ts';
import { fastModel, goals } from './models.ts';

const [few, many] = [1_000, 1_000_000];
const [rounds, lookups] = [15, 20];
const caller = 'ann';

export const findRunsBenchmark: Benchmark = {
  name: 'find-runs',
  about: `one run among ${many.toLocaleString('en')}, compared with one among ${few.toLocaleString('en')}`,
  async run() {
    const small = await openWorkspace(few);
    const large = await openWorkspace(many);
    try {
      const lines: Line[] = [];
      for (const [what, look] of looks) lines.push(await compareLooks(what, look, small, large));
      return lines;
    } finally {
      await small.close();
      await large.close();
    }
  },
};

type Workspace = { readonly cloister: Cloister; readonly run: string; close(): Promise<void> };

type Look = (workspace: Workspace) => Promise<unknown>;

const looks: readonly (readonly [what: string, look: Look])[] = [
  ['by id', ({ cloister, run }) => cloister.runs({ run })],
  ['by a prefix', ({ cloister, run }) => cloister.runs({ prefix: run.slice(0, 12), most: 6 })],
  ['the newest', ({ cloister }) => cloister.runs({ most: 1 })],
  ['show', ({ cloister, run }) => cloister.show(run)],
  ['a page of 50', ({ cloister }) => cloister.runs({ most: 50 })],
  ['a page of 50, from the middle', ({ cloister, run }) => cloister.runs({ most: 50, before: run })],
  ['a page of 50 of a caller', ({ cloister }) => cloister.runs({ caller, most: 50 })],
  ['those that have not ended', ({ cloister }) => cloister.runs({ open: true })],
];

/** Rounds alternate, and what a look costs is the median of a round. */
const compareLooks = async (what: string, look: Look, small: Workspace, large: Workspace): Promise<Line> => {
  const times: { small: number; large: number }[] = [];
  for (let round = -2; round < rounds; round++) {
    const one = { small: await timeOf(look, small), large: await timeOf(look, large) };
    if (round >= 0) times.push(one);
  }
  return {
    what: `${what}, raw = among ${few.toLocaleString('en')}`,
    unit: 'µs',
    raw: median(times.map((one) => one.small)),
    cloister: median(times.map((one) => one.large)),
    figure: median(times.map((one) => one.large / one.small)),
    figureUnit: '×',
    target: { atMost: 2 },
  };
};

const timeOf = async (look: Look, workspace: Workspace): Promise<number> => {
  const each: number[] = [];
  for (let nth = 0; nth < lookups; nth++) {
    const from = performance.now();
    await look(workspace);
    each.push(1_000 * (performance.now() - from));
  }
  return median(each);
};

/** One real run in the middle of copies of its row and of its first frame. */
const openWorkspace = async (runs: number): Promise<Workspace> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-runs-'));
  const agents = [toolAgent(fastModel(), { maxToolTurns: 3 })];
  {
    await using writing = await openCloister({ workspace, agents });
    await expectCompleted(writing.run('solo', goals.lookups(1)));
  }
  const run = addRuns(join(workspace, 'cloister.db'), runs);
  const cloister = await openCloister({ workspace, agents: [] });
  return {
    cloister,
    run,
    async close() {
      await cloister.close();
      await rm(workspace, { recursive: true, force: true });
    },
  };
};

const addRuns = (path: string, runs: number): string => {
  using database = new DatabaseSync(path);
  const { run, hash } = database.prepare('SELECT run, hash FROM frames WHERE no = 0').get() as Record<string, string>;
  database.exec('PRAGMA synchronous = OFF; BEGIN');
  const addFrame = database.prepare(`INSERT INTO frames(run, no, body, hash) VALUES (?, 0, '{}', ?)`);
  const addRow = database.prepare(
    `INSERT INTO runs(run, agent, goal, started_at, ended_at, status, cells, frames, head, caller, spent, format, build)
     SELECT ?, agent, goal, started_at, ended_at, status, cells, 1, ?, ?, spent, format, build FROM runs WHERE run = ?`,
  );
  const add = (): void => {
    const copy = randomUUID().replaceAll('-', '').slice(0, run!.length);
    addFrame.run(copy, hash!);
    addRow.run(copy, hash!, caller, run!);
  };
  for (let nth = 1; nth < runs; nth++) {
    add();
    // The real one moves to the middle.
    if (nth === runs >> 1)
      database.prepare('UPDATE runs SET rowid = (SELECT max(rowid) + 1 FROM runs) WHERE run = ?').run(run!);
  }
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  return run!;
};
