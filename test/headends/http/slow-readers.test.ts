// Readers that are slow or do not read at all: what waits for them is bounded, they are dropped, and nobody else has to wait.
import { once } from 'node:events';
import { asyncProperty, assert as check, integer, array, constantFrom } from 'fast-check';
import { defineAgent } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { RouteReply, ServedSocket, ServerEvent } from '#contracts';
import { pulledStream } from '#testing/headends/http';
import { testHeaders, serveTestRoutes } from './test-server.ts';
import { serveAgents } from './driver.ts';
import { parseEvents } from './parse-events.ts';
import { encodeHead, openRawConnection } from './raw-client.ts';

const kib = 1024;

/** An endless source of texts that counts how many were requested. */
const endless = (text: string) => {
  const seen = { texts: 0, closed: false };
  const source = async function* (): AsyncGenerator<string> {
    try {
      for (;;) {
        seen.texts += 1;
        yield text;
      }
    } finally {
      seen.closed = true;
    }
  };
  return { seen, source: source() };
};

const openReader = (
  source: AsyncIterable<string | Uint8Array>,
  more: Partial<Parameters<typeof pulledStream>[1]> = {},
) => {
  const clock = virtualClock();
  const dropped: string[] = [];
  const stream = pulledStream(source, { clock, stallMs: 30_000, onDropped: (why) => dropped.push(why), ...more });
  return { clock, dropped, reader: stream.getReader() };
};

test('a source is not read while its reader does not read', async () => {
  const { seen, source } = endless('x');
  const { clock } = openReader(source);
  await clock.advance(3_600_000);
  expect(seen).toEqual({ texts: 0, closed: false });
});

// invariant: stream-one-text-waits
test('at most one text is taken from the source but not read, for any texts and any reader', () =>
  check(
    asyncProperty(
      array(constantFrom(1, 100, 16 * kib - 1, 16 * kib, 16 * kib + 1, 256 * kib), { minLength: 1, maxLength: 20 }),
      integer({ min: 1, max: 40 }),
      async (sizes, reads) => {
        let taken = 0;
        const source = async function* (): AsyncGenerator<string> {
          for (const size of sizes) {
            taken += size;
            yield 'x'.repeat(size);
          }
        };
        const { reader, clock } = openReader(source());
        let read = 0;
        for (let time = 0; time < reads; time++) {
          const { value, done } = await reader.read();
          if (done) break;
          expect(value.length).toBeLessThanOrEqual(16 * kib);
          read += value.length;
          await clock.advance(1_000);
          expect(taken - read).toBeLessThanOrEqual(256 * kib);
        }
        await reader.cancel();
        expect(clock.waiting).toBe(0);
      },
    ),
    { numRuns: 50 },
  ));

// invariant: stream-stalled-reader-dropped
test('a reader that takes nothing for 30 seconds is dropped, and its source is closed', async () => {
  const { seen, source } = endless('x'.repeat(10));
  const { clock, reader, dropped } = openReader(source);
  await reader.read();
  await clock.advance(29_999);
  expect([dropped, seen.closed]).toEqual([[], false]);
  await clock.advance(1);
  expect(dropped).toEqual(['stalled']);
  expect(seen).toEqual({ texts: 1, closed: true });
  await expect(reader.read()).rejects.toThrow('has stalled');
  expect(clock.waiting).toBe(0);
});

test('a reader that takes a little every 29 seconds is kept', async () => {
  const { source } = endless('x'.repeat(100 * kib));
  const { clock, reader, dropped } = openReader(source);
  for (let time = 0; time < 100; time++) {
    expect((await reader.read()).value?.length).toBeGreaterThan(0);
    await clock.advance(29_000);
  }
  expect(dropped).toEqual([]);
  await clock.advance(1_000);
  expect(dropped).toEqual(['stalled']);
});

test('a reader may wait for any time, and gets keep-alive comments', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const source = async function* (): AsyncGenerator<string> {
    await promise;
    yield 'at last';
  };
  const { clock, reader, dropped } = openReader(source(), { idle: { ms: 15_000, text: ': here\n\n' } });
  const words = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
  for (let time = 0; time < 10; time++) {
    const next = words();
    await clock.advance(14_999);
    await clock.advance(1);
    expect(await next).toBe(': here\n\n');
  }
  const next = words();
  await clock.advance(7_000);
  resolve();
  expect(await next).toBe('at last');
  expect((await reader.read()).done).toBe(true);
  expect([dropped, clock.waiting]).toEqual([[], 0]);
});

