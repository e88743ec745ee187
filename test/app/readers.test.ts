import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { RunEvent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Frame } from '#contracts';
import { testRuns } from '../test-seed.ts';
import { FrameReader } from '../../src/app/frame-reader.ts';
import { temporaryFolder } from '../isolation/temporary-folder.ts';
import { collectAll } from './serve/collect-all.ts';

type Item = { readonly no: number } | { readonly live: number } | 'lag';

const frame = (no: number): Frame => ({ no }) as unknown as Frame;

/** A growing log, a reader of it, and a count of the items buffered for the reader. */
const open = () => {
  const frames: Frame[] = [];
  let [made, live, taken] = [0, 0, 0];
  const fold = {
    next: ({ no }: Frame): readonly Item[] => {
      made += 1;
      return [{ no }];
    },
  };
  const gates: (() => void)[] = [];
  const past = async (): Promise<readonly Frame[]> => {
    const now = frames.slice();
    await new Promise<void>((resolve) => gates.push(resolve));
    return now;
  };
  const reader = new FrameReader<Item>(fold, past);
  reader.catchUp([]);
  const items = reader.items();
  let lags = 0;
  let pushed = 0;
  /** Everything in the order in which it happened. */
  const sent: Item[] = [];
  return {
    sent: (): readonly Item[] => sent,
    write: (): void => {
      sent.push({ no: frames.length });
      frames.push(frame(frames.length));
      reader.frame(frames.at(-1)!);
    },
    say: (chars: number): void => {
      pushed += 1;
      sent.push({ live: pushed });
      const before = lags;
      reader.pushLive({ live: pushed }, chars, () => {
        lags += 1;
        return 'lag';
      });
      if (lags === before) live += 1;
    },
    end: (): void => reader.end(),
    /** The log has been read. */
    letRead: (): void => gates.splice(0).forEach((go) => go()),
    take: async (): Promise<IteratorResult<Item, void>> => {
      const next = await items.next();
      if (next.done !== true) taken += 1;
      return next;
    },
    held: (): number => made + lags - taken,
    liveMost: (): number => live,
    written: (): number => frames.length,
  };
};

type Step = { readonly do: 'write' | 'say' | 'take' | 'read'; readonly times: number };

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('write' as const, 'say' as const, 'take' as const, 'read' as const),
  times: fc.constantFrom(1, 2, 7, 300, 2_500),
});

const drain = async (log: ReturnType<typeof open>): Promise<readonly Item[]> => {
  log.end();
  const rest: Item[] = [];
  for (;;) {
    const next = log.take();
    await new Promise((resolve) => setImmediate(resolve));
    log.letRead();
    const { value, done } = await next;
    if (done === true) return rest;
    rest.push(value);
  }
};

