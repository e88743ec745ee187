import { getEventListeners } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { virtualClock } from '#testkit';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#base';
import type { AdmittedRequest } from '#contracts';
import { httpRoute } from '../../../src/headends/mcp/http-route.ts';
import type { Library } from '../../../src/headends/mcp/server-for.ts';
import { fakeServing, routesOf, worldWith } from './driver.ts';
import { call, cancel, eventsOf, initialize, posted, request, send } from './messages.ts';

const called = (
  body: JsonObject,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): AdmittedRequest => ({
  caller: { name: 'me' },
  id: 'id',
  params: {},
  query: new URLSearchParams(),
  headers: new Headers({ ...posted, ...headers }),
  body,
  signal,
});

describe('streamable HTTP without sessions', () => {
  test.each(['GET', 'DELETE'])('%s is told to POST', async (method) => {
    const response = await send(await routesOf(fakeServing()), undefined, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_000 } });
  });

  test('several messages at once are refused, and none of them is served', async () => {
    const fake = fakeServing();
    const response = await send(await routesOf(fake), [call(1, 'echo'), call(1, 'echo')]);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: 'Send one JSON-RPC message at a time.' } });
    expect(fake.begun).toEqual([]);
  });

  test('a call is answered by a stream of events that ends with it', async () => {
    const response = await send(await routesOf(fakeServing()), call(7, 'echo'));
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(await eventsOf(response.body).rest()).toMatchObject([{ id: 7, result: { content: [{ text: 'me: "x"' }] } }]);
  });

  test.each([
    ['a call', call(1, 'echo')],
    ['a list', request(1, 'tools/list')],
    ['a notice', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['no method', request(1, 'nothing')],
  ])('nothing of %s is kept when it has been answered', async (_what, message) => {
    const { routes } = await routesOf(fakeServing());
    const { signal } = new AbortController();
    const reply = await routes[0]!.answer(called(message, signal));
    if ('events' in reply) for await (const event of reply.events) void event;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('silence is broken by a comment, so that the connection is not cut', async () => {
    const clock = virtualClock();
    const fake = fakeServing();
    const stop = new AbortController();
    const response = await send(await routesOf(fake, worldWith(clock)), call(1, 'hang'), { signal: stop.signal });
    const events = eventsOf(response.body);
    for (let turn = 0; turn < 3; turn++) {
      const next = events.next();
      await clock.advance(15_000);
      expect(await next).toEqual({ comment: 'keep-alive' });
    }
    stop.abort();
    expect(await events.next()).toBeNull();
    expect(clock.waiting).toBe(0);
  });
});

test('nothing is kept of a request that the library could not answer', async () => {
  const asked: AbortSignal[] = [];
  const library = {
    createMcpHandler: () => ({
      fetch: async ({ signal }: Request) => {
        asked.push(signal);
        if (asked.length === 1) throw new Error('It broke.');
        return new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } });
      },
    }),
  } as unknown as Library;
  const { answer } = httpRoute(library, () => expect.unreachable(), worldWith(virtualClock()));
  const { signal } = new AbortController();
  const sent = (body: JsonObject): AdmittedRequest => called(body, signal, { 'mcp-session-id': 'tag' });
  await expect(answer(sent(call(1, 'echo')))).rejects.toThrow('It broke.');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  // The next one of the same id is the only one, and can be cancelled.
  await answer(sent(call(1, 'echo')));
  await answer(sent(cancel(1)));
  expect(asked.map(({ aborted }) => aborted)).toEqual([false, true]);
});

test('of 2,000 calls at once with the same id, some of them given up, each gets the answer of its own caller', async () => {
  const routes = await routesOf(fakeServing());
  const ask = async (n: number): Promise<void> => {
    const [caller, stop] = [`caller ${n % 100}`, new AbortController()];
    const asked = request(1, 'tools/call', { name: 'echo', arguments: { prompt: `question ${n}` } });
    const response = await send(routes, asked, { caller, tag: 'same', signal: stop.signal });
    if (n % 10 === 0) return stop.abort();
    const answers = await eventsOf(response.body).rest();
    expect(answers).toMatchObject([{ id: 1, result: { content: [{ text: `${caller}: "question ${n}"` }] } }]);
  };
  await Promise.all(Array.from({ length: 2_000 }, (_, n) => ask(n)));
  expect.assertions(1_800);
});

describe('a client that goes away', () => {
  test('cancels its call by closing the request', async () => {
    const fake = fakeServing();
    const stop = new AbortController();
    await send(await routesOf(fake), call(1, 'hang'), { signal: stop.signal });
    await fake.happened.seen('begin me');
    stop.abort();
    expect(await fake.happened.seen('cancel me')).toBe(1);
  });

  test('cancels its call by reading no further', async () => {
    const fake = fakeServing();
    const response = await send(await routesOf(fake), call(1, 'hang'));
    await fake.happened.seen('begin me');
    await response.body!.cancel();
    expect(await fake.happened.seen('cancel me')).toBe(1);
  });

  test('while its call is made ready leaves nothing behind', async () => {
    const fake = fakeServing();
    const stop = new AbortController();
    const answering = send(await routesOf(fake), call(1, 'hang'), { signal: stop.signal });
    stop.abort();
    expect(await eventsOf((await answering).body).rest()).toEqual([]);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(fake.happened.count('cancel me')).toBe(fake.happened.count('begin me'));
  });

  test('and had gone before it was heard begins nothing', async () => {
    const fake = fakeServing();
    await send(await routesOf(fake), call(1, 'hang'), { signal: AbortSignal.abort() });
    expect(fake.happened.count('begin me')).toBe(0);
  });
});