test('a reader that does not even take keep-alive comments is dropped while its source waits', async () => {
  const source = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) };
  const { clock, reader, dropped } = openReader(source, { idle: { ms: 15_000, text: ':\n\n' } });
  const first = reader.read();
  await clock.advance(15_000);
  await first;
  await clock.advance(30_000);
  expect(dropped).toEqual(['stalled']);
  expect(clock.waiting).toBe(0);
});

test('a source that fails cuts the connection, so that the stream does not look complete', async () => {
  const source = async function* (): AsyncGenerator<string> {
    yield 'half';
    throw new Error('a defect');
  };
  const failed: unknown[] = [];
  const told = openReader(source(), { onFailed: (error) => failed.push(error) });
  await told.reader.read();
  await expect(told.reader.read()).rejects.toThrow('a defect');
  expect(failed).toEqual([new Error('a defect')]);
  let cuts = 0;
  const cut = openReader(source(), { cut: () => void (cuts += 1) });
  await cut.reader.read();
  expect((await cut.reader.read()).done).toBe(true);
  expect(cuts).toBe(1);
  expect([told.clock.waiting, cut.clock.waiting]).toEqual([0, 0]);
});

test('empty texts are skipped, and long ones arrive complete', async () => {
  const long = 'äöü€😀'.repeat(50_000);
  const source = async function* (): AsyncGenerator<string | Uint8Array> {
    yield* ['', '', long, '', 'end'];
    yield new Uint8Array();
    yield new TextEncoder().encode('!');
  };
  const { reader } = openReader(source());
  const parts: Uint8Array[] = [];
  for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
  expect(Buffer.concat(parts).toString()).toBe(`${long}end!`);
});

const eventsOf = (source: AsyncIterable<string>): AsyncIterable<ServerEvent> =>
  (async function* () {
    for await (const data of source) yield { data };
  })();

test('a socket that is not read buffers little and is closed with its source, while others are served', async () => {
  const stuck = endless('x'.repeat(10 * kib));
  let aborted = 0;
  const { url, responses, answered } = await serveTestRoutes({
    limits: { stallMs: 400 },
    getRoutes: {
      stuck: (signal) => {
        signal.addEventListener('abort', () => (aborted += 1));
        return { events: eventsOf(stuck.source) };
      },
      good: () => ({ events: eventsOf(several('y'.repeat(10 * kib), 1_000)) }),
    },
  });
  const peers = await Promise.all(Array.from({ length: 3 }, () => openRawConnection(url)));
  const headers = testHeaders(url);
  const [slow] = peers;
  slow!.socket.pause();
  slow!.write(encodeHead({ path: '/stuck', headers }));
  await until(() => responses[0]?.writableNeedDrain === true);
  const closed = once(responses[0]!, 'close');
  const good = await fetch(`${url}/good`, { headers: { authorization: 'Bearer right' } });
  expect(Buffer.byteLength(await good.text())).toBe(1_000 * (10 * kib + 'data: \n\n'.length));
  const { writableLength, socket } = responses[0]!;
  expect(writableLength + (socket?.writableLength ?? 0)).toBeLessThanOrEqual(256 * kib);
  await closed;
  expect([stuck.seen.closed, aborted]).toEqual([true, 1]);
  // Dropping a reader is not reported as a defect.
  expect(answered.map(({ path, status, defect }) => [path, status, defect])).toEqual([
    ['/stuck', 200, undefined],
    ['/good', 200, undefined],
  ]);
  slow!.socket.resume();
  await slow!.ended;
});

test('an event source that can be ended while it waits is ended as soon as its reader leaves', async () => {
  const ends: string[] = [];
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const replyOf = (name: string, next: () => Promise<IteratorResult<ServerEvent>>) => (): RouteReply => ({
    headers: { 'x-frame-options': 'ALLOW' },
    events: {
      [Symbol.asyncIterator]: () => ({
        next,
        return: async () => {
          ends.push(name);
          if (name === 'silent') leave();
          return { done: true, value: undefined };
        },
      }),
    },
  });
  const { url, responses } = await serveTestRoutes({
    limits: { stallMs: 400 },
    getRoutes: {
      stuck: replyOf('stuck', async () => ({ done: false, value: { data: 'x'.repeat(10 * kib) } })),
      silent: replyOf('silent', () => new Promise(() => undefined)),
    },
  });
  const headers = testHeaders(url);
  const peer = await openRawConnection(url);
  peer.socket.pause();
  peer.write(encodeHead({ path: '/stuck', headers }));
  await until(() => responses.length === 1);
  await once(responses[0]!, 'close');
  expect(ends).toEqual(['stuck']);
  const silent = await fetch(`${url}/silent`, { headers: { authorization: 'Bearer right' } });
  expect(silent.headers.get('x-frame-options')).toBe('DENY');
  await silent.body!.cancel();
  await left;
  expect(ends).toEqual(['stuck', 'silent']);
});

