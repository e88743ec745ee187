// Routes without a token, with files, and with bodies that are no JSON.
import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { OpenRoute, PlainRoute, RouteFile } from '#contracts';
import { RateLimiter } from '#app/serve';
import { expectSecurityHeaders } from './error-formats.ts';
import { sendOnce } from './raw-client.ts';
import { realClock, serveTestRoutes, testHeaders } from './test-server.ts';

const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types cloister";
const formatError: PlainRoute['formatError'] = ({ code }) => ({ code });

const fileRoute = (name: string, file: () => RouteFile, more: Partial<OpenRoute> = {}): OpenRoute => ({
  method: 'GET',
  path: `/${name}`,
  open: true,
  formatError,
  files: { policy: pagePolicy },
  answer: async () => ({ file: file() }),
  ...more,
});

const page = Buffer.from('<!doctype html><title>Grüße</title>');
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const html = (more: Partial<Pick<RouteFile, 'cache' | 'download'>> = {}): RouteFile => ({
  type: 'text/html; charset=utf-8',
  bytes: page,
  cache: 'revalidate',
  ...more,
});

async function* partsOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe('a route with files', () => {
  // invariant: file-own-policy
  test('sends them under its own policy, and errors under that of the server', async () => {
    const failing = fileRoute('failing', () => {
      throw new CloisterError('route_unknown');
    });
    const { url } = await serveTestRoutes({ routes: [fileRoute('page', () => html()), failing] });
    const response = await fetch(`${url}/page`);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(page);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(page.length),
      'content-security-policy': pagePolicy,
      'cache-control': 'no-cache',
      etag: `"${hashOf(page)}"`,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    });
    const refused = await fetch(`${url}/failing`);
    expect([refused.status, await refused.json()]).toEqual([404, { code: 'route_unknown' }]);
    expect(refused.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(refused.headers.get('cache-control')).toBe('no-store');
  });

  test('whose reply is a file although it declares none sends nothing of it', async () => {
    const { files: _files, ...undeclared } = fileRoute('page', () => html());
    const { url } = await serveTestRoutes({ routes: [undeclared] });
    const response = await fetch(`${url}/page`);
    expect([response.status, await response.json()]).toEqual([500, { code: 'defect' }]);
  });

  // invariant: file-copy-checked
  test('sends nothing again that the client has, and opens no stream for that', async () => {
    let opened = 0;
    const big = Buffer.alloc(300_000, 'x');
    const stream = (): RouteFile => ({
      type: 'text/plain',
      cache: 'revalidate',
      hash: hashOf(big),
      length: big.length,
      open: () => ((opened += 1), partsOf(big, 7_001)),
    });
    const { url } = await serveTestRoutes({ routes: [fileRoute('page', () => html()), fileRoute('big', stream)] });
    for (const [path, bytes] of [
      ['/page', page],
      ['/big', big],
    ] as const) {
      const etag = `"${hashOf(bytes)}"`;
      for (const kept of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const response = await fetch(url + path, { headers: { 'if-none-match': kept } });
        expect([path, kept, response.status, await response.text()]).toEqual([path, kept, 304, '']);
        expect(response.headers.get('etag')).toBe(etag);
        expect(response.headers.get('content-security-policy')).toBe(pagePolicy);
      }
      for (const kept of ['"other"', etag.slice(1, -1), `"${etag}"`, '']) {
        const response = await fetch(url + path, { headers: { 'if-none-match': kept }, method: 'HEAD' });
        expect([path, kept, response.status]).toEqual([path, kept, 200]);
        expect(response.headers.get('content-length')).toBe(String(bytes.length));
        expect(await response.text()).toBe('');
      }
    }
    expect(opened).toBe(0);
    expect(await (await fetch(`${url}/big`)).text()).toBe(big.toString());
    expect(opened).toBe(1);
  });

  test.for([
    ['none', true, 'no-store', false],
    ['revalidate', true, 'no-cache', true],
    ['immutable', true, 'public, max-age=31536000, immutable', true],
    ['none', false, 'no-store', false],
    ['revalidate', false, 'private, no-cache', true],
    ['immutable', false, 'private, no-cache', true],
  ] as const)('says how long a copy is kept: %s, open: %s', async ([cache, open, expected, hasTag]) => {
    const { open: _open, ...route } = fileRoute('page', () => html({ cache }));
    const { url } = await serveTestRoutes({ routes: [open ? { ...route, open } : route] });
    const response = await fetch(`${url}/page`, { headers: Object.fromEntries(testHeaders(url).slice(1)) });
    expect([response.headers.get('cache-control'), response.headers.has('etag')]).toEqual([expected, hasTag]);
    expect(response.headers.get('vary')).toBe('origin');
  });

  // invariant: file-whole-or-cut
  test.for([
    ['shorter', 20_000, 30_000],
    ['longer', 40_000, 30_000],
  ] as const)('cuts a stream that is %s than announced', async ([, has, length]) => {
    const stream = (): RouteFile => ({
      type: 'text/plain',
      cache: 'none',
      length,
      open: () => partsOf(Buffer.alloc(has), 4_096),
    });
    const { url, answered } = await serveTestRoutes({ routes: [fileRoute('big', stream)] });
    await expect(fetch(`${url}/big`).then((response) => response.arrayBuffer())).rejects.toThrow(/terminated|failed/u);
    expect(answered.map(({ status, code }) => [status, code])).toEqual([
      [200, null],
      [500, 'defect'],
    ]);
  });

  // invariant: stream-one-text-waits
  test('pulls a stream only as fast as its reader reads, and closes it when the reader leaves', async () => {
    const [part, parts] = [Buffer.alloc(64 * 1024), 2_000];
    let [taken, closed] = [0, false];
    const endless = async function* () {
      try {
        for (; taken < parts; taken++) yield part;
      } finally {
        closed = true;
      }
    };
    const stream = (): RouteFile => ({
      type: 'text/plain',
      cache: 'none',
      length: part.length * parts,
      open: endless,
    });
    const { app } = await serveTestRoutes({ routes: [fileRoute('big', stream)] });
    const response = await app.fetch(new Request('http://127.0.0.1/big'));
    const reader = response.body!.getReader();
    await reader.read();
    expect(taken).toBe(0);
    await reader.cancel();
    await expect.poll(() => closed).toBe(true);
    expect(taken).toBeLessThan(2);
  });

  test('names a download in ASCII, whatever its name is', async () => {
    let given = '';
    const named = (): RouteFile => html({ download: { name: given } });
    const { app } = await serveTestRoutes({ routes: [fileRoute('page', named)] });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 40 }), async (name) => {
        given = name;
        const header = (await app.fetch(new Request('http://127.0.0.1/page'))).headers.get('content-disposition')!;
        expect(header).toMatch(/^attachment; filename\*=UTF-8''[\w.%~-]*$/u);
        expect(decodeURIComponent(header.split("''")[1]!)).toBe(name.toWellFormed());
      }),
    );
  });
});

