import { getEventListeners } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { virtualClock } from '#testkit';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#base';
import type { AdmittedRequest } from '#contracts';
import { httpRoute } from '../../../src/headends/mcp/http-route.ts';
import type { McpLibrary } from '../../../src/headends/mcp/server-factory.ts';
import { fakeService, mcpApp, testWorld } from './driver.ts';
import { call, cancel, eventReader, initialize, postHeaders, request, send } from './messages.ts';

const admittedRequest = (
  body: JsonObject,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): AdmittedRequest => ({
  caller: { name: 'me' },
  id: 'id',
  params: {},
  query: new URLSearchParams(),
  headers: new Headers({ ...postHeaders, ...headers }),
  body,
  signal,
});

describe('streamable HTTP without sessions', () => {
  test.each(['GET', 'DELETE'])('%s is told to POST', async (method) => {
    const response = await send(await mcpApp(fakeService()), undefined, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_000 } });
  });

  test('a batch of messages is refused, and none of them is served', async () => {
    const fake = fakeService();
    const response = await send(await mcpApp(fake), [call(1, 'echo'), call(1, 'echo')]);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: 'Send one JSON-RPC message at a time.' } });
    expect(fake.started).toEqual([]);
  });

  test('a call is answered by an event stream that ends with the answer', async () => {
    const response = await send(await mcpApp(fakeService()), call(7, 'echo'));
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(await eventReader(response.body).rest()).toMatchObject([
      { id: 7, result: { content: [{ text: 'me: "x"' }] } },
    ]);
  });

  test.each([
    ['a call', call(1, 'echo')],
    ['a list', request(1, 'tools/list')],
    ['a notice', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['no method', request(1, 'nothing')],
  ])('nothing of %s is kept after it is answered', async (_what, message) => {
    const { routes } = await mcpApp(fakeService());
    const { signal } = new AbortController();
    const reply = await routes[0]!.answer(admittedRequest(message, signal));
    if ('events' in reply) for await (const event of reply.events) void event;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a silent stream gets comments, so that the connection is not cut', async () => {
    const clock = virtualClock();
    const fake = fakeService();
    const stop = new AbortController();
    const response = await send(await mcpApp(fake, testWorld(clock)), call(1, 'hang'), { signal: stop.signal });
    const events = eventReader(response.body);
    for (let turn = 0; turn < 3; turn++) {
      const next = events.nextBlock();
      await clock.advance(15_000);
      expect(await next).toEqual({ comment: 'keep-alive' });
    }
    stop.abort();
    expect(await events.next()).toBeNull();
    expect(clock.waiting).toBe(0);
  });
});

test('nothing is kept of a request that the library fails to answer', async () => {
  const asked: AbortSignal[] = [];
  const library = {
    createMcpHandler: () => ({
      fetch: async ({ signal }: Request) => {
        asked.push(signal);
        if (asked.length === 1) throw new Error('It broke.');
        return new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } });
      },
    }),
  } as unknown as McpLibrary;
  const { answer } = httpRoute(library, () => expect.unreachable(), testWorld(virtualClock()));
  const { signal } = new AbortController();
  const sent = (body: JsonObject): AdmittedRequest => admittedRequest(body, signal, { 'mcp-session-id': 'tag' });
  await expect(answer(sent(call(1, 'echo')))).rejects.toThrow('It broke.');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  // The next request is the only one with this id, so it can be cancelled.
  await answer(sent(call(1, 'echo')));
  await answer(sent(cancel(1)));
  expect(asked.map(({ aborted }) => aborted)).toEqual([false, true]);
});

// invariant: mcp-server-per-request
test('of 2,000 concurrent calls with the same id, some of them aborted, each gets the answer for its own caller', async () => {
  const routes = await mcpApp(fakeService());
  const ask = async (n: number): Promise<void> => {
    const [caller, stop] = [`caller ${n % 100}`, new AbortController()];
    const asked = request(1, 'tools/call', { name: 'echo', arguments: { prompt: `question ${n}` } });
    const response = await send(routes, asked, { caller, tag: 'same', signal: stop.signal });
    if (n % 10 === 0) return stop.abort();
    const answers = await eventReader(response.body).rest();
    expect(answers).toMatchObject([{ id: 1, result: { content: [{ text: `${caller}: "question ${n}"` }] } }]);
  };
  await Promise.all(Array.from({ length: 2_000 }, (_, n) => ask(n)));
  expect.assertions(1_800);
});

describe('a client that disconnects', () => {
  // invariant: mcp-exchange-ends-with-client
  test('cancels its call by closing the request', async () => {
    const fake = fakeService();
    const stop = new AbortController();
    await send(await mcpApp(fake), call(1, 'hang'), { signal: stop.signal });
    await fake.counts.waitFor('begin me');
    stop.abort();
    expect(await fake.counts.waitFor('cancel me')).toBe(1);
  });

  // invariant: mcp-exchange-ends-with-client
  test('cancels its call by cancelling the response body', async () => {
    const fake = fakeService();
    const response = await send(await mcpApp(fake), call(1, 'hang'));
    await fake.counts.waitFor('begin me');
    await response.body!.cancel();
    expect(await fake.counts.waitFor('cancel me')).toBe(1);
  });

  test('while its call is being prepared leaves nothing behind', async () => {
    const fake = fakeService();
    const stop = new AbortController();
    const answering = send(await mcpApp(fake), call(1, 'hang'), { signal: stop.signal });
    stop.abort();
    expect(await eventReader((await answering).body).rest()).toEqual([]);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(fake.counts.count('cancel me')).toBe(fake.counts.count('begin me'));
  });

  test('before its request is handled starts nothing', async () => {
    const fake = fakeService();
    await send(await mcpApp(fake), call(1, 'hang'), { signal: AbortSignal.abort() });
    expect(fake.counts.count('begin me')).toBe(0);
  });
});

