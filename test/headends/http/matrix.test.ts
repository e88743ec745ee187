// Every route × every wrong credential, host and origin: refused before the body is read, in the format of the route.
import { defineAgent, hashToken, makeToken } from 'cloister';
import type { ServerLine } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { beforeEach, expect, test, vi } from 'vitest';
import type { OpenRoute, SocketRoute, PlainRoute } from '#contracts';
import { serveAgents } from './driver.ts';
import { errorCodeIn, expectSecurityHeaders, protocolOf } from './error-formats.ts';
import { sendOnce } from './raw-client.ts';
import type { RawReply } from './raw-client.ts';

/** The routes and sockets that servers were built from. */
const built = vi.hoisted(() => ({ routes: [] as (PlainRoute | OpenRoute)[], sockets: [] as SocketRoute[] }));

vi.mock(import('#headends/http'), async (original) => {
  const real = await original();
  return {
    ...real,
    buildApp: (options) => {
      built.routes.push(...options.routes);
      return real.buildApp(options);
    },
    socketUpgrade: (sockets, options) => {
      built.sockets.push(...sockets);
      return real.socketUpgrade(sockets, options);
    },
  };
});

beforeEach(() => {
  built.routes.length = 0;
  built.sockets.length = 0;
});

const name = 'zanzibar';
const right = makeToken();
/** May only watch the runs of the one before. */
const glass = makeToken();
const expired = makeToken();
const day = 86_400_000;

const startServer = async () => {
  const model = rehearse([{ reply: 'Never said.' }]);
  const lines: ServerLine[] = [];
  const served = await serveAgents({
    agents: [defineAgent({ name, description: 'Far away.', prompt: 'p', models: [model] })],
    tokens: [
      { name: 'right', sha256: hashToken(right) },
      { name: 'right', sha256: hashToken(glass), may: ['watch'] },
      { name: 'expired', sha256: hashToken(expired), expiresAt: Date.now() - day },
    ],
    origins: ['https://chat.example.com'],
    hosts: ['agents.example.com', 'one-port.example.com:8443'],
    log: (line) => lines.push(line),
  });
  return { ...served, model, lines, host: new URL(served.url).host };
};

type StartedServer = Awaited<ReturnType<typeof startServer>>;
type Pair = readonly [string, string];
type Address = {
  readonly method: string;
  readonly path: string;
  readonly also?: readonly Pair[];
  /** Refused to every client. */
  readonly never?: true;
};

const upgrade: readonly Pair[] = [
  ['connection', 'Upgrade'],
  ['upgrade', 'websocket'],
  ['sec-websocket-version', '13'],
  ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ['sec-websocket-protocol', 'mcp'],
];

type Paths = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The paths of the server's OpenAPI document. */
const describedPaths = async ({ url }: StartedServer): Promise<Paths> => {
  const described = await fetch(`${url}/openapi.json`, { headers: { authorization: `Bearer ${right}` } });
  return ((await described.json()) as { paths: Paths }).paths;
};

/** Paths that the OpenAPI document does not hold. */
const undescribed: readonly Address[] = [
  { method: 'POST', path: '/mcp' },
  { method: 'GET', path: '/mcp/sse' },
  { method: 'POST', path: '/mcp/messages?session=0123' },
  { method: 'GET', path: '/mcp/ws', also: upgrade },
  ...['completions', 'embeddings', 'moderations', 'images/generations', 'audio/speech'].map((absent) => ({
    method: 'POST',
    path: `/v1/${absent}`,
  })),
];

/** The page of the studio and its files, for everybody. */
const openPaths = ['/', '/favicon.svg', '/favicon.ico', '/assets/:file'];