describe('a route without a token', () => {
  // invariant: route-behind-gate
  test('still checks host, origin and rate, and knows no caller', async () => {
    const calls: object[] = [];
    const networks: string[] = [];
    const route: OpenRoute = {
      method: 'GET',
      path: '/hello',
      open: true,
      formatError,
      answer: async (call) => {
        calls.push(call);
        return { status: 200, body: { hello: true } };
      },
    };
    const { url, answered } = await serveTestRoutes({
      routes: [route],
      admitOpen: (network) => {
        if (networks.push(network) > 2) throw new CloisterError('rate_exceeded', 'x', { retryAfterMs: 1_000 });
      },
    });
    const host = new URL(url).host;
    const ask = (headers: readonly (readonly [string, string])[], method = 'GET') =>
      sendOnce(url, { method, path: '/hello', headers });
    expect((await ask([['host', 'evil.example.com']])).status).toBe(403);
    expect(
      (
        await ask([
          ['host', host],
          ['origin', 'https://evil.example.com'],
        ])
      ).status,
    ).toBe(403);
    expect(networks).toEqual([]);
    const fine = await ask([['host', host]]);
    expect([fine.status, fine.body]).toEqual([200, '{"hello":true}']);
    expectSecurityHeaders(fine.headers, /^req_/u);
    // Whoever sends a token is not looked up.
    expect((await ask([...testHeaders(url)])).status).toBe(200);
    const third = await ask([['host', host]]);
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1']);
    expect(networks).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
    expect(calls.map((call) => 'caller' in call)).toEqual([false, false]);
    expect(new Set(answered.map(({ caller }) => caller))).toEqual(new Set([null]));
    // Other methods need a token, as everything else does.
    expect((await ask([['host', host]], 'POST')).status).toBe(401);
    expect((await ask([...testHeaders(url)], 'DELETE')).status).toBe(405);
    expect((await fetch(`${url}/hello`, { method: 'HEAD' })).status).toBe(429);
  });

  test('one network that sends too much takes nothing from another, and the newest ones are remembered', () => {
    let now = 0;
    const rates = new RateLimiter(() => now, 3);
    const send = (name: string): boolean => {
      try {
        rates.consume(name, 2);
        return true;
      } catch {
        return false;
      }
    };
    expect(['a', 'a', 'a', 'b', 'a', 'c'].map(send)).toEqual([true, true, false, true, false, true]);
    // A fourth name makes room for itself: `b`, which was used the longest ago, is forgotten; `a` is not.
    expect(['d', 'a', 'c', 'c'].map(send)).toEqual([true, false, true, false]);
    now = 60_000;
    expect(['a', 'a', 'a'].map(send)).toEqual([true, true, false]);
  });

  test('of IPv6, the network counts and not the address', async () => {
    const networks: string[] = [];
    const route = fileRoute('page', () => html());
    const { app } = await serveTestRoutes({ routes: [route], admitOpen: (network) => void networks.push(network) });
    const addresses = ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9', '2001:db8::1', '::ffff:10.0.0.7', '10.0.0.7', '::1'];
    for (const remoteAddress of addresses) {
      const incoming = { socket: { remoteAddress }, url: '/page', headers: {} };
      await app.fetch(new Request('http://127.0.0.1/page', { headers: { host: '127.0.0.1' } }), {
        incoming: incoming as never,
      });
    }
    expect(networks).toEqual(['2001:db8:1:2', '2001:db8:1:2', '2001:db8:0:0', '10.0.0.7', '10.0.0.7', '0:0:0:0']);
  });
});

