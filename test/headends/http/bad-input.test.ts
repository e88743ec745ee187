// Input that no client should send, written byte by byte over sockets: it is refused or answered, and the server keeps serving.
import { once } from 'node:events';
import { defineAgent, hashToken, makeToken } from 'cloister';
import type { ServerLine, ServerOptions } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { slowdown } from '../../slow-machine.ts';
import { serveAgents } from './driver.ts';
import { expectSecurityHeaders } from './error-formats.ts';
import { sendOnce, encodeHead, openRawConnection } from './raw-client.ts';

type Pair = readonly [string, string];

const startServer = async (limits: ServerOptions['limits'] = {}) => {
  const model = rehearse([{ reply: 'Hello.' }]);
  const lines: ServerLine[] = [];
  const served = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model] })],
    limits,
    log: (line) => lines.push(line),
  });
  const host: Pair = ['host', new URL(served.url).host];
  const bearer: Pair = ['authorization', `Bearer ${served.token}`];
  const json: Pair = ['content-type', 'application/json'];
  const post = (path: string, body: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
    fetch(served.url + path, { method: 'POST', headers: [[...bearer], [...json]], body });
  return { ...served, model, lines, host, bearer, json, post, right: [host, bearer, json] };
};

type StartedServer = Awaited<ReturnType<typeof startServer>>;

/** The server still serves, nothing is in flight, and no defect was reported. */
const expectStillServing = async ({ ask, cloister, lines, server }: StartedServer): Promise<void> => {
  const good = await ask('/v1/lead', { json: { input: 'hi' } });
  expect([good.status, ((await good.json()) as { output: string }).output]).toEqual([200, 'Hello.']);
  const runs = await cloister.runs();
  expect(runs.filter(({ state }) => state !== 'ended')).toEqual([]);
  expect(lines.filter((line) => line.type === 'request' && line.defect !== undefined)).toEqual([]);
  expect(await server.stop(0)).toEqual([]);
};

const errorIn = (body: string): { code: string; message: string; suggestion: string } =>
  (JSON.parse(body) as { error: { code: string; message: string; suggestion: string } }).error;

test('an announced body of 100 MB is refused before any byte is read', async () => {
  const opened = await startServer();
  const { url, right } = opened;
  for (const path of ['/v1/lead', '/v1/chat/completions', '/v1/messages', '/v1/responses', '/mcp']) {
    const peer = await openRawConnection(url);
    peer.write(encodeHead({ method: 'POST', path, headers: [...right, ['content-length', '104857600']] }));
    const reply = await peer.nextReply();
    expect(reply.status, path).toBe(413);
    expectSecurityHeaders(reply.headers);
  }
  await expectStillServing(opened);
});

test('a chunked body of 100 MB is read up to the limit and not kept', async () => {
  const opened = await startServer();
  const peer = await openRawConnection(opened.url);
  peer.write(
    encodeHead({ method: 'POST', path: '/v1/lead', headers: [...opened.right, ['transfer-encoding', 'chunked']] }),
  );
  const part = Buffer.alloc(64 * 1024, 'x');
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), part, Buffer.from('\r\n')]);
  let sent = 0;
  const answered = peer.nextReply();
  const over = Promise.race([answered, peer.ended]).then(() => true);
  const drained = (): Promise<boolean> => once(peer.socket, 'drain').then(() => false);
  for (; sent < 100 * 1024 * 1024; sent += part.length)
    if (!peer.socket.write(chunk) && (await Promise.race([over, drained()]))) break;
  expect((await answered).status).toBe(413);
  expect(errorIn((await answered).body).message).toContain('4194304 bytes');
  // The buffers of the operating system hold more than the limit, but far from the whole body.
  expect(sent).toBeLessThan(64 * 1024 * 1024);
  await expectStillServing(opened);
});