test('a stream that fails is cut off without a message, and the operator is told', async () => {
  const defect = new Error('a secret');
  const heardHalf = { '/events': Promise.withResolvers<void>(), '/by-hand': Promise.withResolvers<void>() };
  const events = (async function* () {
    yield { data: 'half' };
    await heardHalf['/events'].promise;
    throw defect;
  })();
  let asked = 0;
  const next = async (): Promise<IteratorResult<ServerEvent>> => {
    if (asked++ === 0) return { done: false, value: { data: 'half' } };
    await heardHalf['/by-hand'].promise;
    throw defect;
  };
  const { url, answered } = await serveTestRoutes({
    getRoutes: {
      events: () => ({ events }),
      'by-hand': () => ({ events: { [Symbol.asyncIterator]: () => ({ next }) } }),
    },
  });
  for (const path of ['/events', '/by-hand'] as const) {
    const peer = await openRawConnection(url);
    let received = '';
    peer.socket.on('data', (bytes: Buffer) => {
      received += bytes.toString();
      if (received.includes('data: half')) heardHalf[path].resolve();
    });
    peer.write(encodeHead({ path, headers: testHeaders(url) }));
    await peer.ended;
    expect(received).toContain('data: half');
    expect(received).not.toMatch(/secret|Error/u);
    // The end of a chunked body.
    expect(received).not.toMatch(/\r\n0\r\n\r\n$/u);
  }
  expect(answered.map(({ path, status, defect: why }) => [path, status, why])).toEqual([
    ['/events', 200, undefined],
    ['/events', 500, defect],
    ['/by-hand', 200, undefined],
    ['/by-hand', 500, defect],
  ]);
});

async function* several(text: string, times: number): AsyncGenerator<string> {
  for (let time = 0; time < times; time++) yield text;
}