/** As a chat service signs what it sends. */
const signed = (bytes: Uint8Array | string): string => createHmac('sha256', 'secret').update(bytes).digest('hex');

const hook = (more: Partial<OpenRoute> = {}): OpenRoute => ({
  method: 'POST',
  path: '/hook',
  open: true,
  formatError,
  takes: ['application/x-www-form-urlencoded', 'text/plain'],
  answer: async ({ body, bytes, headers }) => {
    if (headers.get('x-signature') !== signed(bytes!)) throw new CloisterError('token_refused');
    return { status: 200, body: { body: body ?? null, bytes: bytes!.length } };
  },
  ...more,
});

describe('a route that takes other media types', () => {
  const post = (url: string, type: string | null, body: Uint8Array | string) =>
    fetch(`${url}/hook`, {
      method: 'POST',
      body: Buffer.from(body),
      headers: { 'x-signature': signed(body), ...(type === null ? {} : { 'content-type': type }) },
    });

  test('gets the body byte for byte, and JSON parsed as well', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.json(), async (bytes, json) => {
        const { app } = await serveTestRoutes({ routes: [hook()] });
        const ask = async (type: string, body: Uint8Array | string): Promise<unknown> => {
          const headers = { 'x-signature': signed(body), 'content-type': type };
          const request = new Request('http://127.0.0.1/hook', { method: 'POST', body: Buffer.from(body), headers });
          return (await app.fetch(request)).json();
        };
        expect(await ask('Text/Plain; charset=latin1', bytes)).toEqual({ body: null, bytes: bytes.length });
        const spaced = ` ${json}\n`;
        expect(await ask('application/json', spaced)).toEqual({
          body: JSON.parse(json),
          bytes: Buffer.byteLength(spaced),
        });
      }),
      { numRuns: 40 },
    ));

  test('refuses every other type, and broken JSON, and has the same limits', async () => {
    const { url, bodies } = await serveTestRoutes({ routes: [hook()], limits: { bodyBytesMax: 1_000 } });
    for (const type of [
      'text/html',
      'multipart/form-data; boundary=x',
      'application/json, text/plain',
      'text/plain, text/plain',
    ])
      expect([type, (await post(url, type, 'x=1')).status]).toEqual([type, 415]);
    expect((await post(url, 'application/json', '{')).status).toBe(400);
    expect((await post(url, 'text/plain', 'x'.repeat(1_000))).status).toBe(200);
    expect((await post(url, 'text/plain', 'x'.repeat(1_001))).status).toBe(413);
    const packed = await fetch(`${url}/hook`, {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' },
    });
    expect(packed.status).toBe(415);
    const empty = await fetch(`${url}/hook`, { method: 'POST', headers: { 'x-signature': signed('') } });
    expect([empty.status, await empty.json()]).toEqual([200, { body: null, bytes: 0 }]);
    expect(bodies.bytes).toBe(0);
  });

  test('cuts off a body that comes too slowly, and gives its room back', async () => {
    const { app, bodies } = await serveTestRoutes({
      routes: [hook()],
      clock: { ...realClock, timer: (ms, due) => realClock.timer(Math.min(ms, 50), due) },
    });
    const body = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('x')) });
    const request = new Request('http://127.0.0.1/hook', {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { 'content-type': 'text/plain' },
    });
    const response = await app.fetch(request);
    expect([response.status, bodies.bytes]).toEqual([408, 0]);
  });

  test('all bodies without a token share the room of one caller; callers with a token keep theirs', async () => {
    const limits = { bodyBytesMax: 400, bodiesBytesMax: 1_000 };
    const sized: PlainRoute = {
      ...hook({ path: '/own' }),
      open: false,
      answer: async () => ({ status: 200, body: {} }),
    };
    const { app, bodies } = await serveTestRoutes({ routes: [hook(), sized], limits });
    // Two bodies whose end never comes hold 500 bytes together, which is all that requests without a token get.
    const hang = (bytes: number) => {
      const body = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.alloc(bytes)) });
      const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'text/plain' } } as RequestInit;
      void app.fetch(new Request('http://127.0.0.1/hook', init));
    };
    hang(300);
    hang(200);
    await expect.poll(() => bodies.bytes).toBe(500);
    const ask = async (path: string, headers: Record<string, string>): Promise<number> =>
      (
        await app.fetch(
          new Request(`http://127.0.0.1${path}`, {
            method: 'POST',
            body: 'x'.repeat(300),
            headers: { 'content-type': 'text/plain', 'content-length': '300', ...headers },
          }),
        )
      ).status;
    expect(await ask('/hook', {})).toBe(429);
    expect(await ask('/own', { authorization: 'Bearer right' })).toBe(200);
  });
});

