import { expect, test } from 'vitest';
import type { Clock, Sees } from '#contracts';
import { agent, always, ask, call, lines, ofType, tool, world } from './driver.ts';

const finish = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } },
};
const text = (words: string) => [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: words },
  { type: 'text-end', id: '1' },
];
const streamOf = (parts: readonly unknown[]) => ({ stream: ReadableStream.from(parts) });

/** A model that streams arbitrary things. */
const modelOf = (doStream: (options: any) => unknown): any => ({
  specificationVersion: 'v4',
  provider: 'odd',
  modelId: 'odd',
  supportedUrls: {},
  doStream,
  doGenerate: () => Promise.reject(new Error('there is no second path')),
});

const askOdd = async (doStream: (options: any, clock: Clock) => unknown, options: object = {}) => {
  const { clock } = world();
  return ask(agent('solo', { limits: { maxRetries: 1, llmTimeout: 5_000 }, ...options }), {
    clock,
    models: [modelOf((call_) => doStream(call_, clock))],
  });
};

const throws = (value: unknown) => () => {
  throw value;
};

test.for<[title: string, doStream: (options: any, clock: Clock) => unknown, code: RegExp]>([
  ['throws immediately', throws(new Error('no')), /^model_server$/u],
  ['throws undefined', throws(undefined), /^model_server$/u],
  ['throws an object without a prototype', throws(Object.create(null)), /^model_server$/u],
  [
    'throws an error with an odd message',
    throws(Object.assign(new Error('x'), { message: { a: 1 } })),
    /^model_server$/u,
  ],
  ['rejects with a text', () => Promise.reject('words'), /^model_server$/u],
  ['returns nothing', () => undefined, /^model_/u],
  ['returns no stream', () => ({}), /^model_/u],
  ['returns null for a stream', () => ({ stream: null }), /^model_/u],
  ['returns a text for a stream', () => ({ stream: 'x' }), /^model_/u],
  ['never answers', () => new Promise(() => undefined), /^model_timeout$/u],
  ['gives a stream without any parts', () => ({ stream: new ReadableStream() }), /^model_timeout$/u],
  ['gives a stream that is empty', () => streamOf([]), /^model_cut$/u],
  ['gives null as a part', () => streamOf([null]), /^model_/u],
  [
    'gives a delta without a start',
    () => streamOf([{ type: 'text-delta', id: '9', delta: 'x' }, finish]),
    /^model_cut$/u,
  ],
  ['gives a finish without its fields', () => streamOf([...text('x'), { type: 'finish' }]), /^model_/u],
  ['gives an error that is undefined', () => streamOf([{ type: 'error', error: undefined }]), /^model_cut$/u],
  ['answers with whitespace', () => streamOf([...text(' \n '), finish]), /^model_empty$/u],
  [
    'answers with reasoning only',
    () => streamOf([{ type: 'reasoning-start', id: '1' }, { type: 'reasoning-delta', id: '1', delta: 'hm' }, finish]),
    /^model_empty$/u,
  ],
  [
    'gives a stream that is locked',
    () => {
      const stream = new ReadableStream();
      stream.getReader();
      return { stream };
    },
    /^model_/u,
  ],
])('a model that %s fails with its error code, after its retries', async ([, doStream, code]) => {
  let tries = 0;
  const { outcome } = await askOdd((options, clock) => {
    tries++;
    return doStream(options, clock);
  });
  expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: expect.stringMatching(code) } });
  expect(tries).toBe(2);
});

/** A cancelled stream accepts no more parts. */
const tryTo = (act: () => void): void => {
  try {
    act();
  } catch {
    // The stream is closed.
  }
};

test('a stream that never ends is abandoned and cancelled after llmTimeout', async () => {
  let cancelled = 0;
  let pulled = 0;
  const { outcome, events } = await askOdd((_options, clock) => ({
    stream: new ReadableStream({
      start: (controller) => controller.enqueue({ type: 'text-start', id: '1' }),
      pull: (controller) =>
        new Promise<void>((resolve) => {
          if (pulled++ > 100) return;
          clock.timer(100, () => {
            tryTo(() => controller.enqueue({ type: 'text-delta', id: '1', delta: 'on and on ' }));
            resolve();
          });
        }),
      cancel: () => void cancelled++,
    }),
  }));
  expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'model_timeout' } });
  expect(ofType(events, 'text-delta').length).toBeGreaterThan(50);
  expect(cancelled, 'abandoned streams that were cancelled').toBe(2);
});

test('the signal of an attempt that ran out of time is aborted', async () => {
  const signals: AbortSignal[] = [];
  await askOdd(({ abortSignal }) => {
    signals.push(abortSignal);
    return new Promise(() => undefined);
  });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('an endless reply is cut off before it fills the memory', async () => {
  const piece = { type: 'text-delta', id: '1', delta: 'x'.repeat(1_000_000) };
  const { outcome } = await askOdd(() =>
    streamOf([{ type: 'text-start', id: '1' }, ...Array.from({ length: 20 }, () => piece), finish]),
  );
  expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'model_server' } });
});

test('unknown stream parts are ignored', async () => {
  const { outcome } = await askOdd(() =>
    streamOf([{ type: 'novelty', id: 1 }, { type: 'raw', rawValue: {} }, ...text('Fine.'), finish]),
  );
  expect(outcome).toMatchObject({ status: 'completed', output: 'Fine.', spent: { inputTokens: 10, outputTokens: 5 } });
});

test('a model cannot change the next prompt, and the prompt that it kept does not change', async () => {
  const seen: any[] = [];
  let turn = 0;
  const { outcome } = await askOdd(
    ({ prompt, tools }: any) => {
      seen.push(JSON.stringify(prompt));
      for (const change of [
        () => (prompt[0].content = 'Obey me'),
        () => prompt[1].content.push({ type: 'text', text: 'and me' }),
        () => prompt.push({ role: 'user', content: [] }),
        () => tools.splice(0),
        () => (tools[0].name = 'mine'),
      ])
        try {
          change();
        } catch {
          // Frozen, as it should be.
        }
      const call_ = { type: 'tool-call', toolCallId: 'c1', toolName: 'echo', input: '{}' };
      return streamOf([...(turn++ === 0 ? [call_] : text('Done.')), finish]);
    },
    { tools: [tool('echo', () => 'heard')] },
  );
  expect(outcome.status).toBe('completed');
  expect(seen[1]).not.toContain('bey me');
  expect(seen[1]).not.toContain('and me');
  expect(seen[1].startsWith(seen[0].slice(0, -1))).toBe(true);
});

test('a provider’s error text stays in its cell: a parent sees only the text of the error catalogue, the operator all of it', async () => {
  const secret = 'key sk-12345 of tenant Umbrella';
  const { clock } = world();
  const child = agent('child', { models: [modelOf(throws(new Error(secret)))], limits: { maxRetries: 0 } });
  const { requests, outcome, cloister, report } = await ask(agent('lead', { agents: [child] }), {
    clock,
    says: [...lines({ lead: [call('child', { prompt: 'Go' })] }), always('Done.')],
  });
  expect(report.cells[1]!.outcome!.failure!.detail).toContain(secret);
  expect(requests.map(({ text: shown }) => shown).join()).not.toContain('sk-12345');
  const told = async (sees: Sees) => JSON.stringify((await cloister.show(report.run, { sees })).events);
  expect(await told('answers')).not.toContain('sk-12345');
  expect(await told('causes')).toContain('sk-12345');
  expect(outcome).toMatchObject({ status: 'partial', missing: ['child'] });
});
