import { setImmediate as nextTick } from 'node:timers/promises';
import { openCloister } from 'cloister';
import { plainAgent, rawPlainAgent } from './agents.ts';
import type { Benchmark } from './benchmark.ts';
import { expectAnswer, collectGarbage, compare, processMs, runConcurrently } from './measure.ts';
import type { Comparison } from './measure.ts';
import { fastModel, goals } from './models.ts';
import type { FastModel } from './models.ts';
import { runRaw } from './raw-loop.ts';
import type { RawAgent } from './raw-loop.ts';

const sessions = 10_000;

export const inFlightBenchmark: Benchmark = {
  name: 'in-flight',
  about: `${sessions} concurrent sessions with a 50 ms model: CPU, and heap while all of them wait`,
  async run() {
    const cpu = await compareCpu();
    const heap = await compareHeap();
    return [
      {
        what: 'total CPU',
        unit: 'ms',
        raw: cpu.raw,
        cloister: cpu.cloister,
        figure: cpu.ratio,
        figureUnit: '×',
        target: { atMost: 2.5 },
      },
      {
        what: 'heap per waiting session',
        unit: 'KB',
        raw: heap.raw,
        cloister: heap.cloister,
        figure: heap.cloister,
        figureUnit: 'KB',
        target: { atMost: 10 },
      },
    ];
  },
};

const runRawConcurrently = async (agent: RawAgent): Promise<void> => {
  const outputs = await Promise.all(Array.from({ length: sessions }, () => runRaw(agent, goals.answer)));
  for (const output of outputs) expectAnswer(output);
};

const compareCpu = async (): Promise<Comparison> => {
  const model = fastModel({ delayMs: 50, stream: 'piped' });
  const [agent, rawAgent] = [plainAgent(model), rawPlainAgent(model)];
  return compare(
    { warm: 2, measured: 9 },
    {
      raw: () => processMs(() => runRawConcurrently(rawAgent)),
      cloister: async () => {
        await using runtime = await openCloister({ store: 'memory', agents: [agent] });
        return await processMs(() => runConcurrently(runtime, 'helper', goals.answer, sessions));
      },
    },
  );
};

const compareHeap = (): Promise<Comparison> =>
  compare(
    { warm: 1, measured: 3 },
    {
      raw: () => heapWhileWaiting((model) => runRawConcurrently(rawPlainAgent(model))),
      cloister: () =>
        heapWhileWaiting(async (model) => {
          await using runtime = await openCloister({ store: 'memory', agents: [plainAgent(model)] });
          await runConcurrently(runtime, 'helper', goals.answer, sessions);
        }),
    },
  );

/** Kilobytes per session while every session waits for its model. The gate opens only after the measurement. */
const heapWhileWaiting = async (start: (model: FastModel) => Promise<void>): Promise<number> => {
  const gate = Promise.withResolvers<void>();
  const model = fastModel({ wait: () => gate.promise.then(() => undefined) });
  const before = await liveHeap();
  const over = start(model);
  while (model.requests < sessions) await nextTick();
  const during = await liveHeap();
  gate.resolve();
  await over;
  return (during - before) / sessions / 1_024;
};

const liveHeap = async (): Promise<number> => {
  await nextTick();
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
};