const addresses = async (opened: StartedServer, run = 'run_0123456789'): Promise<readonly Address[]> => {
  const paths = await describedPaths(opened);
  const filled = (path: string): string =>
    path
      .replace('{agent}', name)
      .replace('{model}', name)
      .replaceAll(/\{\w+\}/gu, run);
  return [
    ...Object.entries(paths)
      .filter(([path]) => path !== '/health')
      .flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path: filled(path) })),
      ),
    { method: 'GET', path: '/v1/models', also: [['anthropic-version', '2023-06-01']] },
    { method: 'GET', path: `/v1/models/${name}`, also: [['anthropic-version', '2023-06-01']] },
    { method: 'GET', path: `/v1/${name}?q=hello` },
    { method: 'GET', path: `/v1/${name}?q=hello&stream=true` },
    ...undescribed,
    { method: 'GET', path: '/mcp', never: true },
    { method: 'DELETE', path: '/mcp', never: true },
    { method: 'GET', path: '/nowhere' },
  ];
};

type WrongRequest = {
  readonly what: string;
  readonly headers: (host: string) => readonly Pair[];
  readonly status: number;
  readonly code: string;
  readonly query?: string;
};

const bearer = (token: string): Pair => ['authorization', `Bearer ${token}`];
const json: Pair = ['content-type', 'application/json'];

const tokens: readonly WrongRequest[] = (
  [
    ['no token', []],
    ['a wrong token', [bearer(makeToken())]],
    ['a token that is too short', [bearer(right.slice(0, -1))]],
    ['a token that is too long', [bearer(`${right}A`)]],
    ['the token in capitals', [bearer(right.toUpperCase())]],
    ['an empty bearer', [['authorization', 'Bearer ']]],
    ['a bearer alone', [['authorization', 'Bearer']]],
    ['the token without a scheme', [['authorization', right]]],
    ['Basic', [['authorization', `Basic ${Buffer.from(`me:${right}`).toString('base64')}`]]],
    ['two tokens in one header', [['authorization', `Bearer ${right}, Bearer ${right}`]]],
    ['two headers with tokens', [bearer(makeToken()), bearer(right)]],
    ['two headers with tokens, the right one first', [bearer(right), bearer(makeToken())]],
    ['an expired token', [bearer(expired)]],
    ['a wrong x-api-key', [['x-api-key', makeToken()]]],
    ['an empty x-api-key', [['x-api-key', '']]],
    [
      'two x-api-keys',
      [
        ['x-api-key', makeToken()],
        ['x-api-key', right],
      ],
    ],
    ['a wrong bearer with the right x-api-key', [bearer(makeToken()), ['x-api-key', right]]],
    ['the token as a cookie', [['cookie', `token=${right}; authorization=Bearer ${right}`]]],
    ['the token for a proxy', [['proxy-authorization', `Bearer ${right}`]]],
    ['the hash of the token', [bearer(hashToken(right))]],
  ] as readonly (readonly [string, readonly Pair[]])[]
).map(([what, headers]) => ({
  what,
  headers: (host) => [['host', host], json, ...headers],
  status: 401,
  code: 'token_refused',
}));

const inQuery: WrongRequest = {
  what: 'the token in the query',
  headers: (host) => [['host', host], json],
  status: 401,
  code: 'token_refused',
  query: `token=${right}&access_token=${right}&api_key=${right}`,
};

const hosts: readonly WrongRequest[] = (
  [
    ['a foreign host', () => ['evil.example.com']],
    ['a name that begins like a right one', () => ['127.0.0.1.evil.example.com']],
    ['a name that ends like a right one', () => ['evil-localhost']],
    ['a dot at the end', (port) => [`localhost.:${port}`]],
    ['userinfo', (port) => [`evil@127.0.0.1:${port}`]],
    ['another port of a name that has one', () => ['one-port.example.com:8444']],
    ['a port that is none', () => ['localhost:x']],
    ['a port of six digits', () => ['localhost:123456']],
    ['a colon and no port', () => ['localhost:']],
    ['an empty one', () => ['']],
    ['a path in it', () => ['localhost/v1']],
    ['another form of the same address', () => ['2130706433']],
    ['two hosts', (port) => [`127.0.0.1:${port}`, 'evil.example.com']],
    ['two hosts, the right one last', (port) => ['evil.example.com', `127.0.0.1:${port}`]],
    ['two in one', (port) => [`127.0.0.1:${port}, evil.example.com`]],
  ] as readonly (readonly [string, (port: string) => readonly string[]])[]
).map(([what, given]) => ({
  what: `host: ${what}`,
  headers: (host) => [...given(host.split(':')[1]!).map((one): Pair => ['host', one]), json, bearer(right)],
  status: 403,
  code: 'host_refused',
}));

