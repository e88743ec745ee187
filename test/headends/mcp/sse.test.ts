import { virtualClock } from '#testkit';
import { describe, expect, test } from 'vitest';
import { fakeService, mcpApp, testWorld } from './driver.ts';
import type { RoutedApp } from './driver.ts';
import { call, cancel, eventReader, initialize, request, send } from './messages.ts';

const open = async (routes: RoutedApp, caller = 'me', signal?: AbortSignal) => {
  const response = await send(routes, undefined, {
    caller,
    path: '/mcp/sse',
    method: 'GET',
    ...(signal === undefined ? {} : { signal }),
  });
  const events = eventReader(response.body);
  const first = await events.next();
  return { response, events, path: first?.data ?? '', first };
};

describe('HTTP with server-sent events', () => {
  test('the stream starts with the path of its session, and delivers the answers', async () => {
    const routes = await mcpApp(fakeService());
    const { events, path, first, response } = await open(routes);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(first).toMatchObject({ event: 'endpoint' });
    expect(path).toMatch(/^\/mcp\/messages\?session=[0-9a-f]{36}$/u);
    expect((await send(routes, initialize(), { path })).status).toBe(202);
    expect(await events.message()).toMatchObject({ id: 0, result: { protocolVersion: '2025-11-25' } });
    await send(routes, call(1, 'echo'), { path });
    expect(await events.message()).toMatchObject({ id: 1, result: { content: [{ text: 'me: "x"' }] } });
    await events.cancel();
  });

  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'it speaks the protocol of %s',
    async (version) => {
      const routes = await mcpApp(fakeService());
      const { events, path } = await open(routes);
      const clientInfo = { name: 'old', version: '1' };
      const params = { protocolVersion: version, capabilities: {}, clientInfo };
      await send(routes, request(0, 'initialize', params), { path });
      expect(await events.message()).toMatchObject({ id: 0, result: { protocolVersion: version } });
      await events.cancel();
    },
  );

  // invariants: sse-session-own-caller, sse-session-ends-with-stream
  test('a session exists only for its caller, and only until its stream ends', async () => {
    const fake = fakeService();
    const routes = await mcpApp(fake);
    const { events, path } = await open(routes, 'ann');
    const made = await send(routes, call(1, 'hang'), { path: '/mcp/messages?session=none', caller: 'ann' });
    const theirs = await send(routes, call(1, 'hang'), { path, caller: 'bob' });
    expect([made.status, theirs.status]).toEqual([404, 404]);
    expect(await theirs.text()).toBe(await made.text());
    expect(fake.started).toEqual([]);
    await send(routes, call(1, 'hang'), { path, caller: 'ann' });
    await fake.counts.waitFor('begin ann');
    await events.cancel();
    await fake.counts.waitFor('cancel ann');
    expect((await send(routes, call(2, 'echo'), { path, caller: 'ann' })).status).toBe(404);
  });

  test('a session ends when its client disconnects', async () => {
    const fake = fakeService();
    const routes = await mcpApp(fake);
    const gone = new AbortController();
    const { path, events } = await open(routes, 'me', gone.signal);
    await send(routes, call(1, 'hang'), { path });
    await fake.counts.waitFor('begin me');
    gone.abort();
    await fake.counts.waitFor('cancel me');
    expect(await events.next()).toBeNull();
    expect((await send(routes, call(2, 'echo'), { path })).status).toBe(404);
  });

  test('a cancellation message cancels the call', async () => {
    const fake = fakeService();
    const routes = await mcpApp(fake);
    const { path, events } = await open(routes);
    await send(routes, call(1, 'hang'), { path });
    await fake.counts.waitFor('begin me');
    await send(routes, cancel(1), { path });
    expect(await fake.counts.waitFor('cancel me')).toBe(1);
    await events.cancel();
  });

  test('an invalid message is refused in the response to its POST', async () => {
    const routes = await mcpApp(fakeService());
    const { path, events } = await open(routes);
    for (const body of [null, 1, 'x', {}, [request(1, 'ping')], { jsonrpc: '1.0', id: 1, method: 'ping' }]) {
      const response = await send(routes, body, { path });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32_600 } });
    }
    await events.cancel();
  });

  // invariant: mcp-id-belongs-to-request
  test('an id in use is refused, and can be reused once it is free', async () => {
    const fake = fakeService();
    const routes = await mcpApp(fake);
    const { path, events } = await open(routes);
    await send(routes, call('a', 'hang'), { path });
    const again = await send(routes, call('a', 'echo'), { path });
    expect(again.status).toBe(400);
    expect(await again.json()).toMatchObject({ id: null, error: { message: expect.stringMatching(/"a" is in use/u) } });
    await send(routes, cancel('a'), { path });
    expect((await send(routes, call('a', 'echo'), { path })).status).toBe(202);
    expect(await events.message()).toMatchObject({ id: 'a', result: { content: [{ text: 'me: "x"' }] } });
    await events.cancel();
    expect(fake.started.map(({ asked }) => asked.agent)).toEqual(['hang', 'echo']);
  });

  test('a caller may open a bounded number of streams, which does not affect others', async () => {
    const routes = await mcpApp(fakeService());
    const streams = await Promise.all(Array.from({ length: 64 }, () => open(routes, 'ann')));
    const more = await send(routes, undefined, { caller: 'ann', path: '/mcp/sse', method: 'GET' });
    expect(more.status).toBe(429);
    expect(await more.json()).toMatchObject({
      error: { message: expect.stringMatching(/Too many streams are open/u) },
    });
    const other = await open(routes, 'bob');
    await streams[0]!.events.cancel();
    const freed = await open(routes, 'ann');
    for (const { events } of [...streams, other, freed]) await events.cancel();
  });

  test('a silent stream gets comments', async () => {
    const clock = virtualClock();
    const routes = await mcpApp(fakeService(), testWorld(clock));
    const { events } = await open(routes);
    const next = events.nextBlock();
    await clock.advance(15_000);
    expect(await next).toEqual({ comment: 'keep-alive' });
    await events.cancel();
  });

  test('a comment is not taken for an answer', async () => {
    const clock = virtualClock();
    const routes = await mcpApp(fakeService(), testWorld(clock));
    const { events, path } = await open(routes);
    const message = events.message();
    await clock.advance(15_000);
    await send(routes, initialize(), { path });
    expect(await message).toMatchObject({ id: 0, result: {} });
    await events.cancel();
  });
});

