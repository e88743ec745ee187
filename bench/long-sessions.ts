// Sessions of 1,000 and of 10,000 turns, and what is read of them afterwards: how the work grows.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister, Limits } from 'cloister';
import type { RunId } from '#base';
import type { Benchmark, Line } from './benchmark.ts';
import { collectGarbage, expectCompleted, median, processMs } from './measure.ts';
import { fastModel, goals } from './models.ts';

const [few, many] = [1_000, 10_000];
/** A short session is measured more often, because one of it takes little time. */
const times = { [few]: 5, [many]: 2 };
/** On a disk, most of the time is spent waiting for it. */
const timesOnDisk = { [few]: 1, [many]: 1 };

const windows: Readonly<Record<string, Limits>> = {
  'a window that holds everything': { contextTokensMax: 1_000_000_000 },
  'a window of 8,000 tokens': { contextTokensMax: 8_000, maxOutputTokens: 1_000 },
};

type Ended = { readonly cloister: Cloister; readonly run: RunId; readonly cell: string };

const readers: Readonly<Record<string, (ended: Ended) => Promise<unknown>>> = {
  explain: ({ cloister, run, cell }) => cloister.explain(run, cell),
  'explain --find': ({ cloister, run, cell }) => cloister.explain(run, cell, { find: 'forty-two' }),
  'show --window': ({ cloister, run }) => cloister.windows(run),
  'show --transcript': ({ cloister, run }) => cloister.transcript(run),
  show: ({ cloister, run }) => cloister.show(run),
  diff: ({ cloister, run }) => cloister.diff(run, run),
};

/** CPU milliseconds by what was done. */
type Sample = ReadonlyMap<string, number>;

const agentOf = (limits: Limits) =>
  defineAgent({
    name: 'solo',
    description: 'Looks one thing up.',
    prompt: 'You answer questions.',
    models: [fastModel()],
    tools: [{ name: 'lookup', description: 'Looks', inputSchema: { type: 'object' }, execute: () => 'Forty-two.' }],
    limits: { ...limits, maxToolTurns: 1_000_000 },
  });

const sampleRun = async (turns: number, limits: Limits, workspace?: string): Promise<Sample> => {
  const agents = [agentOf(limits)];
  await using cloister = await openCloister(
    workspace === undefined ? { store: 'memory', agents } : { workspace, agents },
  );
  const session = cloister.run('solo', goals.lookups(turns));
  const sample = new Map([['the session', await processMs(() => expectCompleted(session))]]);
  if (workspace !== undefined) return sample;
  const { run } = session;
  const { cell } = (await cloister.show(run)).cells[0]!;
  for (const [name, read] of Object.entries(readers)) {
    collectGarbage();
    sample.set(name, await processMs(async () => void (await read({ cloister, run, cell }))));
  }
  return sample;
};

const sampleOnDisk = async (turns: number): Promise<Sample> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-long-sessions-'));
  try {
    return await sampleRun(turns, {}, workspace);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
};

/** Per turn, the median of several samples. The first round only warms up. */
const measure = async (
  sample: (turns: number) => Promise<Sample>,
  rounds: Readonly<Record<number, number>>,
): Promise<readonly [Sample, Sample]> => {
  await sample(few);
  return [await medians(few, sample, rounds[few]), await medians(many, sample, rounds[many])];
};

const medians = async (turns: number, sample: (turns: number) => Promise<Sample>, rounds = 1): Promise<Sample> => {
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round++) samples.push(await sample(turns));
  return new Map([...samples[0]!.keys()].map((name) => [name, median(samples.map((one) => one.get(name)!)) / turns]));
};

const linesOf = (where: string, [short, long]: readonly [Sample, Sample]): readonly Line[] =>
  [...short].map(([name, before]) => {
    const after = long.get(name)!;
    const exponent = 1 + Math.log(after / before) / Math.log(many / few);
    return {
      what: `growth exponent of ${name}, ${where}; raw = a turn of the short session`,
      unit: 'µs',
      raw: before * 1_000,
      cloister: after * 1_000,
      figure: exponent,
      figureUnit: '',
      target: { atMost: 1.1 },
    };
  });

export const longSessionsBenchmark: Benchmark = {
  name: 'long-sessions',
  about: `sessions of ${few.toLocaleString('en')} and ${many.toLocaleString('en')} turns, live and in reports: how the CPU time grows`,
  async run() {
    const lines: Line[] = [];
    for (const [where, limits] of Object.entries(windows))
      lines.push(...linesOf(where, await measure((turns) => sampleRun(turns, limits), times)));
    return [...lines, ...linesOf('the default window, on disk', await measure(sampleOnDisk, timesOnDisk))];
  },
};
