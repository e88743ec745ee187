// All bodies that are being read, over HTTP and over WebSockets, share a bounded budget and a time limit.
import { array, assert as check, asyncProperty, constantFrom, integer, oneof, record } from 'fast-check';
import { defineAgent } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { slowdown } from '../../slow-machine.ts';
import { serveTestRoutes } from './test-server.ts';
import type { TestServerOptions } from './test-server.ts';
import { serveAgents } from './driver.ts';
import { errorCodeIn, protocolOf } from './error-formats.ts';
import { sendOnce, encodeHead, openRawConnection } from './raw-client.ts';
import type { RawConnection } from './raw-client.ts';

/** One body: 100 bytes. All: 300, and those of one caller 150. */
const limits = { bodyBytesMax: 100, bodiesBytesMax: 300, requestTimeoutMs: 30_000 };

const serve = (options: TestServerOptions = {}) =>
  serveTestRoutes({ limits, postRoutes: { take: (body) => ({ status: 200, body: body ?? null }) }, ...options });

const turn = async (): Promise<void> => {
  for (let time = 0; time < 3; time++) await new Promise(setImmediate);
};

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise(setImmediate);
};

type Step =
  | { readonly do: 'open'; readonly caller: string; readonly announced: number | null }
  | { readonly do: 'send'; readonly which: number; readonly bytes: number }
  | { readonly do: 'end' | 'break'; readonly which: number }
  | { readonly do: 'wait'; readonly ms: number };

const which = integer({ min: 0, max: 11 });
const step = oneof(
  {
    weight: 4,
    arbitrary: record({
      do: constantFrom('open' as const),
      caller: constantFrom('ann', 'bob', 'cleo'),
      announced: constantFrom(null, 1, 60, 100, 101, 5_000),
    }),
  },
  {
    weight: 8,
    arbitrary: record({
      do: constantFrom('send' as const),
      which,
      bytes: constantFrom(1, 20, 40, 60, 99, 100, 101, 400),
    }),
  },
  { weight: 3, arbitrary: record({ do: constantFrom('end' as const, 'break' as const), which }) },
  { weight: 1, arbitrary: record({ do: constantFrom('wait' as const), ms: constantFrom(1_000, 15_000, 31_000) }) },
);

/** A body that arrives step by step, as the test says. */
const openBody = (app: Awaited<ReturnType<typeof serve>>['app'], caller: string, announced: number | null) => {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  const request = new Request('http://127.0.0.1/take', {
    method: 'POST',
    headers: {
      'x-api-key': `right-${caller}`,
      'content-type': 'application/json',
      ...(announced === null ? {} : { 'content-length': String(announced) }),
    },
    body,
    duplex: 'half',
  });
  const opened = { caller, sent: 0, status: 0 };
  void Promise.resolve(app.fetch(request)).then((response) => (opened.status = response.status));
  const quietly = (work: () => void): void => {
    try {
      work();
    } catch {
      // The body has been released.
    }
  };
  return {
    ...opened,
    get status() {
      return opened.status;
    },
    send: (bytes: number): void => {
      opened.sent += bytes;
      quietly(() => controller.enqueue(new Uint8Array(bytes).fill(0x20)));
    },
    end: () => quietly(() => controller.close()),
    break: () => quietly(() => controller.error(new Error('gone'))),
    /** How many bytes have arrived. */
    held: (): number => (opened.status === 0 ? opened.sent : 0),
  };
};

// invariants: bodies-bounded, bodies-returned
test('for any bodies in any order, the total never exceeds the bound, and nothing remains at the end', async () => {
  const clock = virtualClock();
  const { app, bodies } = await serve({ clock });
  const statuses = new Map<number, number>();
  await check(
    asyncProperty(array(step, { maxLength: 40, size: 'max' }), async (steps: readonly Step[]) => {
      const all: ReturnType<typeof openBody>[] = [];
      for (const one of steps) {
        if (one.do === 'open') all.push(openBody(app, one.caller, one.announced));
        else if (one.do === 'wait') await clock.advance(one.ms);
        else {
          const body = all[one.which % Math.max(1, all.length)];
          if (one.do === 'send') body?.send(one.bytes);
          else body?.[one.do]();
        }
        await turn();
        const held = all.reduce((sum, body) => sum + body.held(), 0);
        expect(bodies.bytes).toBe(held);
        expect(held).toBeLessThanOrEqual(300);
        for (const caller of ['ann', 'bob', 'cleo']) {
          const own = all.filter((body) => body.caller === caller).reduce((sum, body) => sum + body.held(), 0);
          expect(own).toBeLessThanOrEqual(150);
        }
      }
      all.forEach((body, place) => (place % 2 === 0 ? body.end() : body.break()));
      await turn();
      expect(bodies.bytes).toBe(0);
      expect(clock.waiting).toBe(0);
      for (const { status } of all) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }),
    { numRuns: 300 },
  );
  // Spaces alone are not JSON, so a body that was read completely gets 400.
  expect([...statuses.keys()].toSorted((one, other) => one - other)).toEqual([400, 408, 413, 429, 499]);
});