const origins: readonly WrongRequest[] = (
  [
    ['a foreign one', () => ['https://evil.example.com']],
    ['null', () => ['null']],
    ['an empty one', () => ['']],
    ['another port of this machine', () => ['http://127.0.0.1:1']],
    ['this machine without a port', () => ['http://127.0.0.1']],
    ['its own with another scheme', (host) => [`https://${host}`]],
    ['an allowed one with another scheme', () => ['http://chat.example.com']],
    ['an allowed one with a port', () => ['https://chat.example.com:444']],
    ['one that begins like an allowed one', () => ['https://chat.example.com.evil.example']],
    ['several, all allowed', () => ['https://chat.example.com', 'https://chat.example.com']],
    ['several, the right one first', (host) => [`http://${host}`, 'https://evil.example.com']],
    ['several in one', () => ['https://chat.example.com https://evil.example.com']],
  ] as readonly (readonly [string, (host: string) => readonly string[]])[]
).map(([what, given]) => ({
  what: `origin: ${what}`,
  headers: (host) => [['host', host], ...given(host).map((one): Pair => ['origin', one]), json, bearer(right)],
  status: 403,
  code: 'origin_refused',
}));

const media: readonly WrongRequest[] = (
  [
    ['none', []],
    ['a form', ['application/x-www-form-urlencoded']],
    ['text', ['text/plain']],
    ['text that says it is JSON', ['text/plain; application/json']],
    ['multipart', ['multipart/form-data; boundary=x']],
    ['another charset', ['application/json; charset=utf-16']],
    ['another kind of JSON', ['application/ld+json']],
    ['two', ['application/json', 'text/plain']],
    ['two in one', ['application/json, text/plain']],
  ] as readonly (readonly [string, readonly string[]])[]
).map(([what, given]) => ({
  what: `content type: ${what}`,
  headers: (host) => [['host', host], bearer(right), ...given.map((one): Pair => ['content-type', one])],
  status: 415,
  code: 'media_refused',
}));

const encodedBody: WrongRequest = {
  what: 'a body that is packed',
  headers: (host) => [['host', host], bearer(right), json, ['content-encoding', 'gzip']],
  status: 415,
  code: 'media_refused',
};

/** The body never ends, so a route that reads it never answers. */
const ask = (
  { url, host }: StartedServer,
  { method, path, also = [] }: Address,
  { headers, query }: WrongRequest,
): Promise<RawReply> => {
  const target = query === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
  const takesBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
  return sendOnce(
    url,
    { method, path: target, headers: [...headers(host), ...also] },
    takesBody ? 'endless' : undefined,
  );
};

const isAnthropic = ({ also = [] }: Address): boolean => also.some(([header]) => header === 'anthropic-version');

const expectRefused = (
  address: Address,
  wrong: Pick<WrongRequest, 'what' | 'status' | 'code'>,
  reply: RawReply,
): void => {
  const where = `${address.method} ${address.path} with ${wrong.what}`;
  expect(reply.status, where).toBe(wrong.status);
  expect(errorCodeIn(protocolOf(address.path, isAnthropic(address)), reply.body), where).toBe(wrong.code);
  expectSecurityHeaders(reply.headers);
  expect(reply.headers.get('content-type'), where).toBe('application/json');
  expect(reply.headers.get('access-control-allow-origin'), where).toBe(null);
  expect(reply.headers.get('www-authenticate'), where).toBe(wrong.status === 401 ? 'Bearer' : null);
  expect(reply.headers.get('x-should-retry'), where).toBe('false');
  expect(reply.text, where).not.toMatch(/zanzibar|run_|0\.1\.0|node|hono|example\.com|clo_/iu);
};

const expectNoRuns = async ({ cloister, model, lines }: StartedServer): Promise<void> => {
  expect(model.requests).toEqual([]);
  expect(await cloister.runs()).toEqual([]);
  expect(lines.filter((line) => line.type !== 'request' || line.run !== null || line.defect !== undefined)).toEqual([]);
};