describe('routes that contradict themselves or each other', () => {
  const plain = (more: Partial<PlainRoute> = {}): PlainRoute => ({
    method: 'GET',
    path: '/x',
    formatError,
    answer: async () => ({ status: 200, body: {} }),
    ...more,
  });
  const when = (): boolean => true;
  // invariant: routes-agree
  test.for([
    ['two routes for one address', [plain(), plain()], /GET \/x has two routes/u],
    ['two that differ in a parameter’s name', [plain({ path: '/:a' }), plain({ path: '/:b' })], /has two routes/u],
    [
      'a header that decides whether a token is needed',
      [plain({ when }), { ...plain(), open: true }],
      /needs a token in one route and none in another/u,
    ],
    ['the path of the health check', [plain({ path: '/health' })], /\/health is taken/u],
    ['media types of a GET', [plain({ takes: ['text/plain'] })], /has no body/u],
    ['JSON besides JSON', [plain({ method: 'POST', takes: ['application/json'] })], /no media type, JSON/u],
    ['a type twice', [plain({ method: 'POST', takes: ['a/b', 'a/b'] })], /listed twice/u],
    ['a type that is none', [plain({ method: 'POST', takes: ['*/*'] })], /no media type/u],
    ['files of a POST', [plain({ method: 'POST', files: { policy: pagePolicy } })], /not to GET/u],
    ['a policy that allows everything', [plain({ files: { policy: "default-src 'self'" } })], /default-src 'none'/u],
    [
      'a policy of two lines',
      [plain({ files: { policy: `${pagePolicy}; default-src 'none'; x\nset-cookie: a` } })],
      /is no header/u,
    ],
  ] as const)('are refused at start: %s', async ([, routes, problem]) => {
    await expect(serveTestRoutes({ routes })).rejects.toThrow(problem);
  });
});
