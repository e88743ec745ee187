// Resuming a long-lived agent after few messages and after many: time, and what stays in memory.
import { setImmediate as nextTick } from 'node:timers/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, openCloister } from 'cloister';
import { openSqliteStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { Benchmark } from './benchmark.ts';
import { collectGarbage, wallMs } from './measure.ts';
import { fastModel } from './models.ts';

const [few, many] = [1_000, 10_000];

export const resumeResidentBenchmark: Benchmark = {
  name: 'resume-resident',
  about: `resuming a long-lived agent after ${many.toLocaleString('en')} messages, compared with after ${few.toLocaleString('en')}`,
  async run() {
    const early = await sample(few);
    const late = await sample(many);
    const kilobytes = (late.heap - early.heap) / 1_024 / (many - few);
    return [
      {
        what: 'for each message in the log, until it answers the next',
        unit: 'ms',
        raw: early.ms / few,
        cloister: late.ms / many,
        figure: late.ms / many / (early.ms / few),
        figureUnit: '×',
        target: { atMost: 1.5 },
      },
      {
        what: 'heap for each message in the log, afterwards',
        unit: 'KB',
        raw: null,
        cloister: kilobytes,
        figure: kilobytes,
        figureUnit: 'KB',
        target: { atMost: 2 },
      },
    ];
  },
};

/** The window is small, so that what the model is shown stays the same. */
const desk = () =>
  defineAgent({
    name: 'desk',
    description: 'Answers.',
    prompt: 'Answer.',
    models: [fastModel()],
    limits: { contextTokensMax: 6_000, maxOutputTokens: 1_000, maxTurns: 1_000_000 },
  });

const sample = async (messages: number): Promise<{ readonly ms: number; readonly heap: number }> => {
  const folder = await mkdtemp(join(tmpdir(), 'cloister-bench-resume-resident-'));
  try {
    const run = await cutRun(folder, messages);
    await using cloister = await openCloister({ workspace: join(folder, 'cut'), agents: [desk()] });
    const ms = await wallMs(async () => {
      const session = await cloister.resume(run);
      const { status } = await session.ask('Are you there?');
      if (status !== 'completed') throw new Error(`The message ended with status ${status}.`);
    });
    await nextTick();
    collectGarbage();
    return { ms, heap: process.memoryUsage().heapUsed };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** A workspace with a run whose process died while it waited for mail. */
const cutRun = async (folder: string, messages: number): Promise<RunId> => {
  const whole = join(folder, 'whole');
  const run = await answerAll(whole, messages);
  const from = await openSqliteStore(whole);
  const to = await openSqliteStore(join(folder, 'cut'));
  const frames = await from.read(run);
  const waits = frames.findLastIndex(({ record }) => record.type === 'begin' && record.do === 'receive');
  const log = await to.acquireRun(run);
  for (const frame of frames.slice(0, waits + 1)) log.append(frame);
  await log.close();
  await Promise.all([from.close(), to.close()]);
  return run;
};

const answerAll = async (workspace: string, messages: number): Promise<RunId> => {
  await using cloister = await openCloister({ workspace, agents: [desk()] });
  const session = await cloister.spawn('desk');
  for (let nth = 0; nth < messages; nth++) await session.ask(`Question ${nth}?`);
  session.finish();
  await session.outcome;
  return session.run;
};