describe('a client that does not read its stream', () => {
  test('has a bounded number of waiting answers; further requests are refused', async () => {
    const routes = await mcpApp(fakeService());
    const { path, events } = await open(routes);
    const statuses = [];
    for (let id = 0; id < 80; id++) statuses.push((await send(routes, request(id, 'ping'), { path })).status);
    expect(statuses).toEqual([...Array.from({ length: 64 }, () => 202), ...Array.from({ length: 16 }, () => 429)]);
    for (let id = 0; id < 64; id++) expect(await events.message()).toMatchObject({ id, result: {} });
    expect((await send(routes, request(99, 'ping'), { path })).status).toBe(202);
    expect(await events.message()).toMatchObject({ id: 99 });
    await events.cancel();
  });

  test('misses progress notifications, but no answer', async () => {
    const fake = fakeService({ notes: 5_000 });
    const routes = await mcpApp(fake);
    const { path, events } = await open(routes);
    await send(routes, call(1, 'busy', { _meta: { progressToken: 1 } }), { path });
    await fake.counts.waitFor('told me');
    fake.counts.add('heard');
    const messages = [];
    while (messages.at(-1)?.id !== 1) messages.push(await events.message());
    expect(messages).toHaveLength(17);
    await events.cancel();
  });

  // invariant: mcp-requests-bounded
  test('gets all long answers, each serialised only when the one before was taken', async () => {
    const fake = fakeService({ names: ['long', 'busy'], notes: 50 });
    const routes = await mcpApp(fake);
    const { path, events } = await open(routes);
    for (let id = 1; id <= 12; id++) expect((await send(routes, call(id, 'long'), { path })).status).toBe(202);
    await fake.counts.waitFor('begin me', 12);
    // While they wait, there is no room for notifications.
    await send(routes, call('b', 'busy', { _meta: { progressToken: 1 } }), { path });
    await fake.counts.waitFor('told me');
    fake.counts.add('heard');
    const ids = new Set<unknown>();
    for (let answer = 0; answer < 13; answer++) {
      const { id, result } = await events.message();
      ids.add(id);
      if (id !== 'b') expect(result.content[0].text).toHaveLength(1_000_000);
    }
    expect(ids).toEqual(new Set([...Array.from({ length: 12 }, (_, place) => place + 1), 'b']));
    await events.cancel();
  });

  test('is refused if its ids are too long', async () => {
    const routes = await mcpApp(fakeService());
    const { path, events } = await open(routes);
    const long = await send(routes, request('i'.repeat(257), 'ping'), { path });
    expect([long.status, await long.json()]).toMatchObject([
      400,
      { id: null, error: { message: 'The id is too long: at most 256 characters are allowed.' } },
    ]);
    expect((await send(routes, request('i'.repeat(256), 'ping'), { path })).status).toBe(202);
    expect(await events.message()).toMatchObject({ id: 'i'.repeat(256), result: {} });
    await events.cancel();
  });
});