const bodies: readonly (readonly [what: string, body: string | Uint8Array<ArrayBuffer>, problem: string])[] = [
  ['nothing', '', 'Not valid JSON'],
  ['space', ' \n', 'Not valid JSON'],
  ['half of it', '{"input": "hi', 'Not valid JSON'],
  ['more after it', '{"input": "hi"} {}', 'Not valid JSON'],
  ['a comment', '{"input": "hi" /* there */}', 'Not valid JSON'],
  ['single quotes', "{'input': 'hi'}", 'Not valid JSON'],
  ['NaN', '{"input": NaN}', 'Not valid JSON'],
  ['lists in lists', '['.repeat(100_000), 'deeper than 64'],
  ['objects in objects', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'deeper than 64'],
  ['a key twice', '{"input": "hi", "input": "ho"}', 'Duplicate key \\"input\\"'],
  ['a key twice, written in two ways', String.raw`{"input": "hi", "\u0069nput": "ho"}`, 'Duplicate key \\"input\\"'],
  ['a key twice deep inside', '{"input": {"a": [{"b": 1, "b": 2}]}}', 'Duplicate key \\"b\\"'],
  ['a prototype', '{"__proto__": {"input": "hi"}}', '`__proto__` cannot be a key'],
  ['a prototype, written in another way', String.raw`{"\u005f_proto__": {}}`, '`__proto__` cannot be a key'],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'not valid UTF-8'],
  ['half a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'not valid UTF-8'],
  ['UTF-16', Buffer.from('{"input": "hi"}', 'utf16le'), 'Not valid JSON'],
  ['NUL in a text', '{"input": "a\0b"}', 'Not valid JSON'],
  ['NUL around it', '\0{"input": "hi"}', 'Not valid JSON'],
  ['a list', '[]', 'object'],
  ['a text', '"hi"', 'object'],
  ['null', 'null', 'object'],
  ['nothing that is asked', '{}', 'input'],
  ['a number for a text', '{"input": 7}', 'input'],
  ['a field that is not known', '{"input": "hi", "tools": []}', 'tools'],
  ['a schema that is none', '{"input": "hi", "schema": {"type": "nothing"}}', 'schema'],
  ['a schema that is a text', '{"input": "hi", "schema": "object"}', 'schema'],
  ['JSON without a schema', '{"input": "hi", "format": "json"}', 'schema'],
  ['a format that is none', '{"input": "hi", "format": "xml"}', 'format'],
  ['a negative budget', '{"input": "hi", "budget": {"tokens": -1}}', 'budget.tokens'],
  ['a budget beyond all numbers', '{"input": "hi", "budget": {"tokens": 1e999}}', 'budget.tokens'],
  ['a budget in words', '{"input": "hi", "budget": {"usd": "much"}}', 'budget.usd'],
];

test.for(bodies)('an invalid body is refused with a reason: %s', async ([, body, problem]) => {
  const opened = await startServer();
  const reply = await opened.post('/v1/lead', body);
  const text = await reply.text();
  expect(reply.status, text).toBe(400);
  expectSecurityHeaders(reply.headers);
  expect(text).toContain(problem);
  expect(errorIn(text).suggestion).toMatch(/./u);
  expect(await opened.cloister.runs()).toEqual([]);
  await expectStillServing(opened);
});

test('odd but valid bodies are served', async () => {
  const opened = await startServer();
  const asked = async (body: string): Promise<string> => {
    const reply = await opened.post('/v1/lead', body);
    return ((await reply.json()) as { output: string }).output;
  };
  expect(await asked('\uFEFF{"input": "a mark before it"}')).toBe('Hello.');
  expect(await asked(String.raw`{"input": "a \u0000 \ud800 b \u2028"}`)).toBe('Hello.');
  expect(await asked('{"input": "constructor, toString"}')).toBe('Hello.');
  await expectStillServing(opened);
});

