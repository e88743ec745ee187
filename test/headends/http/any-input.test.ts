// Fuzzes every parser at the edge: each input gets an answer or a refusal, never an internal error.
import {
  array,
  assert as check,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  letrec,
  nat,
  oneof,
  property,
  string,
  tuple,
} from 'fast-check';
import type { Arbitrary } from 'fast-check';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { Server, ServerLine } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { parseStrictJson } from '#base';
import { testRuns } from '../../test-seed.ts';
import { expectSecurityHeaders } from './error-formats.ts';

/** Number of inputs of each kind. */
const runs = {
  json: testRuns(8_000),
  bodies: testRuns(2_500),
  bearer: testRuns(2_000),
  host: testRuns(1_500),
  origin: testRuns(1_500),
  id: testRuns(1_000),
  query: testRuns(2_000),
  type: testRuns(1_000),
  path: 1_000,
};

/** Counts the inputs that parsers were given. */
let tried = 0;

// --- JSON ---

const space = constantFrom('', '', '', ' ', '\n', '\t', '\r', '  \n');
const key = constantFrom(
  '"a"',
  '"b"',
  String.raw`"\u0061"`,
  '"__proto__"',
  String.raw`"__proto\u005f_"`,
  '"constructor"',
  '""',
  '"a:b"',
  String.raw`"a\""`,
  String.raw`"\\"`,
);
const scalar = oneof(
  constantFrom('1', '-0', '1e5', '0.5', 'true', 'false', 'null', '"x"', String.raw`"\n\"{[:,]}"`, String.raw`"\ud800"`),
  string({ unit: 'binary', maxLength: 6 }).map((text) => JSON.stringify(text)),
);

const { value: jsonText } = letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: oneof({ depthSize: 'small', withCrossShrink: true }, scalar, tie('list'), tie('object')),
  list: tuple(array(tuple(space, tie('value'), space), { maxLength: 4 }), space).map(
    ([items, end]) => `[${items.map((parts) => parts.join('')).join(',')}${end}]`,
  ),
  object: tuple(array(tuple(space, key, space, constant(':'), tie('value'), space), { maxLength: 4 }), space).map(
    ([fields, end]) => `{${fields.map((parts) => parts.join('')).join(',')}${end}}`,
  ),
}));

const deepText = tuple(integer({ min: 1, max: 12 }), constantFrom('[]', '{}')).map(([depth, [open = '', close = '']]) =>
  open === '['
    ? `${'['.repeat(depth)}${']'.repeat(depth)}`
    : `${`{"a":`.repeat(depth - 1)}{}${close.repeat(depth - 1)}`,
);

/** With something removed, inserted or duplicated. */
const damaged = (text: Arbitrary<string>): Arbitrary<string> =>
  tuple(
    text,
    nat(),
    constantFrom('', '"', '\\', '{', '}', '[', ']', ':', ',', '\0', '\uFEFF', '__proto__', '"a":1,', ' '),
    nat(3),
  ).map(([whole, at, put, cut]) => {
    const place = at % (whole.length + 1);
    return whole.slice(0, place) + put + whole.slice(place + cut);
  });

const anyJson = oneof(jsonText, deepText, damaged(jsonText), string({ unit: 'binary', maxLength: 20 }));

/** What the engine parses, minus what the rules refuse, found by walking the text token by token. */
const reference = (text: string, depthMax: number): { readonly value: unknown } | null => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gsu) ?? [];
  const open: (Set<string> | 'list')[] = [];
  for (const [place, token] of tokens.entries()) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push('list');
    else if (token === '}' || token === ']') open.pop();
    if (open.length > depthMax) return null;
    const keys = open.at(-1);
    if (tokens[place + 1] !== ':' || !(keys instanceof Set)) continue;
    const name = JSON.parse(token) as string;
    if (keys.has(name) || name === '__proto__') return null;
    keys.add(name);
  }
  return { value };
};

