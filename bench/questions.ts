import { setImmediate as nextTick } from 'node:timers/promises';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister, ToolDefinition } from 'cloister';
import type { Benchmark } from './benchmark.ts';
import { collectGarbage, expectCompleted } from './measure.ts';
import { fastModel, goals } from './models.ts';

const sessions = 10_000;

export const questionsBenchmark: Benchmark = {
  name: 'questions',
  about: `${sessions} sessions that wait for a person, and as many that wait for a tool: heap, and timers`,
  async run() {
    const parked = await heapWhile('tool');
    const asking = await heapWhile('person');
    return [
      {
        what: 'heap of an open question, beyond its session',
        unit: 'KB',
        raw: parked.kilobytes,
        cloister: asking.kilobytes,
        figure: asking.kilobytes - parked.kilobytes,
        figureUnit: 'KB',
        target: { atMost: 4 },
        note: 'compared with a session whose tool call is in flight',
      },
      {
        what: 'timers for all of them',
        unit: 'timers',
        raw: parked.timers,
        cloister: asking.timers,
        figure: asking.timers,
        figureUnit: 'timers',
        target: { atMost: 2 },
      },
    ];
  },
};

type Waiting = { readonly kilobytes: number; readonly timers: number };

const heapWhile = async (waitsFor: 'tool' | 'person'): Promise<Waiting> => {
  await measure(waitsFor);
  return measure(waitsFor);
};

const measure = async (waitsFor: 'tool' | 'person'): Promise<Waiting> => {
  const gate = Promise.withResolvers<void>();
  const waiting = { count: 0 };
  const lookup: ToolDefinition = {
    name: 'lookup',
    description: 'Looks one thing up.',
    inputSchema: { type: 'object', properties: { term: { type: 'string' } }, required: ['term'] },
    ...(waitsFor === 'person' ? { approve: true as const } : { timeoutMs: 86_400_000 }),
    execute: async () => {
      waiting.count++;
      await gate.promise;
      return 'It is known.';
    },
  };
  const [description, prompt] = ['Looks one thing up.', 'You answer questions.'];
  const agent = defineAgent({ name: 'solo', description, prompt, models: [fastModel()], tools: [lookup] });
  await using cloister = await openCloister({ store: 'memory', agents: [agent] });
  const [before, timersBefore] = [await liveHeap(), countTimers()];
  const runs = Array.from({ length: sessions }, () => {
    const session = cloister.run('solo', goals.lookups(1));
    if (waitsFor === 'person')
      session.onWaiting((waits) => {
        if (waits) waiting.count++;
      });
    return session;
  });
  while (waiting.count < sessions) await nextTick();
  const result = {
    kilobytes: ((await liveHeap()) - before) / sessions / 1_024,
    timers: countTimers() - timersBefore,
  };
  gate.resolve();
  if (waitsFor === 'person') await allowAll(cloister);
  await Promise.all(runs.map(expectCompleted));
  return result;
};

const allowAll = async (cloister: Cloister): Promise<void> => {
  for (const { id, sha256 } of await cloister.questions()) await cloister.answer(id, { allow: true, sha256 });
};

const countTimers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

const liveHeap = async (): Promise<number> => {
  await nextTick();
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
};