/** Checks again in every turn of the event loop. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise(setImmediate);
};

// invariant: slow-connection-closed
test('a complete response that is not read is dropped, too', async () => {
  const body = 'x'.repeat(32 * kib * kib);
  const { url, responses } = await serveTestRoutes({
    limits: { stallMs: 400 },
    getRoutes: { large: () => ({ status: 200, body }), small: () => ({ status: 200, body: 'small' }) },
  });
  const headers = testHeaders(url);
  const peer = await openRawConnection(url);
  peer.socket.pause();
  // The second waits for the first on the same connection.
  peer.write(encodeHead({ path: '/large', headers }) + encodeHead({ path: '/large', headers }));
  await until(() => responses.length === 2);
  await Promise.all(responses.map((response) => once(response, 'close')));
  expect(responses.map((response) => response.writableFinished)).toEqual([false, false]);
  const healthy = await fetch(`${url}/large`, { headers: { authorization: 'Bearer right' } });
  expect(await healthy.json()).toBe(body);
});

test('a connection that waits for a long run is kept', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { url } = await serveTestRoutes({
    limits: { stallMs: 400, keepAliveMs: 60_000 },
    getRoutes: {
      late: () => ({
        events: (async function* () {
          await promise;
          yield { data: 'late' };
        })(),
      }),
      soon: () => ({ status: 200, body: 'soon' }),
    },
  });
  const late = fetch(`${url}/late`, { headers: { authorization: 'Bearer right' } });
  // An unused connection is closed within the time that the other one waits.
  const idle = await openRawConnection(url);
  await idle.ended;
  const another = await openRawConnection(url);
  await another.ended;
  resolve();
  expect(await (await late).text()).toBe('data: late\n\n');
});

test('a connection is closed once it is idle', async () => {
  const { url } = await serveTestRoutes({
    limits: { idleMs: 100 },
    getRoutes: { soon: () => ({ status: 200, body: 'soon' }) },
  });
  const peer = await openRawConnection(url);
  peer.write(encodeHead({ path: '/soon', headers: testHeaders(url) }));
  expect((await peer.nextReply()).body).toBe('"soon"');
  expect(await peer.ended).toBe('');
});

test('a WebSocket that is not read is closed when too much is waiting', async () => {
  let sent = 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const text = 'x'.repeat(64 * kib);
  const { url } = await serveTestRoutes({
    sockets: [
      {
        path: '/socket',
        protocol: 'texts',
        open: (socket: ServedSocket) => {
          let open = true;
          socket.onClose(() => {
            open = false;
            end();
          });
          const more = (): void => {
            if (!open) return;
            void socket.send(text);
            sent += 1;
            setImmediate(more);
          };
          more();
        },
      },
    ],
  });
  const client = new WebSocket(`${url.replace('http', 'ws')}/socket`, ['texts'], {
    headers: { authorization: 'Bearer right' },
  });
  client.on('error', () => undefined);
  await once(client, 'open');
  client.pause();
  await ended;
  // The rest is in the buffers of the operating system.
  expect(sent * 64 * kib).toBeLessThan(64 * kib * kib);
  client.terminate();
});

test('a WebSocket that is read gets long texts, the texts after them, and then the close', async () => {
  const texts = ['x'.repeat(8 * kib * kib), 'note', 'y'.repeat(4 * kib * kib)];
  const { url } = await serveTestRoutes({
    sockets: [
      {
        path: '/socket',
        protocol: 'texts',
        open: (socket: ServedSocket) => {
          const sending = async (): Promise<void> => {
            for (const text of texts) await socket.send(text);
            socket.close();
            await socket.send('too late');
          };
          void sending();
        },
      },
    ],
  });
  const client = new WebSocket(`${url.replace('http', 'ws')}/socket`, ['texts'], {
    headers: { authorization: 'Bearer right' },
  });
  const received: string[] = [];
  client.on('message', (data: Buffer) => received.push(data.toString()));
  const [code] = (await once(client, 'close')) as [number];
  expect(received.map((text) => [text.length, text.slice(0, 4)])).toEqual(
    texts.map((text) => [text.length, text.slice(0, 4)]),
  );
  expect(code).toBe(1005);
});

test('a WebSocket is closed if its reader stalls or its peer has vanished', async () => {
  const clock = virtualClock();
  const closes: string[] = [];
  const socketOf = (path: string, text: string) => ({
    path,
    protocol: 'texts',
    open: (socket: ServedSocket) => {
      socket.onClose(() => closes.push(path));
      if (text !== '') void socket.send(text);
    },
  });
  const { url } = await serveTestRoutes({
    clock,
    sockets: [socketOf('/stuck', 'x'.repeat(32 * kib * kib)), socketOf('/silent', '')],
  });
  const open = async (path: string, options: object = {}): Promise<WebSocket> => {
    const client = new WebSocket(url.replace('http', 'ws') + path, ['texts'], {
      headers: { authorization: 'Bearer right' },
      ...options,
    });
    client.on('error', () => undefined);
    await once(client, 'open');
    return client;
  };
  const stuck = await open('/stuck');
  stuck.pause();
  const silent = await open('/silent', { autoPong: false });
  const well = await open('/silent');
  const pinged = once(well, 'ping');
  await clock.advance(30_000);
  await pinged;
  await until(() => closes.includes('/stuck'));
  expect(closes).toEqual(['/stuck']);
  const again = once(well, 'ping');
  await until(() => well.readyState === WebSocket.OPEN);
  await clock.advance(30_000);
  await Promise.race([again, once(silent, 'close')]);
  await until(() => closes.length === 2);
  stuck.terminate();
  well.terminate();
});

test('a client that does not read misses live pieces and is told so, but gets every recorded event', async () => {
  const pieces = Array.from({ length: 60 }, (_, place) => `${place} ${'zebra '.repeat(5 * kib)}`);
  const model = rehearse([{ reply: () => ({ pieces, usage: { input: 10, output: 10 } }) }]);
  const ended = Promise.withResolvers<void>();
  const { url, token, cloister } = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model] })],
    log: (line) => line.type === 'run' && ended.resolve(),
  });
  const peer = await openRawConnection(url);
  peer.socket.pause();
  const headers = [
    ['host', new URL(url).host],
    ['authorization', `Bearer ${token}`],
  ] as const;
  peer.write(encodeHead({ path: '/v1/lead?q=hi&stream=true', headers }));
  await ended.promise;
  peer.socket.resume();
  const told = parseEvents(Buffer.from((await peer.nextReply()).body));
  const [summary] = await cloister.runs();
  const { events } = await cloister.show(summary!.run);
  const values = told.map(({ data }) => JSON.parse(data) as { type?: string; id?: string; output?: string });
  expect(values.flatMap(({ id }) => id ?? [])).toEqual(events.map(({ id }) => id));
  expect(values.some(({ type }) => type === 'text-lag')).toBe(true);
  // What was sent before the socket was full, and what waits after it.
  expect(values.filter(({ type }) => type === 'text-delta').length).toBeLessThan(60);
  expect(values.at(-1)!.output).toBe(pieces.join(''));
});

test('long answers to many calls over one WebSocket reach a client that starts to read late', async () => {
  const long = 'zebra '.repeat(200 * kib);
  const answered: string[] = [];
  const model = rehearse([{ reply: () => ({ pieces: [long], usage: { input: 10, output: 10 } }) }]);
  const { url, token } = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model] })],
    log: (line) => line.type === 'run' && answered.push(line.outcome.status),
  });
  const client = new WebSocket(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp'], {
    headers: { authorization: `Bearer ${token}` },
    maxPayload: 64 * kib * kib,
  });
  await once(client, 'open');
  client.pause();
  const clientInfo = { name: 't', version: '1' };
  const send = (id: number, method: string, params: object): void =>
    client.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  send(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  for (let id = 1; id <= 12; id++) send(id, 'tools/call', { name: 'lead', arguments: { prompt: 'hi' } });
  await until(() => answered.length === 12);
  const received = new Map<number, number>();
  const all = Promise.withResolvers<void>();
  client.on('message', (data: Buffer) => {
    const { id, result } = JSON.parse(data.toString()) as { id: number; result: { content?: { text: string }[] } };
    received.set(id, result.content?.[0]?.text.length ?? 0);
    if (received.size === 13) all.resolve();
  });
  client.resume();
  await all.promise;
  expect([...received.entries()].filter(([id]) => id > 0).map(([, length]) => length)).toEqual(
    Array.from({ length: 12 }, () => long.length),
  );
  client.close();
  await once(client, 'close');
});

const texts = {
  'REST, whole': ['/v1/lead', { input: 'hi' }],
  'REST, streamed': ['/v1/lead', { input: 'hi', stream: true }],
  'OpenAI, whole': ['/v1/chat/completions', { model: 'lead', messages: [{ role: 'user', content: 'hi' }] }],
  'OpenAI, streamed': [
    '/v1/chat/completions',
    { model: 'lead', stream: true, messages: [{ role: 'user', content: 'hi' }] },
  ],
  'Anthropic, streamed': [
    '/v1/messages',
    { model: 'lead', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'hi' }] },
  ],
} as const;

test.for(Object.keys(texts) as (keyof typeof texts)[])('a long answer arrives complete: %s', async (way) => {
  const long = Array.from({ length: 1_500 }, (_, place) => `${place}: ${'zebra '.repeat(200)}`);
  const model = rehearse([{ reply: () => ({ pieces: long, usage: { input: 10, output: 10 } }) }]);
  const { ask } = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model] })],
  });
  const [path, json] = texts[way];
  const answer = await (await ask(path, { json })).text();
  const answers = way.endsWith('whole') ? [answer] : dataOf(answer);
  const words = answers.map(wordsOf[way]).join('');
  expect(words.length).toBeGreaterThan(1_500_000);
  expect(words.trim().endsWith(long.join('').trim())).toBe(true);
});

const dataOf = (stream: string): readonly string[] =>
  stream
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice(6));

const wordsOf: Readonly<Record<keyof typeof texts, (json: string) => string>> = {
  'REST, whole': (json) => JSON.parse(json).output,
  'REST, streamed': (json) => (json.includes('"status":"completed"') ? (JSON.parse(json).output ?? '') : ''),
  'OpenAI, whole': (json) => JSON.parse(json).choices[0].message.content,
  'OpenAI, streamed': (json) => (json === '[DONE]' ? '' : (JSON.parse(json).choices[0]?.delta?.content ?? '')),
  'Anthropic, streamed': (json) => JSON.parse(json).delta?.text ?? '',
};