/** A request whose body has started to arrive. */
const begin = async (url: string, caller: string, length: number, body: string): Promise<RawConnection> => {
  const peer = await openRawConnection(url);
  peer.write(
    encodeHead({
      method: 'POST',
      path: '/take',
      headers: [...headersOf(url, caller), ['content-length', `${length}`]],
    }),
  );
  peer.write(body);
  return peer;
};

const headersOf = (url: string, caller: string): readonly (readonly [string, string])[] => [
  ['host', new URL(url).host],
  ['x-api-key', `right-${caller}`],
  ['content-type', 'application/json'],
];

test('over real sockets, an announced body is refused before any byte, an unannounced one where it exceeds the bound, and both fit later', async () => {
  const { url, bodies } = await serve();
  const half = ' '.repeat(90);
  const peers = await Promise.all(['ann', 'bob', 'cleo'].map((caller) => begin(url, caller, 100, half)));
  await until(() => bodies.bytes === 270);
  const head = { method: 'POST', path: '/take', headers: headersOf(url, 'dan') };
  const expecting = {
    ...head,
    headers: [...head.headers, ['expect', '100-continue'], ['content-length', '31']] as const,
  };
  const asks = await openRawConnection(url);
  asks.write(encodeHead(expecting));
  const announced = await asks.nextReply();
  expect(announced.text).not.toContain('100 Continue');
  const chunked = await openRawConnection(url);
  chunked.write(encodeHead({ ...head, headers: [...head.headers, ['transfer-encoding', 'chunked']] }));
  chunked.write(`1e\r\n${' '.repeat(30)}\r\n`);
  await until(() => bodies.bytes === 300);
  chunked.write('1\r\n \r\n');
  expect((await chunked.nextReply()).status).toBe(429);
  expect([announced.status, announced.headers.get('retry-after'), announced.headers.get('x-should-retry')]).toEqual([
    429,
    '1',
    'true',
  ]);
  expect(announced.body).toBe('{"code":"server_busy"}');
  expect(bodies.bytes).toBe(270);
  // One disconnects, one continues, and one ends with invalid content.
  const [gone, good, bad] = peers;
  gone!.socket.destroy();
  good!.write('"said"    ');
  expect(await good!.nextReply()).toMatchObject({ status: 200, body: '"said"' });
  bad!.write('{'.repeat(10));
  expect((await bad!.nextReply()).status).toBe(400);
  await until(() => bodies.bytes === 0);
  expect((await sendOnce(url, head, `"${' '.repeat(90)}"`)).status).toBe(200);
});

test('a body that arrives too slowly is released at its timeout', async () => {
  const ms = 200 * slowdown();
  const { url, bodies } = await serve({ limits: { ...limits, headersTimeoutMs: ms, requestTimeoutMs: 1.5 * ms } });
  const peers = await Promise.all([begin(url, 'ann', 100, ' '.repeat(80)), begin(url, 'bob', 100, ' ')]);
  await until(() => bodies.bytes === 81);
  for (const peer of peers) expect(await peer.ended).toMatch(/^HTTP\/1\.1 408 /u);
  expect(bodies.bytes).toBe(0);
});

test('one caller can use at most half of the budget, and others can use the rest', async () => {
  const { url, bodies } = await serve();
  const first = await begin(url, 'ann', 100, ' '.repeat(90));
  await until(() => bodies.bytes === 90);
  const asked = (caller: string) =>
    sendOnce(url, { method: 'POST', path: '/take', headers: headersOf(url, caller) }, `"${'x'.repeat(70)}"`);
  expect((await asked('ann')).status).toBe(429);
  expect((await asked('bob')).status).toBe(200);
  first.socket.destroy();
  await until(() => bodies.bytes === 0);
  expect((await asked('ann')).status).toBe(200);
});

/** The header of a text frame of so many bytes, with a zero mask, so that the payload is unchanged. */
const frameHead = (bytes: number, { first = true, last = true } = {}): Uint8Array =>
  Uint8Array.from([(last ? 0x80 : 0) | (first ? 1 : 0), 0x80 | bytes, 0, 0, 0, 0]);
const ping = Uint8Array.from([0x89, 0x80 | 3, 0, 0, 0, 0, 0x61, 0x62, 0x63]);