// invariants: strict-json-no-duplicate-key, strict-json-bounded-depth
test('strict JSON is what the engine parses, without duplicate keys, prototypes and deep nesting', () => {
  let [taken, refused] = [0, 0];
  check(
    property(anyJson, integer({ min: 1, max: 8 }), (text, depthMax) => {
      const [found, wanted] = [parseStrictJson(text, depthMax), reference(text, depthMax)];
      tried += 1;
      if (wanted === null) refused += 1;
      else taken += 1;
      if (wanted === null) expect(found).toEqual({ problem: expect.stringMatching(/^[A-Z`].{5,140}\.$/su) });
      else expect(found).toEqual(wanted);
    }),
    { numRuns: runs.json },
  );
  // Both cases occurred often.
  expect(Math.min(taken, refused)).toBeGreaterThan(runs.json / 8);
});

// --- requests, without a socket ---

const startServer = async (): Promise<{
  readonly server: Server;
  readonly token: string;
  readonly lines: ServerLine[];
}> => {
  const models = [rehearse([{ reply: 'Hello.' }], { keepRequests: false })];
  const cloister = await openCloister({
    store: 'memory',
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models })],
  });
  const lines: ServerLine[] = [];
  const server = await openServer(cloister, {
    port: 0,
    origins: ['https://chat.example.com'],
    log: (line) => lines.push(line),
  });
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  return { server, token: server.token!, lines };
};

type RawRequest = {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
};

/** Returns the status. Checks that it is not an internal error, and that the response is safe. */
const ask = async (
  { server, token, lines }: Awaited<ReturnType<typeof startServer>>,
  { path = '/v1', headers = {}, body }: RawRequest,
): Promise<number> => {
  lines.length = 0;
  const response = await server.fetch(
    new Request(`http://localhost${path}`, {
      ...(body === undefined ? {} : { method: 'POST', body }),
      headers: {
        host: 'localhost',
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    }),
  );
  // The page has a policy of its own.
  if (path !== '/' || body !== undefined) expectSecurityHeaders(response.headers);
  tried += 1;
  const isJson = response.headers.get('content-type') === 'application/json';
  const said = isJson ? JSON.stringify(await response.json()) : await response.body?.cancel();
  // A model whose answer does not match the requested schema is not an internal error either.
  if (response.status === 502) expect(said).toContain('"answer_schema"');
  else expect(response.status).toBeLessThan(500);
  expect(lines.filter((line) => line.type === 'request' && line.defect !== undefined)).toEqual([]);
  return response.status;
};

/** What a header can hold. */
const headerText = (maxLength: number): Arbitrary<string> =>
  array(integer({ min: 0x20, max: 0xff }), { maxLength }).map((codes) =>
    String.fromCodePoint(...codes.map((code) => (code === 0x7f ? 0x20 : code))),
  );

const mutated = (text: string, more: readonly string[]): Arbitrary<string> =>
  tuple(
    nat(text.length),
    constantFrom('', ' ', '=', ',', ';', '.', ':', '@', '/', '\t', '%00', 'x', '\u00E4', ...more),
    nat(2),
    nat(1),
  ).map(([at, put, cut, twice]) => (text.slice(0, at) + put + text.slice(at + cut)).repeat(twice + 1));

/** Whitespace around header values is removed. */
const trimmed = (text: string): string => text.replaceAll(/^[ \t]+|[ \t]+$/gu, '');

test('only the exact token is accepted', async () => {
  const opened = await startServer();
  const right = `Bearer ${opened.token}`;
  let passed = 0;
  await check(
    asyncProperty(
      oneof(headerText(60), mutated(right, [opened.token, 'Bearer ']), constantFrom(right, `bearer  ${opened.token} `)),
      async (authorization) => {
        const [scheme = '', token, ...others] = trimmed(authorization).split(/ +/u);
        const isRight = scheme.toLowerCase() === 'bearer' && token === opened.token && others.length === 0;
        if (isRight) passed += 1;
        expect(await ask(opened, { headers: { authorization } })).toBe(isRight ? 200 : 401);
        expect(await ask(opened, { headers: { authorization: '', 'x-api-key': authorization } })).toBe(
          trimmed(authorization) === opened.token ? 200 : 401,
        );
      },
    ),
    { numRuns: Math.ceil(runs.bearer / 2) },
  );
  expect(passed).toBeGreaterThan(10);
});

// invariant: gate-host-known
test('only host names of this machine are accepted, in every notation', async () => {
  const opened = await startServer();
  const names = ['localhost', '127.0.0.1', '[::1]', 'localhost:8787', '127.0.0.1:1', '[::1]:80'];
  const anyHost = oneof(
    headerText(30),
    constantFrom(...names),
    ...names.map((name) => mutated(name, ['evil.example.com', ':1', '[', ']'])),
  );
  let passed = 0;
  await check(
    asyncProperty(anyHost, async (host) => {
      const status = await ask(opened, { headers: { host } });
      if (status === 403) return;
      passed += 1;
      expect(status).toBe(200);
      const { hostname, username, pathname } = new URL(`http://${trimmed(host).replace(/:\d+$/u, '')}`);
      expect(['localhost', '127.0.0.1', '[::1]']).toContain(hostname);
      expect([username, pathname]).toEqual(['', '/']);
    }),
    { numRuns: runs.host },
  );
  expect(passed).toBeGreaterThan(10);
});

// invariant: gate-origin-known
test('only the server’s own origin and allowed origins are accepted', async () => {
  const opened = await startServer();
  const [own, allowed] = ['http://localhost', 'https://chat.example.com'];
  const anyOrigin = oneof(
    headerText(30),
    constantFrom(own, allowed, 'null'),
    mutated(own, [':80']),
    mutated(allowed, ['null']),
  );
  let passed = 0;
  await check(
    asyncProperty(anyOrigin, async (origin) => {
      const isRight = [own, allowed].includes(trimmed(origin).toLowerCase());
      if (isRight) passed += 1;
      expect(await ask(opened, { headers: { origin } })).toBe(isRight ? 200 : 403);
    }),
    { numRuns: runs.origin },
  );
  expect(passed).toBeGreaterThan(10);
});

test('a last-event-id is known or refused', async () => {
  const opened = await startServer();
  const started = await opened.server.fetch(
    new Request('http://localhost/v1/lead?q=hi', {
      headers: { host: 'localhost', authorization: `Bearer ${opened.token}` },
    }),
  );
  const { run } = (await started.json()) as { run: string };
  await check(
    asyncProperty(
      oneof(headerText(40), mutated('lead-0123456789ab/12', ['/', '../', '%2f', '99999999999999999999']), constant('')),
      async (id) => {
        const empty = trimmed(id) === '';
        expect(await ask(opened, { path: `/v1/runs/${run}/events`, headers: { 'last-event-id': id } })).toBe(
          empty ? 200 : 400,
        );
      },
    ),
    { numRuns: runs.id },
  );
});

test('any query is accepted or refused', async () => {
  const opened = await startServer();
  const names = [
    'q',
    'format',
    'schema',
    'budget_tokens',
    'budget_usd',
    'stream',
    'details',
    'limit',
    'after',
    '__proto__',
    'q[]',
  ];
  const values = oneof(
    constantFrom(
      '',
      'hi',
      'json',
      '{}',
      '{"type":"object"}',
      '-1',
      '0',
      '1e9',
      'true',
      '%',
      '%ff',
      '%00',
      '%F0%9F',
      '+',
      'NaN',
      '{"a":1,"a":2}',
    ),
    string({ unit: 'binary', maxLength: 8 }).map((text) => encodeURIComponent(text.toWellFormed())),
  );
  const query = array(tuple(constantFrom(...names), constantFrom('=', '=', '', '=='), values), { maxLength: 4 }).map(
    (pairs) => pairs.map((parts) => parts.join('')).join('&'),
  );
  const paths = [
    '/v1/lead',
    '/v1',
    '/v1/runs',
    '/v1/models',
    '/v1/nobody',
    '/mcp/messages',
    '/openapi.json',
    '/v1/runs/x/events',
  ];
  const seen = new Set<number>();
  await check(
    asyncProperty(constantFrom(...paths), query, async (path, given) => {
      const headers: Record<string, string> = path === '/v1/models' ? { 'anthropic-version': '2023-06-01' } : {};
      seen.add(await ask(opened, { path: `${path}?${given}`, headers }));
    }),
    { numRuns: runs.query },
  );
  expect([...seen].toSorted((one, other) => one - other)).toEqual(expect.arrayContaining([200, 400, 404]));
});

test('only JSON content types are accepted', async () => {
  const opened = await startServer();
  const right = 'application/json; charset=utf-8';
  let passed = 0;
  await check(
    asyncProperty(
      oneof(headerText(30), constantFrom(right, 'application/json'), mutated(right, ['text/plain', '"'])),
      async (type) => {
        const [media = '', parameter, ...others] = trimmed(type).toLowerCase().split(';').map(trimmed);
        const isRight =
          media === 'application/json' &&
          others.length === 0 &&
          (parameter === undefined || ['charset=utf-8', 'charset="utf-8"'].includes(parameter));
        const status = await ask(opened, { path: '/v1/lead', headers: { 'content-type': type }, body: '{}' });
        if (isRight) passed += 1;
        expect(status).toBe(isRight ? 400 : 415);
      },
    ),
    { numRuns: runs.type },
  );
  expect(passed).toBeGreaterThan(10);
});

test('any path is known or refused', async () => {
  const opened = await startServer();
  const parts = constantFrom(
    'v1',
    'lead',
    'models',
    'messages',
    'runs',
    'mcp',
    'sse',
    '..',
    '.',
    '',
    '%2e%2e',
    '%2f',
    '%00',
    '%',
    '%ff',
    '__proto__',
    'constructor',
    ':agent',
    '*',
    'LEAD',
    'lead%20',
    '%6dodels',
    'health',
  );
  const path = array(oneof(parts, string({ maxLength: 5 })), { maxLength: 5 }).map((all) => `/${all.join('/')}`);
  const seen = new Set<number>();
  await check(
    asyncProperty(path, async (given) => {
      const url = new URL('http://localhost/');
      // The URL as a client would normalise it; other shapes are tested over sockets.
      url.pathname = given;
      seen.add(await ask(opened, { path: url.pathname }));
      seen.add(await ask(opened, { path: url.pathname, body: '{}' }));
    }),
    { numRuns: Math.ceil(runs.path / 2) },
  );
  expect([...seen]).toEqual(expect.arrayContaining([200, 400, 404, 405]));
});

/** A valid body for each path. */
const rightBodies = {
  '/v1/lead': { input: 'hi' },
  '/v1/chat/completions': { model: 'lead', messages: [{ role: 'user', content: 'hi' }] },
  '/v1/responses': { model: 'lead', input: 'hi' },
  '/v1/messages': { model: 'lead', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
  '/v1/messages/count_tokens': { model: 'lead', messages: [{ role: 'user', content: 'hi' }] },
  '/mcp': { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'lead', arguments: { prompt: 'hi' } } },
  '/mcp/messages': { jsonrpc: '2.0', id: 1, method: 'ping' },
  '/v1/runs/x/messages': { text: 'hi' },
  '/v1/runs/x/cancel': {},
} as const;

const fieldNames = [
  'input',
  'model',
  'messages',
  'stream',
  'schema',
  'format',
  'budget',
  'conversation',
  'max_tokens',
  'method',
  'params',
  'id',
  'text',
  'tools',
  'previous_response_id',
  'response_format',
];

/** Some fields are replaced, or unknown ones are added. */
const almostValid = (right: object): Arbitrary<string> =>
  array(
    tuple(
      constantFrom(...Object.keys(right), ...fieldNames),
      oneof(jsonText, constantFrom('"lead"', '{"tokens":-1}', 'true', '""')),
    ),
    { maxLength: 2 },
  ).map((changes) => {
    const fields = new Map(Object.entries(right).map(([name, value]) => [name, JSON.stringify(value)]));
    for (const [name, text] of changes) fields.set(name, text);
    return `{${[...fields].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
  });

test.for(Object.entries(rightBodies))('any body is accepted or refused: %s', async ([path, right]) => {
  const opened = await startServer();
  const seen = new Set<number>();
  const bytes = array(nat(255), { maxLength: 30 }).map((all) => Uint8Array.from(all));
  const headers = { accept: 'application/json, text/event-stream' };
  await check(
    asyncProperty(
      oneof({ weight: 3, arbitrary: almostValid(right) }, damaged(almostValid(right)), anyJson, bytes),
      async (body) => {
        seen.add(await ask(opened, { path, body, headers }));
      },
    ),
    { numRuns: Math.ceil(runs.bodies / Object.keys(rightBodies).length) },
  );
  const known = !/\/x\/|\/mcp\/messages/u.test(path);
  expect([...seen]).toEqual(expect.arrayContaining(known ? [200, 400] : [404, 400]));
});

// The last test: it counts the inputs of the tests above.
test('all of these inputs were tried', () => {
  expect(tried).toBeGreaterThanOrEqual(testRuns(20_000));
});