test('a budget of zero is used up immediately', async () => {
  const opened = await startServer();
  const reply = await opened.post('/v1/lead', '{"input": "hi", "budget": {"tokens": 0}}');
  expect([400, 429]).toContain(reply.status);
  expect(opened.model.requests).toEqual([]);
  expect((await opened.post('/v1/nobody', '{"input": "hi"}')).status).toBe(404);
  expect((await opened.post('/v1/__proto__', '{"input": "hi"}')).status).toBe(404);
  expect((await opened.post('/v1/constructor', '{"input": "hi"}')).status).toBe(404);
  await expectStillServing(opened);
});

test('a HEAD runs no agent and opens no stream', async () => {
  const opened = await startServer();
  const { url, bearer, model, cloister } = opened;
  for (const path of ['/v1/lead?q=hi', '/v1/lead?q=hi&stream=true', '/mcp/sse', '/mcp', '/v1/runs', '/v1/models'])
    expect((await fetch(url + path, { method: 'HEAD', headers: [[...bearer]] })).status, path).toBe(405);
  // More than may be open at the same time.
  for (let time = 0; time < 70; time++)
    await (await fetch(`${url}/mcp/sse`, { method: 'HEAD', headers: [[...bearer]] })).text();
  const stream = await fetch(`${url}/mcp/sse`, { headers: [[...bearer]] });
  expect(stream.status).toBe(200);
  await stream.body!.cancel();
  expect(model.requests).toEqual([]);
  expect(await cloister.runs()).toEqual([]);
  await expectStillServing(opened);
});

const long = 'a'.repeat(40_000);
const answeredByParser: Readonly<
  Record<string, (server: StartedServer) => readonly [bytes: string, statuses: readonly number[]]>