const sockets = async (options: TestServerOptions = {}) => {
  const received: unknown[] = [];
  const served = await serve({
    ...options,
    sockets: [
      {
        path: '/socket',
        protocol: 'texts',
        open: (socket) => socket.onMessage((message) => received.push('value' in message ? message.value : null)),
      },
    ],
  });
  const open = async (caller: string): Promise<RawConnection> => {
    const peer = await openRawConnection(served.url);
    const upgrade: readonly (readonly [string, string])[] = [
      ['connection', 'Upgrade'],
      ['upgrade', 'websocket'],
      ['sec-websocket-version', '13'],
      ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
    ];
    peer.write(encodeHead({ path: '/socket', headers: [...headersOf(served.url, caller), ...upgrade] }));
    expect((await peer.nextReply()).status).toBe(101);
    return peer;
  };
  return { ...served, heard: received, open };
};

// invariant: socket-partial-message-counts
test('an incomplete WebSocket message counts against the budget; complete messages and control frames do not', async () => {
  const { url, bodies, open, heard: received } = await sockets();
  const [ann, bob, cleo] = [await open('ann'), await open('bob'), await open('cleo')];
  ann.write(frameHead(60, { last: false }));
  ann.write(' '.repeat(60));
  await until(() => bodies.bytes === 66);
  // A ping in the middle of a message.
  ann.write(ping);
  ann.write(frameHead(40, { first: false }));
  ann.write('1'.repeat(39));
  await until(() => bodies.bytes === 111);
  for (const peer of [bob, cleo]) peer.write(frameHead(100));
  for (const peer of [bob, cleo]) peer.write(' '.repeat(80));
  await until(() => bodies.bytes === 111 + 2 * 86);
  const refused = await sendOnce(
    url,
    { method: 'POST', path: '/take', headers: headersOf(url, 'dan') },
    `"${'x'.repeat(40)}"`,
  );
  expect(refused.status).toBe(429);
  bob.write(' '.repeat(19));
  expect(await bob.ended).toContain('The server is at capacity.');
  ann.write('0');
  cleo.socket.destroy();
  await until(() => bodies.bytes === 0);
  expect(received).toEqual([Number(`${'1'.repeat(39)}0`)]);
  for (let time = 0; time < 100; time++) ann.write(Buffer.concat([frameHead(2), Buffer.from('12'), ping]));
  await until(() => received.length === 101);
  expect(bodies.bytes).toBe(0);
});

test('a WebSocket message has the same time limit as a request', async () => {
  const clock = virtualClock();
  const { bodies, open, heard: received } = await sockets({ clock });
  const [slow, well] = [await open('ann'), await open('bob')];
  for (const peer of [slow, well]) {
    peer.write(frameHead(50));
    peer.write('x'.repeat(49));
  }
  await until(() => bodies.bytes === 110);
  await clock.advance(29_999);
  well.write('!');
  await until(() => received.length === 1);
  await clock.advance(1);
  expect(await slow.ended).toContain('The request was not received in time.');
  await until(() => bodies.bytes === 0);
  well.write(Buffer.concat([frameHead(2), Buffer.from('12')]));
  await until(() => received.length === 2);
});

// invariant: http-errors-in-protocol
test('the refusal is in the format of the protocol', async () => {
  const model = rehearse([{ reply: 'Hello.' }]);
  const { url, token, ask } = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model] })],
    limits: { bodyBytesMax: 1_000, bodiesBytesMax: 1_000 },
  });
  const headers = [
    ['host', new URL(url).host],
    ['authorization', `Bearer ${token}`],
    ['content-type', 'application/json'],
  ] as const;
  const peer = await openRawConnection(url);
  peer.write(encodeHead({ method: 'POST', path: '/v1/lead', headers: [...headers, ['content-length', '1000']] }));
  peer.write(`{"input": "hi"}${' '.repeat(900)}`);
  const codes: string[] = [];
  for (const path of ['/v1/lead', '/v1/chat/completions', '/v1/responses', '/v1/messages', '/mcp', '/mcp/messages']) {
    let reply;
    // Until the bytes of the first one have arrived.
    do reply = await sendOnce(url, { method: 'POST', path, headers }, `"${'x'.repeat(500)}"`);
    while (reply.status !== 429);
    expect(reply.headers.get('retry-after')).toBe('1');
    codes.push(errorCodeIn(protocolOf(path), reply.body, true));
  }
  const openai = 'rate_limit_exceeded';
  expect(codes).toEqual(['server_busy', openai, openai, 'server_busy', 'server_busy', 'server_busy']);
  // A small body fits.
  expect((await ask('/v1/lead', { json: { input: 'hi' } })).status).toBe(200);
  peer.write(' '.repeat(85));
  expect((await peer.nextReply()).status).toBe(200);
});
