// What it costs that readers are told of a record after its commit: the same runs with a store that calls every record durable at once.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { defineAgent } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import { openSqliteStore } from '#adapters/stores';
import type { RunLog, Store } from '#contracts';
import { openConfigured } from '../src/app/open-cloister.ts';
import { toolAgent } from './agents.ts';
import type { Benchmark, Line } from './benchmark.ts';
import { collectGarbage, median, wallMs } from './measure.ts';
import { fastModel, goals } from './models.ts';

const [streams, pieces, pieceMs, streamRounds] = [16, 20, 5, 12];
const [sessions, turnsEach, modelMs, stepRounds] = [256, 5, 20, 9];

export const toldBenchmark: Benchmark = {
  name: 'told',
  about: `${streams} streamed answers and ${sessions} sessions, all with a reader, that is told of a record before and after its commit`,
  async run() {
    const streamed = await alternate(streamRounds, streamAnswers);
    const stepped = await alternate(stepRounds, takeSteps);
    const commitMs = median(streamed.flatMap(({ after }) => after.commits));
    const line = (what: string, key: 'firstMs' | 'lastMs'): Line => ({
      what,
      unit: 'ms',
      raw: median(streamed.map(({ before }) => before[key])),
      cloister: median(streamed.map(({ after }) => after[key])),
      figure: median(streamed.map(({ before, after }) => after[key] / before[key])),
      figureUnit: '×',
      target: { atMost: 1.03 },
    });
    const laterMs = median(streamed.map(({ before, after }) => after.eventMs - before.eventMs));
    return [
      line('first piece of an answer, raw = told before the commit', 'firstMs'),
      line('last piece of an answer, raw = told before the commit', 'lastMs'),
      {
        what: 'an event is later by, raw = the commit of its record',
        unit: 'ms',
        raw: commitMs,
        cloister: laterMs,
        figure: laterMs / commitMs,
        figureUnit: '×',
        target: { atMost: 1.1 },
      },
      {
        what: 'steps per second, raw = told before the commit',
        unit: '/s',
        raw: median(stepped.map(({ before }) => before)),
        cloister: median(stepped.map(({ after }) => after)),
        figure: median(stepped.map(({ before, after }) => (100 * after) / before)),
        figureUnit: '%',
        target: { atLeast: 97 },
      },
    ];
  },
};

/** `commits`: how long the records that end a step took until they were on disk; those of the events that are measured. */
type Side = { readonly told: 'before' | 'after'; readonly commits: number[] };
type Pair<T> = { readonly before: T; readonly after: T };

/** Every second round begins with the other side. */
const alternate = async <T>(rounds: number, sample: (side: Side) => Promise<T>): Promise<readonly Pair<T>[]> => {
  const pairs: Pair<T>[] = [];
  for (let round = -1; round < rounds; round++) {
    const found = new Map<string, T>();
    for (const told of round % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const))
      found.set(told, await sample({ told, commits: [] }));
    if (round >= 0) pairs.push({ before: found.get('before')!, after: found.get('after')! });
  }
  return pairs;
};

type Streamed = {
  readonly firstMs: number;
  readonly lastMs: number;
  /** From the last piece that the model wrote to the event that its reply has ended. */
  readonly eventMs: number;
  readonly commits: readonly number[];
};

const streamAnswers = (side: Side): Promise<Streamed> =>
  withCloister(streamingAgent, side, async (cloister) => {
    const all = await Promise.all(Array.from({ length: streams }, () => readStream(cloister)));
    const middle = (key: keyof Omit<Streamed, 'commits'>): number => median(all.map((one) => one[key]));
    const { commits } = side;
    return { firstMs: middle('firstMs'), lastMs: middle('lastMs'), eventMs: middle('eventMs'), commits };
  });

const readStream = async (cloister: Cloister): Promise<Omit<Streamed, 'commits'>> => {
  const from = performance.now();
  let [firstMs, lastMs, eventMs, written] = [0, 0, 0, ''];
  for await (const event of cloister.run('streaming', 'Answer.')) {
    if (event.type === 'text-delta') {
      lastMs = performance.now() - from;
      firstMs ||= lastMs;
      written += event.text;
    }
    if (event.type === 'model-end') eventMs = performance.now() - Number(written.trim().split(' ').at(-1));
  }
  return { firstMs, lastMs, eventMs };
};

/** Each piece is the time at which it was written. */
const streamingModel: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'streaming',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('Every loop here streams.')),
  doStream: async () => ({ stream: ReadableStream.from(writePieces()) }),
};

async function* writePieces(): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: '0' };
  for (let piece = 0; piece < pieces; piece++) {
    await sleep(pieceMs);
    yield { type: 'text-delta', id: '0', delta: `${performance.now()} ` };
  }
  yield { type: 'text-end', id: '0' };
  yield {
    type: 'finish',
    finishReason: { unified: 'stop', raw: undefined },
    usage: {
      inputTokens: { total: 200, noCache: 200, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 20, text: 20, reasoning: 0 },
    },
  };
}

const streamingAgent = defineAgent({
  name: 'streaming',
  description: 'Answers.',
  prompt: 'You answer.',
  models: [streamingModel],
});

/** Steps a second. */
const takeSteps = (side: Side): Promise<number> =>
  withCloister(toolAgent(fastModel({ delayMs: modelMs }), { maxToolTurns: turnsEach + 1 }), side, async (cloister) => {
    collectGarbage();
    const ms = await wallMs(
      async () => void (await Promise.all(Array.from({ length: sessions }, () => readToEnd(cloister)))),
    );
    return (sessions * turnsEach * 1_000) / ms;
  });

const readToEnd = async (cloister: Cloister): Promise<void> => {
  const session = cloister.run('solo', goals.lookups(turnsEach));
  let events = 0;
  for await (const { type } of session) if (type === 'session-end') events++;
  if (events !== 1 || (await session.outcome).status !== 'completed') throw new Error('A session did not complete.');
};

/** The first run is not measured: it opens the database and starts the writer thread. */
const withCloister = async <T>(agent: Agent, side: Side, work: (cloister: Cloister) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), 'cloister-bench-told-'));
  try {
    const archive = watched(await openSqliteStore(folder), side);
    await using cloister = await openConfigured({ agents: [agent] }, { archive });
    await cloister.run(agent.name, goals.lookups(1)).outcome;
    side.commits.length = 0;
    return await work(cloister);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const watched = (store: Store, side: Side): Store =>
  new Proxy(store, {
    get: (_target, name) => {
      if (name === 'acquireRun')
        return async (...args: Parameters<Store['acquireRun']>) => watchedLog(await store.acquireRun(...args), side);
      const value: unknown = Reflect.get(store, name, store);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });

/** Without `onCommit`, a record counts as durable as soon as it is appended. */
const watchedLog = (log: RunLog, { told, commits }: Side): RunLog => {
  const appended: number[] = [];
  let answered = 0;
  return {
    append: (frame) => {
      if (frame.record.type === 'settle') appended[frame.no] = performance.now();
      log.append(frame);
    },
    durable: () => log.durable(),
    onFailure: (listener) => log.onFailure?.(listener),
    close: () => log.close(),
    ...(told === 'before'
      ? {}
      : {
          onCommit: (listener: (newest: number) => void) =>
            log.onCommit?.((newest) => {
              for (; answered <= newest; answered++)
                if (appended[answered] !== undefined) commits.push(performance.now() - appended[answered]!);
              listener(newest);
            }),
        }),
  };
};