describe('a reader', () => {
  // invariant: reader-once-in-order
  test('gets everything recorded once and all in order, and is told where live pieces are missing', () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20, size: 'max' }), async (steps) => {
        const log = open();
        const seen: Item[] = [];
        let said = 0;
        const taking = { pending: false };
        const take = async (): Promise<void> => {
          if (taking.pending) return;
          taking.pending = true;
          const { value } = await log.take();
          if (value !== undefined) seen.push(value);
          taking.pending = false;
        };
        for (const { do: what, times } of steps) {
          for (let time = 0; time < times; time++) {
            if (what === 'write') log.write();
            else if (what === 'say') {
              said += 1;
              log.say(10);
            } else if (what === 'read') log.letRead();
            else {
              void take();
              await Promise.resolve();
            }
          }
          await new Promise((resolve) => setImmediate(resolve));
        }
        log.end();
        while (taking.pending) {
          log.letRead();
          await new Promise((resolve) => setImmediate(resolve));
        }
        seen.push(...(await drain(log)));

        const recorded = seen.flatMap((item) => (item !== 'lag' && 'no' in item ? [item.no] : []));
        expect(recorded).toEqual(Array.from({ length: log.written() }, (_, no) => no));
        let last = 0;
        let lagged = false;
        for (const item of seen) {
          if (item === 'lag') lagged = true;
          else if ('live' in item) {
            expect(item.live).toBeGreaterThan(last);
            if (item.live !== last + 1) expect(lagged).toBe(true);
            [last, lagged] = [item.live, false];
          }
        }
        if (last !== said) expect(lagged).toBe(true);
        const arrived = new Set(seen.filter((item) => item !== 'lag').map((item) => JSON.stringify(item)));
        expect(seen.filter((item) => item !== 'lag')).toEqual(
          log.sent().filter((item) => arrived.has(JSON.stringify(item))),
        );
      }),
      { numRuns: testRuns(150) },
    ));

  test.each([
    [1, [{ live: 1 }, { live: 2 }, { no: 2_500 }, { live: 3 }]],
    // The second does not fit any more.
    [100_000, [{ live: 1 }, 'lag', { no: 2_500 }]],
    [200_000, ['lag', { no: 2_500 }]],
  ])(
    'gets live pieces of %i characters that come while the log is read for it, as far as they fit',
    async (chars, expected) => {
      const log = open();
      const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      for (let no = 0; no < 2_500; no++) log.write();
      for (let no = 0; no < 2_000; no++) await log.take();
      const next = log.take();
      await turn();
      // The reader is waiting for the log at this point.
      log.say(chars);
      log.say(chars);
      log.write();
      log.say(chars);
      log.letRead();
      await turn();
      const rest = [(await next).value as Item, ...(await drain(log))];
      expect(rest.slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, place) => ({ no: 2_000 + place })));
      expect(rest.slice(500)).toEqual(expected);
    },
  );

  test('that takes nothing has a bounded number of items waiting', () => {
    const log = open();
    for (let round = 0; round < 50_000; round++) {
      log.write();
      log.say(1);
    }
    expect(log.held()).toBeLessThanOrEqual(2_001);
  });

  test('that takes one item at a time while more is sent gets one notice for each gap', async () => {
    const log = open();
    const taken: Item[] = [];
    // Three pieces arrive for each one taken; 123 of them fill the buffer.
    for (let round = 0; round < 1_000; round++) {
      for (let piece = 0; piece < 3; piece++) log.say(1_000);
      taken.push((await log.take()).value as Item);
    }
    const lags = taken.filter((item) => item === 'lag').length;
    // It has to take half of the buffer, 61 pieces, before it gets anything new, and as many arrive before the buffer is full again.
    expect(lags).toBeGreaterThan(5);
    expect(lags).toBeLessThan(1_000 / 61);
  });

  test('that takes nothing has a bounded amount of text waiting', () => {
    const log = open();
    for (let round = 0; round < 1_000; round++) log.say(1_000);
    expect(log.held()).toBe(1);
  });
});

describe('a reader of large items', () => {
  type Large = { readonly no: number; readonly text: string };
  const kib = 1024;

  /** Frames of the given sizes in characters, and how much of them is buffered. */
  const openLarge = (sizes: readonly number[]) => {
    const made: Large[] = [];
    const frames = sizes.map((_, no) => frame(no));
    const fold = {
      next: ({ no }: Frame): readonly Large[] => {
        made.push({ no, text: 'x'.repeat(sizes[no]!) });
        return [made.at(-1)!];
      },
    };
    let written = 0;
    const reader = new FrameReader<Large | 'lag'>(fold, async () => frames.slice(0, written));
    reader.catchUp([]);
    const items = reader.items();
    const taken: (Large | 'lag')[] = [];
    return {
      reader,
      taken,
      write: (): void => {
        if (written < frames.length) reader.frame(frames[written++]!);
      },
      take: async (): Promise<boolean> => {
        const { value, done } = await items.next();
        if (done === true) return false;
        taken.push(value);
        return true;
      },
      /** Two bytes a character. */
      held: (): readonly number[] => made.filter((one) => !taken.includes(one)).map(({ text }) => 2 * text.length),
    };
  };

  const chars = fc.constantFrom(10, 100, 10 * kib, 60 * kib, 127 * kib, 129 * kib, 500 * kib);

  // invariant: reader-buffer-bounded
  test('has at most 256 KiB and one more item waiting, in any order of writes and reads', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(chars, { minLength: 1, maxLength: 60, size: 'max' }),
        fc.array(fc.boolean(), { maxLength: 120, size: 'max' }),
        async (sizes, writes) => {
          const log = openLarge(sizes);
          let ahead = 0;
          for (const write of writes) {
            if (write) {
              log.write();
              ahead += 1;
            } else if (ahead > 0 && log.taken.length < sizes.length) {
              ahead -= 1;
              await log.take();
            }
            const held = log.held();
            expect(held.slice(0, -1).reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(256 * kib);
          }
          for (let time = 0; time < sizes.length; time++) log.write();
          log.reader.end();
          while (await log.take());
          expect(log.taken.map((one) => one !== 'lag' && [one.no, one.text.length])).toEqual(
            sizes.map((size, no) => [no, size]),
          );
        },
      ),
      { numRuns: testRuns(200) },
    ));

  // invariant: reader-buffer-bounded
  test('gets live pieces only while everything waiting fits that bound', async () => {
    const log = openLarge([100 * kib]);
    log.write();
    let lags = 0;
    for (let piece = 0; piece < 100; piece++)
      log.reader.pushLive({ no: -1, text: 'y'.repeat(10 * kib) }, 10 * kib, () => {
        lags += 1;
        return 'lag';
      });
    log.reader.end();
    while (await log.take());
    // 200 KiB are in use; each of the rest takes 20.
    expect([log.taken.length, lags, log.taken.at(-1)]).toEqual([1 + 2 + 1, 1, 'lag']);
  });
});

