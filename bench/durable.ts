// Durable steps of many concurrent sessions against the store's own ceiling: the same records, appended by bare loops.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCloister } from 'cloister';
import { openSqliteStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { Frame, Store } from '#contracts';
import { toolAgent } from './agents.ts';
import type { Benchmark, Line } from './benchmark.ts';
import { median, expectCompleted, processMs, runConcurrently, wallMs } from './measure.ts';
import { fastModel, goals } from './models.ts';

const sessions = 256;
const stepsEach = 32;
const rounds = 5;

/** Calls run one at a time: each starts once its `begin` record is on disk, and the next one waits for it. */
const agent = toolAgent(fastModel(), { parallelToolCalls: 1, maxToolCallsPerTurn: stepsEach });
const goal = goals.team({ turns: 1, lookups: stepsEach, helpers: 0, turnsEach: 0 });

export const durableBenchmark: Benchmark = {
  name: 'durable',
  about: `${sessions} concurrent sessions, ${stepsEach} calls each of a tool that must not be repeated, against the store's ceiling`,
  async run() {
    const records = await inFolder(recordOneSession);
    const pairs: Pair[] = [];
    for (let round = -1; round < rounds; round++) {
      const ceiling = await inFolder((folder) => appendAll(folder, records));
      const pair = { ceiling, cloister: await inFolder(runAll) };
      if (round >= 0) pairs.push(pair);
    }
    return [
      {
        ...compareMedians(pairs, 'perSecond', 100),
        what: 'durable steps per second, raw = the store alone',
        unit: '/s',
        figureUnit: '%',
        target: { atLeast: 60 },
      },
      {
        ...compareMedians(pairs, 'perSecondUntilClosed', 100),
        what: '… until the store is closed',
        unit: '/s',
        figureUnit: '%',
        target: null,
      },
      { ...compareMedians(pairs, 'cpuUs', 1), what: '… CPU, both threads', unit: 'µs', figureUnit: '×', target: null },
    ];
  },
};

type Sample = {
  /** Measured until the last outcome, or the last acknowledgement. */
  readonly perSecond: number;
  /** Measured until the store has finished its work and is closed. */
  readonly perSecondUntilClosed: number;
  /** CPU of one step, without closing the store. */
  readonly cpuUs: number;
};

type Pair = { readonly ceiling: Sample; readonly cloister: Sample };

const compareMedians = (
  pairs: readonly Pair[],
  key: keyof Sample,
  scale: number,
): Pick<Line, 'raw' | 'cloister' | 'figure'> => ({
  raw: median(pairs.map(({ ceiling }) => ceiling[key])),
  cloister: median(pairs.map(({ cloister }) => cloister[key])),
  figure: median(pairs.map(({ ceiling, cloister }) => (scale * cloister[key]) / ceiling[key])),
});

const inFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), 'cloister-bench-durable-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const takeSample = async (work: () => Promise<void>, close: () => Promise<void>): Promise<Sample> => {
  const steps = sessions * stepsEach;
  let ms = 0;
  const cpuMs = await processMs(async () => void (ms = await wallMs(work)));
  const wholeMs = ms + (await wallMs(close));
  return {
    perSecond: (steps * 1_000) / ms,
    perSecondUntilClosed: (steps * 1_000) / wholeMs,
    cpuUs: (cpuMs * 1_000) / steps,
  };
};

/** Returns the frames one session writes. */
const recordOneSession = async (folder: string): Promise<readonly Frame[]> => {
  await using runtime = await openCloister({ workspace: folder, agents: [agent] });
  const session = runtime.run(agent, goal);
  await expectCompleted(session);
  const store = await openSqliteStore(folder);
  const frames = await store.read(session.run);
  await store.close();
  const steps = frames.filter(({ record }) => record.type === 'begin' && record.repeat === 'never').length;
  if (steps !== stepsEach) throw new Error(`A session had ${steps} durable steps.`);
  return frames;
};

const runAll = async (folder: string): Promise<Sample> => {
  const runtime = await openCloister({ workspace: folder, agents: [agent] });
  // The first session opens the database and starts the writer thread.
  await runConcurrently(runtime, agent.name, goal, 1);
  return takeSample(
    () => runConcurrently(runtime, agent.name, goal, sessions),
    () => runtime.close(),
  );
};

/** Appends the same records with as many writers; each waits where a session waits. */
const appendAll = async (folder: string, records: readonly Frame[]): Promise<Sample> => {
  const store = await openSqliteStore(folder);
  const logs = Array.from({ length: sessions + 1 }, (_, index) => logFor(`writer${index}` as RunId, records));
  await appendLog(store, logs.pop()!);
  return takeSample(
    async () => void (await Promise.all(logs.map((log) => appendLog(store, log)))),
    () => store.close(),
  );
};

const logFor = (run: RunId, records: readonly Frame[]): readonly Frame[] => records.map((frame) => ({ ...frame, run }));

const appendLog = async (store: Store, frames: readonly Frame[]): Promise<void> => {
  const log = await store.acquireRun(frames[0]!.run);
  for (const frame of frames) {
    log.append(frame);
    if (isOutward(frame)) await log.durable();
  }
  await log.durable();
  await log.close();
};

/** A step with a hold, or one that must not be repeated freely, starts only after its `begin` record is durable. */
const isOutward = ({ record }: Frame): boolean =>
  record.type === 'begin' && (record.hold !== undefined || (record.repeat !== undefined && record.repeat !== 'free'));