> = {
  'headers that are huge': ({ right }) => [encodeHead({ path: '/v1', headers: [...right, ['x-long', long]] }), [431]],
  'an address that is huge': ({ right }) => [encodeHead({ path: `/v1?q=${long}`, headers: right }), [431]],
  'an address that is long': ({ right }) => [
    encodeHead({ path: `/v1/lead?q=${'a'.repeat(20_000)}`, headers: right }),
    [413],
  ],
  'thousands of headers': ({ right }) => [
    encodeHead({ path: '/v1', headers: [...right, ...Array.from({ length: 9_000 }, (): Pair => ['a', 'b'])] }),
    [431],
  ],
  'both a length and chunks': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '5'], ['transfer-encoding', 'chunked']] })}0\r\n\r\n`,
    [400],
  ],
  'chunks and then a length': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['transfer-encoding', 'chunked'], ['content-length', '5']] })}0\r\n\r\n`,
    [400],
  ],
  'two lengths': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '2'], ['content-length', '15']] })}{"input": "hi"}`,
    [400],
  ],
  'two equal lengths': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '2'], ['content-length', '2']] })}{}`,
    [400],
  ],
  'a length with a sign': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '+2']] })}{}`,
    [400],
  ],
  'a length that is negative': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '-1']] })}{}`,
    [400],
  ],
  'chunks that are not last': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['transfer-encoding', 'chunked, gzip']] })}0\r\n\r\n`,
    [400],
  ],
  'chunks that are hidden': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['transfer-encoding', 'xchunked']] })}0\r\n\r\n`,
    [415],
  ],
  'a chunk whose size is none': ({ right }) => [
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['transfer-encoding', 'chunked']] })}zz\r\n{}\r\n0\r\n\r\n`,
    [400],
  ],
  'space before a colon': ({ right }) => [
    encodeHead({ path: '/v1', headers: [...right, ['content-length ', '0']] }),
    [400],
  ],
  'a header over two lines': ({ right }) => [
    encodeHead({ path: '/v1', headers: [...right, ['x-folded', 'one\r\n two']] }),
    [400],
  ],
  'NUL in a header': ({ right }) => [encodeHead({ path: '/v1', headers: [...right, ['x-nul', 'a\0b']] }), [400]],
  'a lone line feed': ({ host }) => [`GET /v1 HTTP/1.1\nhost: ${host[1]}\n\n`, [400, 401]],
  'a lone carriage return': ({ host }) => [`GET /v1 HTTP/1.1\r\nhost: ${host[1]}\rx: y\r\n\r\n`, [400]],
  'a method that is none': ({ right }) => [encodeHead({ method: 'EVIL', path: '/v1', headers: right }), [400]],
  'another protocol': () => ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400]],
  'HTTP/2 at once': () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 505]],
  'a version that is none': ({ right }) => [encodeHead({ path: '/v1', version: '9.9', headers: right }), [400, 505]],
  'no path': ({ right }) => [encodeHead({ method: 'OPTIONS', path: '*', headers: right }), [400]],
  'a path that is none': ({ right }) => [encodeHead({ path: 'v1', headers: right }), [400]],
  'a backslash in the path': ({ right }) => [encodeHead({ path: '/v1\\lead', headers: right }), [400]],
  'an address that is none': ({ right }) => [encodeHead({ path: 'http://[/v1', headers: right }), [400]],
  'a foreign address in whole': ({ bearer }) => [
    encodeHead({ path: 'http://evil.example.com/v1', headers: [['host', 'evil.example.com'], bearer] }),
    [403],
  ],
  'an expectation that is none': ({ right }) => [
    encodeHead({ path: '/v1', headers: [...right, ['expect', 'wonders']] }),
    [417],
  ],
};

test.for(Object.keys(answeredByParser))('input that is not an HTTP request is answered: %s', async (what) => {
  const opened = await startServer();
  const [bytes, statuses] = answeredByParser[what]!(opened);
  const peer = await openRawConnection(opened.url);
  peer.socket.write(bytes, 'latin1');
  const reply = await peer.nextReply();
  expect(statuses, reply.text).toContain(reply.status);
  expect(reply.text).not.toMatch(/lead|Hello|0\.1\.0|node_modules|\n\s+at /u);
  // For an unknown expectation, Node itself answers with a status only.
  if (reply.status === 417) expect(reply.body).toBe('');
  else {
    expectSecurityHeaders(reply.headers);
    expect(errorIn(reply.body)).toMatchObject({ code: expect.stringMatching(/_/u), suggestion: expect.any(String) });
  }
  expect(await opened.cloister.runs()).toEqual([]);
  await expectStillServing(opened);
});

test('CONNECT opens no tunnel', async () => {
  const opened = await startServer();
  const peer = await openRawConnection(opened.url);
  peer.write(encodeHead({ method: 'CONNECT', path: 'example.com:443', headers: [opened.host, opened.bearer] }));
  expect(await peer.ended).toBe('');
  await expectStillServing(opened);
});

test('HTTP/1.0 and absolute URLs are served', async () => {
  const opened = await startServer();
  const { url, right } = opened;
  const old = await sendOnce(
    url,
    { method: 'POST', path: '/v1/lead', version: '1.0', headers: right },
    '{"input": "hi"}',
  );
  expect([old.status, (JSON.parse(old.body) as { output: string }).output]).toEqual([200, 'Hello.']);
  const whole = await sendOnce(url, { path: `${url}/v1/lead?q=hi`, headers: right });
  expect(whole.status).toBe(200);
  await expectStillServing(opened);
});

test('a request to upgrade to another protocol is served without the upgrade', async () => {
  const opened = await startServer();
  const headers: readonly Pair[] = [
    ...opened.right,
    ['connection', 'Upgrade, HTTP2-Settings'],
    ['upgrade', 'h2c'],
    ['http2-settings', 'AAMAAABkAAQAoAAAAAIAAAAA'],
  ];
  const reply = await sendOnce(opened.url, { method: 'POST', path: '/v1/lead', headers }, '{"input": "hi"}');
  expect([reply.status, (JSON.parse(reply.body) as { output: string }).output]).toEqual([200, 'Hello.']);
  await expectStillServing(opened);
});

test('pipelined requests are answered in order', async () => {
  const opened = await startServer();
  const { url, right, host } = opened;
  const peer = await openRawConnection(url);
  const body = '{"input": "hi"}';
  const length: Pair = ['content-length', String(body.length)];
  peer.write(
    encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, length] }) +
      body +
      encodeHead({ path: '/v1/models', headers: [host] }) +
      encodeHead({ path: '/nowhere', headers: right }) +
      encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, length] }) +
      body,
  );
  const statuses = [];
  for (let time = 0; time < 4; time++) statuses.push((await peer.nextReply()).status);
  expect(statuses).toEqual([200, 401, 404, 200]);
  await expectStillServing(opened);
});

// invariant: http-checks-before-body
test('100 Continue is sent only for a body that will be read', async () => {
  const opened = await startServer();
  const { url, right, host, json, bearer } = opened;
  const body = '{"input": "hi"}';
  const asks = (headers: readonly Pair[], length: string): string =>
    encodeHead({
      method: 'POST',
      path: '/v1/lead',
      headers: [...headers, ['content-length', length], ['expect', '100-continue']],
    });
  const refused: readonly (readonly [readonly Pair[], string, number])[] = [
    [[host, json], '15', 401],
    [[['host', 'evil.example.com'], json, bearer], '15', 403],
    [[host, bearer, ['content-type', 'text/plain']], '15', 415],
    [right, '104857600', 413],
  ];
  for (const [headers, length, status] of refused) {
    const peer = await openRawConnection(url);
    peer.write(asks(headers, length));
    const reply = await peer.nextReply();
    expect(reply.status).toBe(status);
    expect(reply.text).not.toContain('100 Continue');
  }
  const peer = await openRawConnection(url);
  peer.write(asks(right, String(body.length)));
  const [first] = (await once(peer.socket, 'data')) as [Buffer];
  expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  peer.write(body);
  expect((await peer.nextReply()).status).toBe(200);
  await expectStillServing(opened);
});

// invariant: slow-connection-closed
test('a connection that sends slowly, partially or not at all is closed, and others do not wait for it', async () => {
  const ms = 300 * slowdown();
  const opened = await startServer({ headersTimeoutMs: ms, requestTimeoutMs: 2 * ms, idleMs: ms, stallMs: 7 * ms });
  const { url, right } = opened;
  const [silent, half, slow, stuck, idle] = await Promise.all(Array.from({ length: 5 }, () => openRawConnection(url)));
  half!.write('GET /v1 HTTP/1.1\r\nhost: ');
  stuck!.write(
    `${encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '15']] })}{"inp`,
  );
  idle!.write(encodeHead({ path: '/v1', headers: right }));
  slow!.write(encodeHead({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '1500']] }));
  const drip = setInterval(() => slow!.write(' '), 100);
  expect((await idle!.nextReply()).status).toBe(200);
  const good = await opened.ask('/v1/lead', { json: { input: 'hi' } });
  expect(good.status).toBe(200);
  const ends = await Promise.all([silent, half, slow, stuck, idle].map((peer) => peer!.ended));
  clearInterval(drip);
  for (const end of ends) expect(end).toMatch(/^(?:HTTP\/1\.1 408 |$)/u);
  expect(ends[2]).toMatch(/^HTTP\/1\.1 408 /u);
  expect(ends[3]).toMatch(/^HTTP\/1\.1 408 /u);
  await expectStillServing(opened);
});