describe.each(['memory', 'SQLite'])('events of a run in a store of kind %s', (kind) => {
  test('are the same for readers that start late, read slowly or read at the end', async () => {
    await using folder = await temporaryFolder();
    const calls = Array.from({ length: 40 }, (_, place) => ({ tool: 'nod', args: { place } }));
    const model = rehearse([
      { when: ({ turn }) => turn <= 40, reply: { text: 'Once more, with many words to be said.', calls } },
      { reply: 'Done.' },
    ]);
    const nod = {
      name: 'nod',
      description: 'Nods.',
      inputSchema: { type: 'object' as const },
      execute: () => 'Yes.',
    };
    const agent = defineAgent({
      name: 'busy',
      description: 'd',
      prompt: 'p',
      tools: [nod],
      limits: { maxToolTurns: 50, maxToolCallsPerTurn: 50 },
      models: [model],
    });
    const where = kind === 'memory' ? ({ store: 'memory' } as const) : { workspace: folder.path };
    await using cloister = await openCloister({ agents: [agent], ...where });
    const session = cloister.run('busy', 'Go.');
    const [idle, slow, quick] = [0, 1, 2].map(() => session[Symbol.asyncIterator]());
    const first = await Promise.all([idle!.next(), slow!.next(), quick!.next()]);
    const toEnd = async (reader: AsyncIterator<RunEvent>, place: number, pace: () => Promise<void> | undefined) => {
      const all: RunEvent[] = [first[place]!.value as RunEvent];
      for (;;) {
        const { value, done } = await reader.next();
        if (done === true) return all;
        all.push(value);
        await pace();
      }
    };
    let turns = 0;
    const slowly = toEnd(slow!, 1, () =>
      turns++ % 50 === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined,
    );
    const quickly = toEnd(quick!, 2, () => undefined);
    const { run, status } = await session.outcome;
    expect(status).toBe('completed');
    const { events } = await cloister.show(run);
    expect(events.length).toBeGreaterThan(3_000);
    const late = await collectAll(session);
    const read = [await toEnd(idle!, 0, () => undefined), await slowly, await quickly, late];
    for (const all of read) {
      expect(all.flatMap((event) => ('id' in event ? [event.id] : []))).toEqual(events.map(({ id }) => id));
    }
    // The reader that did not read missed most of the live pieces, and was told so.
    expect(read[0]!.some(({ type }) => type === 'text-lag')).toBe(true);
    expect(read[2]!.some(({ type }) => type === 'text-lag')).toBe(false);
  });
});

/** Notes what it is shown, without keeping it. */
const openModel = () => {
  const shown: WeakRef<object>[] = [];
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const language: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'fleeting',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Nobody asks for it.')),
    doStream: async ({ prompt }) => {
      // The system prompt belongs to the agent.
      shown.push(...prompt.filter(({ role }) => role !== 'system').map((message) => new WeakRef(message)));
      const parts: readonly LanguageModelV4StreamPart[] = [
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'Done.' },
        { type: 'text-end', id: '0' },
        { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
      ];
      return { stream: ReadableStream.from(parts) };
    },
  };
  return { language, shown };
};

test('whoever reads no further after the end of a run keeps nothing of what its agents were shown', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { language, shown } = openModel();
  const agent = defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [language] });
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  const session = cloister.run('lead', 'Go.');
  const reader = session[Symbol.asyncIterator]();
  await reader.next();
  await session.outcome;
  for (let left = 20; left > 0 && shown.some((one) => one.deref() !== undefined); left--) {
    await nextTurn();
    collect();
  }
  expect(shown.map((one) => one.deref())).toEqual(shown.map(() => undefined));
  // It still has its place, and the session what a caller may ask for.
  expect((await reader.next()).done).toBe(false);
  expect(session.agents()).toEqual([]);
});