describe('a cancellation in another POST', () => {
  const scene = async () => {
    const fake = fakeService();
    const routes = await mcpApp(fake);
    const response = await send(routes, initialize());
    const tag = response.headers.get('mcp-session-id')!;
    await response.text();
    return { fake, routes, tag };
  };

  test('ends the call of that client and id, whose stream ends without an answer', async () => {
    const { fake, routes, tag } = await scene();
    const response = await send(routes, call(5, 'hang'), { tag });
    await fake.counts.waitFor('begin me');
    expect((await send(routes, cancel(5), { tag })).status).toBe(202);
    await fake.counts.waitFor('cancel me');
    expect(await eventReader(response.body).rest()).toEqual([]);
  });

  test.each([
    ['of another caller', { caller: 'other' }],
    ['of another client of the same caller', { tag: 'another' }],
    ['of nobody in particular', { tag: undefined }],
  ])('%s ends nothing', async (_whose, theirs) => {
    const { fake, routes, tag } = await scene();
    const stop = new AbortController();
    await send(routes, call(5, 'hang'), { tag, signal: stop.signal });
    await fake.counts.waitFor('begin me');
    const { tag: other, ...rest } = { tag, ...theirs };
    expect((await send(routes, cancel(5), { ...rest, ...(other === undefined ? {} : { tag: other }) })).status).toBe(
      202,
    );
    expect(fake.counts.count('cancel me')).toBe(0);
    stop.abort();
    await fake.counts.waitFor('cancel me');
  });

  // invariant: mcp-cancel-unambiguous
  test('ends nothing if two calls of that client share the id, and one once the other has ended', async () => {
    const { fake, routes, tag } = await scene();
    const stop = new AbortController();
    const first = await send(routes, call(5, 'hang'), { tag, signal: stop.signal });
    await send(routes, call(5, 'hang'), { tag });
    await fake.counts.waitFor('begin me', 2);
    await send(routes, cancel(5), { tag });
    expect(fake.counts.count('cancel me')).toBe(0);
    stop.abort();
    expect(await eventReader(first.body).rest()).toEqual([]);
    await fake.counts.waitFor('cancel me');
    await send(routes, cancel(5), { tag });
    await fake.counts.waitFor('cancel me', 2);
  });

  test('does not confuse 5 with "5"', async () => {
    const { fake, routes, tag } = await scene();
    const stop = new AbortController();
    await send(routes, call(5, 'hang'), { tag, signal: stop.signal });
    await fake.counts.waitFor('begin me');
    await send(routes, cancel('5'), { tag });
    expect(fake.counts.count('cancel me')).toBe(0);
    stop.abort();
  });

  test('needs no stored state: every client gets its own tag, and any tag is accepted', async () => {
    const routes = await mcpApp(fakeService());
    const tags = new Set<string | null>();
    for (let turn = 0; turn < 20; turn++) tags.add((await send(routes, initialize())).headers.get('mcp-session-id'));
    expect(tags.size).toBe(20);
    expect((await send(routes, request(1, 'tools/list'), { tag: 'made up' })).status).toBe(200);
  });
});

describe('a client that reads slowly', () => {
  test('gets a long answer in parts, and is dropped if it takes none for 30 seconds', async () => {
    const clock = virtualClock();
    const fake = fakeService({ names: ['long'] });
    const response = await send(await mcpApp(fake, testWorld(clock)), call(1, 'long'));
    const reader = response.body!.getReader();
    for (let part = 0; part < 4; part++) {
      expect((await reader.read()).value!.length).toBe(16 * 1024);
      await clock.advance(29_999);
    }
    await clock.advance(1);
    await expect(reader.read()).rejects.toThrow('The reader has stalled.');
    expect(clock.waiting).toBe(0);
  });

  test('has its call cancelled when it is dropped', async () => {
    const clock = virtualClock();
    const fake = fakeService();
    const response = await send(await mcpApp(fake, testWorld(clock)), call(1, 'hang'));
    const first = response.body!.getReader().read();
    await clock.advance(15_000);
    expect((await first).done).toBe(false);
    await clock.advance(30_000);
    expect(await fake.counts.waitFor('cancel me')).toBe(1);
  });

  test('gets a bounded number of progress notifications, whatever happens, and then the answer', async () => {
    const fake = fakeService({ notes: 5_000 });
    const response = await send(await mcpApp(fake), call(1, 'busy', { _meta: { progressToken: 'p' } }));
    await fake.counts.waitFor('told me');
    fake.counts.add('heard');
    const messages = await eventReader(response.body).rest();
    const notes = messages.filter(({ method }) => method === 'notifications/progress');
    expect(notes).toHaveLength(16);
    expect(messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'Done.' }] } });
  });
});

test('the size of a long progress token counts against the room for notifications', async () => {
  const fake = fakeService({ notes: 50 });
  const _meta = { progressToken: 'p'.repeat(100_000) };
  const response = await send(await mcpApp(fake), call(1, 'busy', { _meta }));
  await fake.counts.waitFor('told me');
  fake.counts.add('heard');
  const messages = await eventReader(response.body).rest();
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
