// What one message to a long-lived agent costs, after few messages and after many.
import { setImmediate as nextTick } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, openCloister } from 'cloister';
import type { CloisterOptions, RunSession } from 'cloister';
import type { Benchmark, Line } from './benchmark.ts';
import { collectGarbage, median } from './measure.ts';
import { fastModel } from './models.ts';

const [few, many, batch] = [100, 10_000, 100];

export const residentBenchmark: Benchmark = {
  name: 'resident',
  about: `a message to a long-lived agent after ${many.toLocaleString('en')} messages, compared with after ${few}`,
  async run() {
    const memory = await sample({ store: 'memory' });
    const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-resident-'));
    try {
      return [...lines('in memory', memory), ...lines('on disk', await sample({ workspace }))];
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  },
};

type Sample = { readonly early: number; readonly late: number; readonly kilobytes: number };

const lines = (where: string, { early, late, kilobytes }: Sample): readonly Line[] => [
  {
    what: `a message and its answer, ${where}`,
    unit: 'ms',
    raw: early,
    cloister: late,
    figure: late / early,
    figureUnit: '×',
    target: { atMost: 1.5 },
  },
  {
    what: `heap for each message, ${where}`,
    unit: 'KB',
    raw: null,
    cloister: kilobytes,
    figure: kilobytes,
    figureUnit: 'KB',
    target: null,
  },
];

/** The window is small, so that what the model is shown stays the same. */
const sample = async (where: Pick<CloisterOptions, 'store' | 'workspace'>): Promise<Sample> => {
  const agent = defineAgent({
    name: 'desk',
    description: 'Answers.',
    prompt: 'Answer.',
    models: [fastModel()],
    limits: { contextTokensMax: 6_000, maxOutputTokens: 1_000, maxTurns: 1_000_000 },
  });
  await using cloister = await openCloister({ ...where, agents: [agent] });
  const session = await cloister.spawn('desk');
  // The first ones are not measured.
  await timeOfBatches(session, few);
  const early = await timeOfBatches(session, few);
  const heap = await heapNow();
  await timeOfBatches(session, many - 2 * few - 2 * batch);
  const kilobytes = ((await heapNow()) - heap) / 1_024 / (many - 2 * few - 2 * batch);
  const late = await timeOfBatches(session, 2 * batch);
  session.finish();
  await session.outcome;
  return { early, late, kilobytes };
};

const heapNow = async (): Promise<number> => {
  await nextTick();
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** The median of single messages, one after the other. */
const timeOfBatches = async (session: RunSession, messages: number): Promise<number> => {
  const times: number[] = [];
  for (let nth = 0; nth < messages; nth++) {
    const from = performance.now();
    const { status } = await session.ask(`Question ${nth}?`);
    if (status !== 'completed') throw new Error(`A message ended with status ${status}.`);
    times.push(performance.now() - from);
  }
  return median(times);
};