test('the operator’s log line of a request has no line ends, secrets or terminal control characters', async () => {
  const opened = await startServer();
  const paths = ['/v1/%0a%1b[2J', '/%0d%0aevil', '/%00%E2%80%AE', '/v1/%250a', '/v1/lead%C2%9B'];
  for (const path of paths)
    for (const headers of [opened.right, [opened.host]]) {
      const peer = await openRawConnection(opened.url);
      peer.socket.write(encodeHead({ path: `${path}?token=${opened.token}#%0a`, headers }), 'latin1');
      expect([401, 404]).toContain((await peer.nextReply()).status);
    }
  expect(opened.lines).toHaveLength(2 * paths.length);
  for (const line of opened.lines) {
    expect(line.type === 'request' && line.path).toMatch(/^\/[!-~]*$/u);
    expect(JSON.stringify(line)).not.toContain(opened.token);
  }
  await expectStillServing(opened);
});

test('a client that keeps sending after a refusal is disconnected', async () => {
  const opened = await startServer();
  const { url, host, json } = opened;
  const peer = await openRawConnection(url);
  peer.write(encodeHead({ method: 'POST', path: '/v1/lead', headers: [host, json, ['transfer-encoding', 'chunked']] }));
  const drip = setInterval(() => peer.write('1\r\n \r\n'), 20);
  expect((await peer.nextReply()).status).toBe(401);
  expect(await peer.ended).toBe('');
  clearInterval(drip);
  await expectStillServing(opened);
});

