import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openCloister } from 'cloister';
import type { CloisterOptions } from 'cloister';
import { toolAgent } from './agents.ts';
import type { Benchmark } from './benchmark.ts';
import { collectGarbage, median, runConcurrently, runSpread } from './measure.ts';
import { fastModel, goals } from './models.ts';

const sessions = 256;
const turnsEach = 10;
const modelMs = 20;
const rounds = 5;

export const sqliteBenchmark: Benchmark = {
  name: 'sqlite',
  about: `${sessions} concurrent sessions with a ${modelMs} ms model, ${turnsEach} tool calls each: on disk against in memory`,
  async run() {
    const [memory, disk]: [Sample[], Sample[]] = [[], []];
    for (let round = -1; round < rounds; round++) {
      const samples = [await inMemory(), await onDisk()] as const;
      if (round < 0) continue;
      memory.push(samples[0]);
      disk.push(samples[1]);
    }
    const shares = disk.map(({ stepsPerSecond }, round) => (100 * stepsPerSecond) / memory[round]!.stepsPerSecond);
    const delay = median(disk.map(({ delayMs }) => delayMs));
    return [
      {
        what: 'steps per second, raw = in memory',
        unit: '/s',
        raw: median(memory.map(({ stepsPerSecond }) => stepsPerSecond)),
        cloister: median(disk.map(({ stepsPerSecond }) => stepsPerSecond)),
        figure: median(shares),
        figureUnit: '%',
        target: { atLeast: 50 },
      },
      {
        what: 'event-loop delay p99, raw = in memory',
        unit: 'ms',
        raw: median(memory.map(({ delayMs }) => delayMs)),
        cloister: delay,
        figure: delay,
        figureUnit: 'ms',
        target: { atMost: 10 },
      },
    ];
  },
};

type Sample = { readonly stepsPerSecond: number; readonly delayMs: number };

const inMemory = (): Promise<Sample> => sample({ store: 'memory' });

const onDisk = async (): Promise<Sample> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-sqlite-'));
  try {
    return await sample({ workspace });
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
};

/** The first session is not measured: it opens the database and starts the writer thread. */
const sample = async (where: Pick<CloisterOptions, 'store' | 'workspace'>): Promise<Sample> => {
  const goal = goals.lookups(turnsEach);
  await using runtime = await openCloister({
    ...where,
    agents: [toolAgent(fastModel({ delayMs: modelMs }), { maxToolTurns: turnsEach + 1 })],
  });
  await runConcurrently(runtime, 'solo', goal, 1);
  collectGarbage();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const from = performance.now();
  delay.enable();
  await runSpread(runtime, 'solo', goal, { count: sessions, overMs: modelMs });
  delay.disable();
  const seconds = (performance.now() - from) / 1_000;
  return { stepsPerSecond: (sessions * turnsEach) / seconds, delayMs: delay.percentile(99) / 1e6 };
};