const addressOf = ({ method, path }: Address): string => `${method} ${path.split('?', 1)[0]}`;

test('these tests cover every route and socket of the server', async () => {
  const opened = await startServer();
  const paths = await describedPaths(opened);
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/gu, ':$1')}`),
  );
  const had = new Set([
    // /health is not a route.
    'GET /health',
    ...built.routes.map(addressOf),
    ...built.sockets.map(({ path }) => `GET ${path}`),
  ]);
  expect(had.size).toBeGreaterThan(20);
  const open = openPaths.map((path) => `GET ${path}`);
  expect(new Set([...described, ...undescribed.map(addressOf), ...open])).toEqual(had);
});

const isFilePath = (path: string): boolean =>
  built.routes.some(
    (route) =>
      route.files !== undefined && new RegExp(`^${route.path.replaceAll(/:[^/]+/gu, '[^/]+')}$`, 'u').test(path),
  );

const hasPost = ({ method }: Address): boolean => method === 'POST';

// invariants: route-behind-gate, http-checks-before-body
test.for([...tokens, inQuery, ...hosts, ...origins])('every route refuses $what', async (wrong) => {
  const opened = await startServer();
  const all = await addresses(opened);
  expect(all.length).toBeGreaterThan(25);
  for (const address of all) expectRefused(address, wrong, await ask(opened, address, wrong));
  await expectNoRuns(opened);
});

// invariant: route-behind-gate
test.for([...media, encodedBody])('every route that takes a body refuses $what', async (wrong) => {
  const opened = await startServer();
  const all = (await addresses(opened)).filter(hasPost);
  expect(all.length).toBeGreaterThan(8);
  for (const address of all) expectRefused(address, wrong, await ask(opened, address, wrong));
  await expectNoRuns(opened);
});

// invariant: gate-tells-nothing
test('a path tells its allowed methods, but only to clients with a token', async () => {
  const opened = await startServer();
  const all = (await addresses(opened)).filter(({ path }) => !path.startsWith('/mcp/ws') && path !== '/nowhere');
  const takes = Map.groupBy(all, ({ path }) => new URL(path, 'http://x').pathname);
  for (const [path, ones] of takes) {
    const allowed = new Set(ones.filter(({ never }) => never !== true).map(({ method }) => method));
    // Of files, the headers can be had alone.
    if (isFilePath(path)) allowed.add('HEAD');
    for (const method of ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE']) {
      if (allowed.has(method)) continue;
      const address = { method, path };
      const wrong = { what: 'wrong method', status: 405, code: 'method_refused' };
      const headers = (host: string): readonly Pair[] => [['host', host], json, bearer(right)];
      if (method === 'HEAD') {
        const reply = await fetch(opened.url + path, { method, headers: { authorization: `Bearer ${right}` } });
        expect(reply.status, `HEAD ${path}`).toBe(405);
        expectSecurityHeaders(reply.headers);
        continue;
      }
      const reply = await ask(opened, address, { ...wrong, headers });
      expectRefused(address, wrong, reply);
      expect(new Set(reply.headers.get('allow')?.split(', ')), `${method} ${path}`).toEqual(allowed);
      const stranger = await ask(opened, address, { ...wrong, headers: (host) => [['host', host], json] });
      expectRefused(address, { ...wrong, status: 401, code: 'token_refused' }, stranger);
      expect(stranger.headers.get('allow')).toBe(null);
    }
  }
  await expectNoRuns(opened);
});

// invariant: gate-tells-nothing
test('without a token only /health and the page answer, and not for foreign origins or hosts', async () => {
  const opened = await startServer();
  const { url, host } = opened;
  const asked = (headers: readonly Pair[], method = 'GET'): Promise<RawReply> =>
    sendOnce(url, { method, path: '/health', headers });
  for (const { headers } of tokens) {
    const reply = await asked(headers(host));
    expect([reply.status, reply.body]).toEqual([200, '{"status":"ok"}']);
    expectSecurityHeaders(reply.headers);
  }
  for (const wrong of [...hosts, ...origins])
    for (const path of ['/health', ...openPaths])
      expectRefused(
        { method: 'GET', path },
        wrong,
        await sendOnce(url, { method: 'GET', path, headers: wrong.headers(host) }),
      );
  expect((await asked([['host', host]], 'POST')).status).toBe(401);
  expect((await asked([['host', host], bearer(right)], 'DELETE')).status).toBe(405);
  expect((await fetch(`${url}/health`, { method: 'HEAD' })).status).toBe(200);
});

test('a request without a host is refused', async () => {
  const opened = await startServer();
  for (const address of await addresses(opened)) {
    const headers: readonly Pair[] = [json, bearer(right), ...(address.also ?? [])];
    const reply = await sendOnce(opened.url, { ...address, headers }, hasPost(address) ? 'endless' : undefined);
    // The HTTP parser itself answers; for an upgrade, the gate does.
    expect([400, 403], address.path).toContain(reply.status);
    const old = await sendOnce(
      opened.url,
      { ...address, version: '1.0', headers },
      hasPost(address) ? '{}' : undefined,
    );
    expect(old.status, address.path).toBe(403);
  }
  await expectNoRuns(opened);
});

test('valid requests pass on every route', async () => {
  const opened = await startServer();
  const { url, host } = opened;
  const port = host.split(':')[1]!;
  const asWell: readonly (readonly Pair[])[] = [
    [['host', host], bearer(right)],
    [
      ['Host', host.toUpperCase()],
      ['Authorization', `bearer   ${right} `],
    ],
    [
      ['host', `localhost:${port}`],
      ['x-api-key', right],
    ],
    [['host', `[::1]:${port}`], bearer(right)],
    // Behind a forwarded port.
    [['host', 'localhost:1'], bearer(right)],
    [['host', 'agents.example.com'], bearer(right)],
    [['host', 'agents.example.com:9999'], bearer(right)],
    [['host', 'one-port.example.com:8443'], bearer(right)],
    [['host', host], ['origin', `http://${host}`], bearer(right)],
    // Behind a proxy with TLS.
    [['host', 'agents.example.com'], ['origin', 'https://agents.example.com'], bearer(right)],
    [['host', host], ['origin', 'https://chat.example.com'], bearer(right)],
    [['host', host], ['origin', 'HTTPS://Chat.Example.COM'], bearer(right)],
  ];
  for (const address of await addresses(opened)) {
    if (address.path.includes('?q=') || address.path === '/mcp/sse') continue;
    for (const headers of asWell) {
      const { method, path, also = [] } = address;
      const types: readonly (readonly Pair[])[] = hasPost(address)
        ? [[json], [['Content-Type', 'Application/JSON; Charset="UTF-8"']]]
        : [[]];
      for (const type of types) {
        const reply = await sendOnce(
          url,
          { method, path, headers: [...headers, ...type, ...also] },
          hasPost(address) ? '{}' : undefined,
        );
        expect([401, 403, 415, 500], `${method} ${path}`).not.toContain(reply.status);
        if (reply.status === 101) continue;
        expectSecurityHeaders(reply.headers);
        const origin = headers.find(([header]) => header === 'origin')?.[1] ?? '';
        expect(reply.headers.get('access-control-allow-origin')).toBe(/chat/iu.test(origin) ? origin : null);
      }
    }
  }
});