// invariant: socket-text-counts
test('a WebSocket has the same rate limit as plain requests', async () => {
  const token = makeToken();
  const { url } = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [rehearse([{ reply: 'Hello.' }])] })],
    tokens: [{ name: 'few', sha256: hashToken(token), requestsPerMinute: 5 }],
  });
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp'], { headers });
  await once(socket, 'open');
  const received: string[] = [];
  socket.on('message', (data: Buffer) => received.push(data.toString()));
  for (let id = 1; id <= 20; id++) socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }));
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  expect([code, reason.toString()]).toEqual([
    1013,
    'This token has exceeded its request rate limit. The limit is 5 requests per minute.',
  ]);
  expect(received.length).toBeLessThanOrEqual(4);
  const next = await fetch(`${url}/v1`, { headers });
  expect(next.status).toBe(429);
  expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('a WebSocket accepts only text messages of bounded length in UTF-8', async () => {
  const opened = await startServer({ bodyBytesMax: 1_000 });
  const closeAfter = async (send: (socket: WebSocket) => void): Promise<number> => {
    const socket = new WebSocket(`${opened.url.replace('http', 'ws')}/mcp/ws`, ['mcp'], {
      headers: { authorization: `Bearer ${opened.token}` },
    });
    socket.on('error', () => undefined);
    await once(socket, 'open');
    send(socket);
    const [code] = (await once(socket, 'close')) as [number];
    return code;
  };
  expect(await closeAfter((socket) => socket.send(Buffer.from('{}')))).toBe(1003);
  expect(await closeAfter((socket) => socket.send('x'.repeat(1_001)))).toBe(1009);
  expect(await closeAfter((socket) => socket.send(Buffer.from([0xff, 0xfe]), { binary: false }))).toBe(1007);
  const socket = new WebSocket(`${opened.url.replace('http', 'ws')}/mcp/ws`, ['mcp'], {
    headers: { authorization: `Bearer ${opened.token}` },
  });
  await once(socket, 'open');
  for (const text of ['', 'no JSON', '[]', '{"a":1,"a":2}', '['.repeat(100), '{"__proto__":{}}', 'null', '7']) {
    socket.send(text);
    const [answer] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(answer.toString()), text).toMatchObject({
      jsonrpc: '2.0',
      error: { message: expect.stringMatching(/./u) },
    });
  }
  socket.close();
  await once(socket, 'close');
  await expectStillServing(opened);
});

test('connections beyond the limit are not accepted', async () => {
  const opened = await startServer({ connectionsMax: 2 });
  const [one, two] = [await openRawConnection(opened.url), await openRawConnection(opened.url)];
  const three = await openRawConnection(opened.url);
  expect(await three.ended).toBe('');
  one.socket.destroy();
  two.write(encodeHead({ path: '/health', headers: [opened.host] }));
  expect((await two.nextReply()).status).toBe(200);
  two.socket.destroy();
});
