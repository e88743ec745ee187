import { setImmediate as nextTick } from 'node:timers/promises';
import { openCloister } from 'cloister';
import { plainAgent, rawPlainAgent } from './agents.ts';
import type { Benchmark } from './benchmark.ts';
import { answered, collect, compare, processMs, runAtOnce } from './measure.ts';
import type { Compared } from './measure.ts';
import { fastModel, goals } from './models.ts';
import type { FastModel } from './models.ts';
import { runRaw } from './raw-loop.ts';
import type { RawAgent } from './raw-loop.ts';

const sessions = 10_000;

export const inFlight: Benchmark = {
  name: 'in-flight',
  about: `${sessions} sessions at once with a 50 ms model: CPU, and heap while all wait`,
  async run() {
    const cpu = await cpuOfAll();
    const heap = await heapOfEach();
    return [
      {
        what: 'CPU of all',
        unit: 'ms',
        raw: cpu.raw,
        cloister: cpu.cloister,
        figure: cpu.ratio,
        figureUnit: '×',
        target: { atMost: 2.5 },
      },
      {
        what: 'heap of a waiting session',
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

const rawAtOnce = async (agent: RawAgent): Promise<void> => {
  const outputs = await Promise.all(Array.from({ length: sessions }, () => runRaw(agent, goals.answer)));
  for (const output of outputs) answered(output);
};

const cpuOfAll = async (): Promise<Compared> => {
  const model = fastModel({ delayMs: 50, stream: 'piped' });
  const [agent, rawAgent] = [plainAgent(model), rawPlainAgent(model)];
  return compare(
    { warm: 2, measured: 9 },
    {
      raw: () => processMs(() => rawAtOnce(rawAgent)),
      cloister: async () => {
        await using runtime = await openCloister({ store: 'memory', agents: [agent] });
        return await processMs(() => runAtOnce(runtime, 'helper', goals.answer, sessions));
      },
    },
  );
};

const heapOfEach = (): Promise<Compared> =>
  compare(
    { warm: 1, measured: 3 },
    {
      raw: () => heapWhileWaiting((model) => rawAtOnce(rawPlainAgent(model))),
      cloister: () =>
        heapWhileWaiting(async (model) => {
          await using runtime = await openCloister({ store: 'memory', agents: [plainAgent(model)] });
          await runAtOnce(runtime, 'helper', goals.answer, sessions);
        }),
    },
  );

/** Kilobytes per session when every session waits for its model. The gate opens only after the count. */
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
  collect();
  collect();
  return process.memoryUsage().heapUsed;
};