test('a preflight request needs no token and reveals nothing else', async () => {
  const opened = await startServer();
  const { url, host } = opened;
  const asked = (path: string, headers: readonly Pair[]): Promise<RawReply> =>
    sendOnce(url, { method: 'OPTIONS', path, headers: [['host', host], ...headers] });
  for (const { path } of await addresses(opened)) {
    const allowed = await asked(path, [
      ['origin', 'https://chat.example.com'],
      ['access-control-request-method', 'POST'],
      ['access-control-request-headers', 'authorization, content-type, x-stainless-lang'],
    ]);
    expect(allowed.status, path).toBe(204);
    expectSecurityHeaders(allowed.headers);
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://chat.example.com');
    expect(allowed.headers.get('access-control-allow-headers')).toContain('x-stainless-lang');
    expect(allowed.headers.get('access-control-allow-credentials')).toBe(null);
    for (const origin of ['https://evil.example.com', 'null', undefined]) {
      const refused = await asked(path, origin === undefined ? [] : [['origin', origin]]);
      expectRefused(
        { method: 'OPTIONS', path },
        { what: String(origin), status: 403, code: 'origin_refused' },
        refused,
      );
    }
  }
  await expectNoRuns(opened);
});

/** Bodies that these routes take. */
const validBodies: Readonly<Record<string, object>> = {
  [`POST /v1/${name}`]: { input: 'Go.' },
  'POST /v1/chat/completions': { model: name, messages: [{ role: 'user', content: 'Go.' }] },
  'POST /v1/responses': { model: name, input: 'Go.' },
  'POST /v1/messages': { model: name, max_tokens: 9, messages: [{ role: 'user', content: 'Go.' }] },
  'POST /v1/messages/count_tokens': { model: name, messages: [{ role: 'user', content: 'Go.' }] },
  'POST /mcp': { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { prompt: 'Go.' } } },
};