describe('a cancellation that comes with another POST', () => {
  const scene = async () => {
    const fake = fakeServing();
    const routes = await routesOf(fake);
    const response = await send(routes, initialize());
    const tag = response.headers.get('mcp-session-id')!;
    await response.text();
    return { fake, routes, tag };
  };

  test('ends the call of that client and id, whose stream then ends unanswered', async () => {
    const { fake, routes, tag } = await scene();
    const response = await send(routes, call(5, 'hang'), { tag });
    await fake.happened.seen('begin me');
    expect((await send(routes, cancel(5), { tag })).status).toBe(202);
    await fake.happened.seen('cancel me');
    expect(await eventsOf(response.body).rest()).toEqual([]);
  });

  test.each([
    ['of another caller', { caller: 'other' }],
    ['of another client of the same caller', { tag: 'another' }],
    ['of nobody in particular', { tag: undefined }],
  ])('%s ends nothing', async (_whose, theirs) => {
    const { fake, routes, tag } = await scene();
    const stop = new AbortController();
    await send(routes, call(5, 'hang'), { tag, signal: stop.signal });
    await fake.happened.seen('begin me');
    const { tag: other, ...rest } = { tag, ...theirs };
    expect((await send(routes, cancel(5), { ...rest, ...(other === undefined ? {} : { tag: other }) })).status).toBe(
      202,
    );
    expect(fake.happened.count('cancel me')).toBe(0);
    stop.abort();
    await fake.happened.seen('cancel me');
  });

  test('ends nothing when two calls of that client have that id, and one when the other has ended', async () => {
    const { fake, routes, tag } = await scene();
    const stop = new AbortController();
    const first = await send(routes, call(5, 'hang'), { tag, signal: stop.signal });
    await send(routes, call(5, 'hang'), { tag });
    await fake.happened.seen('begin me', 2);
    await send(routes, cancel(5), { tag });
    expect(fake.happened.count('cancel me')).toBe(0);
    stop.abort();
    expect(await eventsOf(first.body).rest()).toEqual([]);
    await fake.happened.seen('cancel me');
    await send(routes, cancel(5), { tag });
    await fake.happened.seen('cancel me', 2);
  });

  test('does not take 5 for "5"', async () => {
    const { fake, routes, tag } = await scene();
    const stop = new AbortController();
    await send(routes, call(5, 'hang'), { tag, signal: stop.signal });
    await fake.happened.seen('begin me');
    await send(routes, cancel('5'), { tag });
    expect(fake.happened.count('cancel me')).toBe(0);
    stop.abort();
  });

  test('needs no memory: every client gets a tag of its own, and any tag is served', async () => {
    const routes = await routesOf(fakeServing());
    const tags = new Set<string | null>();
    for (let turn = 0; turn < 20; turn++) tags.add((await send(routes, initialize())).headers.get('mcp-session-id'));
    expect(tags.size).toBe(20);
    expect((await send(routes, request(1, 'tools/list'), { tag: 'made up' })).status).toBe(200);
  });
});

describe('a client that reads slowly', () => {
  test('gets what is long in parts, and is dropped when it takes none for 30 seconds', async () => {
    const clock = virtualClock();
    const fake = fakeServing({ names: ['long'] });
    const response = await send(await routesOf(fake, worldWith(clock)), call(1, 'long'));
    const reader = response.body!.getReader();
    for (let part = 0; part < 4; part++) {
      expect((await reader.read()).value!.length).toBe(16 * 1024);
      await clock.advance(29_999);
    }
    await clock.advance(1);
    await expect(reader.read()).rejects.toThrow('The reader takes nothing.');
    expect(clock.waiting).toBe(0);
  });

  test('and is dropped loses its call', async () => {
    const clock = virtualClock();
    const fake = fakeServing();
    const response = await send(await routesOf(fake, worldWith(clock)), call(1, 'hang'));
    const first = response.body!.getReader().read();
    await clock.advance(15_000);
    expect((await first).done).toBe(false);
    await clock.advance(30_000);
    expect(await fake.happened.seen('cancel me')).toBe(1);
  });

  test('is told a bounded number of notes, whatever happens meanwhile, and then the answer', async () => {
    const fake = fakeServing({ notes: 5_000 });
    const response = await send(await routesOf(fake), call(1, 'busy', { _meta: { progressToken: 'p' } }));
    await fake.happened.seen('told me');
    fake.happened.add('heard');
    const messages = await eventsOf(response.body).rest();
    const notes = messages.filter(({ method }) => method === 'notifications/progress');
    expect(notes).toHaveLength(16);
    expect(messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'Done.' }] } });
  });
});

test('notes with a token that is long wait only as far as there is room for them', async () => {
  const fake = fakeServing({ notes: 50 });
  const _meta = { progressToken: 'p'.repeat(100_000) };
  const response = await send(await routesOf(fake), call(1, 'busy', { _meta }));
  await fake.happened.seen('told me');
  fake.happened.add('heard');
  const messages = await eventsOf(response.body).rest();
  expect(messages.map(({ method, id }) => method ?? id)).toEqual([
    'notifications/progress',
    'notifications/progress',
    1,
  ]);
});

test('the library is loaded only when it is needed', () => {
  const folder = new URL('../../../src/headends/mcp/', import.meta.url);
  const loads = readdirSync(folder).filter((name) =>
    /^(?:import|export) (?!type)[^;=]* from '@modelcontextprotocol/mu.test(readFileSync(new URL(name, folder), 'utf8')),
  );
  expect(loads).toEqual([]);
});
