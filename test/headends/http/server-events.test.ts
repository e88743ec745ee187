// No text can start another event, or change the event that it is in.
import {
  array,
  assert as check,
  asyncProperty,
  constantFrom,
  oneof,
  option,
  property,
  record,
  string,
} from 'fast-check';
import { defineAgent } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { expect, test } from 'vitest';
import type { ServerEvent } from '#contracts';
import { encodeEvent, pulledStream } from '#testing/headends/http';
import { serveAgents } from './driver.ts';
import { parseEvents } from './parse-events.ts';
import type { ReadEvent } from './parse-events.ts';

const trickyTexts = [
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\r',
  '\r\n\r\n',
  '\n\r',
  'data:',
  'data: ',
  'data',
  '\n\nevent: evil\ndata: {}\n\n',
  '\r\revent: evil\rdata: x\r\r',
  'event: message_stop\n',
  'id: 7\n',
  'retry: 1\n',
  ':',
  ': comment\n\n',
  ' ',
  '\0',
  '\uFEFF',
  '\u2028',
  '\u2029',
  '\u0085',
  '\v',
  '\f',
  '\uD800',
  '\uDFFF',
  '😀',
  '{"a":"b"}',
  '[DONE]',
  '\ndata: [DONE]\n\n',
] as const;

const anyText = oneof(
  string({ unit: 'binary' }),
  string({ unit: 'grapheme' }),
  array(oneof(constantFrom(...trickyTexts), string({ unit: 'binary', maxLength: 3 })), { maxLength: 8 }).map((parts) =>
    parts.join(''),
  ),
);

const anyEvent = record(
  { event: option(anyText, { nil: undefined }), id: option(anyText, { nil: undefined }), data: anyText },
  { requiredKeys: ['data'] },
);

type AnyEvent = { readonly event?: string | undefined; readonly id?: string | undefined; readonly data: string };

const asEvent = ({ event, id, data }: AnyEvent): ServerEvent => ({
  data,
  ...(event === undefined ? {} : { event }),
  ...(id === undefined ? {} : { id }),
});

/** Names and ids have one line, all line ends of a text are read as the same, and lone surrogates are replaced. */
const read = (events: readonly AnyEvent[]): readonly ReadEvent[] => {
  let lastEventId = '';
  return events.map(({ event = '', id, data }) => {
    if (id !== undefined) lastEventId = oneLine(id);
    return {
      type: event === '' ? 'message' : oneLine(event),
      data: data.replaceAll(/\r\n|\r/gu, '\n').toWellFormed(),
      lastEventId,
    };
  });
};

const oneLine = (text: string): string => text.replaceAll(/[\r\n\0]/gu, ' ').toWellFormed();

// invariant: sse-text-stays-in-event
test('a reader gets back exactly the events that were encoded, for any text', () =>
  check(
    property(array(anyEvent, { maxLength: 5 }), (events) => {
      const bytes = new TextEncoder().encode(events.map((event) => encodeEvent(asEvent(event))).join(''));
      expect(parseEvents(bytes)).toEqual(read(events));
    }),
    { numRuns: 5_000 },
  ));

test('the same holds for a stream in parts with keep-alive comments in between', () =>
  check(
    asyncProperty(array(anyEvent, { maxLength: 4 }), async (events) => {
      const clock = virtualClock();
      const long = events.map((event) => ({ ...event, data: event.data + 'ä€😀\n'.repeat(5_000) }));
      const source = async function* (): AsyncGenerator<string> {
        for (const event of long) {
          await new Promise<void>((resolve) => void clock.timer(100, resolve));
          yield encodeEvent(asEvent(event));
        }
      };
      const stream = pulledStream(source(), { clock, stallMs: 30_000, idle: { ms: 40, text: ': keep-alive\n\n' } });
      const parts: Uint8Array[] = [];
      const reading = (async () => {
        for await (const part of stream) {
          parts.push(part);
          await clock.advance(10);
        }
      })();
      while (!(await Promise.race([reading.then(() => true), clock.advance(10).then(() => false)])));
      const bytes = Buffer.concat(parts);
      expect(parseEvents(bytes)).toEqual(read(long));
      if (long.length > 0) expect(bytes.toString()).toContain(': keep-alive');
    }),
    { numRuns: 50 },
  ));