// invariant: watcher-only-reads
test('with a token that may only watch, no route starts, changes or ends anything', async () => {
  const opened = await startServer();
  const { url, host, cloister, model } = opened;
  const started = await fetch(`${url}/v1/${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${right}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'Live.', resident: true, wait: true }),
  });
  const { run } = (await started.json()) as { run: string };
  const before = await cloister.show(run);
  const refused: string[] = [];
  for (const address of await addresses(opened, run)) {
    // Their streams stay open; what they carry is a request of its own.
    if (address.path.startsWith('/mcp/') || address.path.endsWith('/events')) continue;
    const { method, path, also = [] } = address;
    const where = `${method} ${path.split('?')[0]!}`;
    const body = { agent: name, text: 'Hello.' };
    const given = validBodies[where] ?? (path.endsWith('/messages') || path.endsWith('/agents') ? body : {});
    const { text: _text, ...spawn } = body;
    const { agent: _agent, ...message } = body;
    const sent = path.endsWith(`${run}/agents`) ? spawn : path.endsWith(`${run}/messages`) ? message : given;
    const accept: Pair = ['accept', 'application/json, text/event-stream'];
    const reply = await sendOnce(
      url,
      { method, path, headers: [['host', host], bearer(glass), json, accept, ...also] },
      hasPost(address) ? JSON.stringify(sent) : undefined,
    );
    if (reply.status === 403) refused.push(where.replace(run, '{run}').replace(run, '{name}'));
    // A replay changes nothing.
    else if (method !== 'GET' && path !== '/mcp' && !path.endsWith('/replay'))
      expect([where, reply.status]).toEqual([where, expect.toBeOneOf([400, 404, 405])]);
  }
  expect(new Set(refused)).toEqual(
    new Set([
      ...['POST', 'GET'].map((method) => `${method} /v1/${name}`),
      `POST /ag-ui/${name}`,
      `POST /ui/${name}`,
      ...['GET', 'DELETE'].map((method) => `${method} /ui/${name}/{run}/stream`),
      `GET /v1/models/${name}`,
      `GET /v1/agents/${name}/template`,
      'POST /v1/chat/completions',
      'POST /v1/responses',
      'POST /v1/messages',
      'POST /v1/messages/count_tokens',
      'DELETE /v1/runs/{run}',
      'POST /v1/runs/{run}/cancel',
      'POST /v1/runs/{run}/resume',
      'POST /v1/runs/{run}/finish',
      'POST /v1/runs/{run}/messages',
      'POST /v1/runs/{run}/agents',
      'DELETE /v1/runs/{run}/agents/{name}',
      'POST /v1/runs/{run}/checkpoints',
      'POST /v1/runs/{run}/retry',
      `DELETE /v1/conversations/${name}/{run}`,
      'POST /v1/checkpoints/{run}/restore',
      'POST /v1/checkpoints/{run}/branch',
    ]),
  );
  expect(model.requests).toHaveLength(1);
  expect((await cloister.runs()).map((one) => [one.run, one.state])).toEqual([[run, 'running']]);
  expect((await cloister.show(run)).events).toEqual(before.events);
});