test('a silent source is awaited once, however many keep-alive comments are sent', async () => {
  const clock = virtualClock();
  const next = Promise.withResolvers<IteratorResult<string>>();
  const { promise } = next;
  const then = promise.then.bind(promise);
  let waits = 0;
  const counting = (...given: Parameters<typeof then>) => (waits++, then(...given));
  Reflect.set(promise, 'then', counting);
  const source = { [Symbol.asyncIterator]: () => ({ next: () => promise }) };
  const reader = pulledStream(source, { clock, stallMs: 30_000, idle: { ms: 40, text: ':' } }).getReader();
  const texts: string[] = [];
  for (let time = 0; time < 50; time++) {
    const part = reader.read();
    await clock.advance(40);
    texts.push(Buffer.from((await part).value!).toString());
  }
  expect([waits, new Set(texts)]).toEqual([1, new Set([':'])]);
  const last = reader.read();
  next.resolve({ done: true, value: undefined });
  expect((await last).done).toBe(true);
});

test('JSON comes back unchanged, because it contains no line ends', () =>
  check(
    property(anyText, (text) => {
      const [event, ...others] = parseEvents(new TextEncoder().encode(encodeEvent({ data: JSON.stringify({ text }) })));
      expect(others).toEqual([]);
      expect(JSON.parse(event!.data)).toEqual({ text });
    }),
    { numRuns: 2_000 },
  ));

const messages = [{ role: 'user', content: 'hi' }];
const streams = {
  REST: ['/v1/lead', { input: 'hi', stream: true }],
  'OpenAI chat': ['/v1/chat/completions', { model: 'lead', stream: true, messages }],
  'OpenAI responses': ['/v1/responses', { model: 'lead', stream: true, input: 'hi' }],
  Anthropic: ['/v1/messages', { model: 'lead', max_tokens: 9, stream: true, messages }],
} as const;

/** Events without what differs from run to run, and without the texts. */
const outline = (events: readonly ReadEvent[]): readonly string[] =>
  events.map(({ type, data }) => {
    const value = data === '[DONE]' ? data : (JSON.parse(data) as { type?: string; object?: string });
    return `${type} ${typeof value === 'string' ? value : (value.type ?? value.object ?? '')}`;
  });

const pieces = [
  'a',
  '\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  'b\r\rdata: [DONE]\r\r',
  'c\u2028data: {}\u2029\n\n',
  'd\n\nid: 99\nevent: outcome\ndata: {"status":"completed"}\n\n',
  'e"}\n\n{"f": "\0\uFEFF',
  ': comment\n\nretry: 1\n\n!',
];
const harmless = ['a', 'b', 'c', 'd', 'e', 'f', '!'];

const streamOf = async (said: readonly string[], way: keyof typeof streams): Promise<readonly ReadEvent[]> => {
  const model = rehearse([{ reply: () => ({ pieces: said }) }]);
  const { ask, close } = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model] })],
  });
  const [path, json] = streams[way];
  const response = await ask(path, { json });
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const events = parseEvents(new Uint8Array(await response.arrayBuffer()));
  await close();
  return events;
};

test.for(Object.keys(streams) as (keyof typeof streams)[])(
  "a model's text makes no event of its own: %s",
  async (way) => {
    const [evil, good] = [await streamOf(pieces, way), await streamOf(harmless, way)];
    expect(outline(evil)).toEqual(outline(good));
    expect(outline(evil).length).toBeGreaterThan(4);
    expect(evil.map(({ lastEventId }) => lastEventId)).not.toContain('99');
    // The whole text is inside the event.
    const whole = JSON.stringify(pieces.join('')).slice(1, -1);
    const told = evil.map(({ data }) => data).join('');
    expect(way === 'REST' || way === 'OpenAI responses' ? told.includes(whole) : true).toBe(true);
    for (const sign of ['message_stop', '[DONE]', 'retry: 1']) expect(told).toContain(sign);
  },
);
