// What no client should send, byte by byte over sockets: refused, or answered as far as it goes; the server goes on.
import { once } from 'node:events';
import { defineAgent, hashToken, makeToken } from 'cloister';
import type { ServerLine, ServerOptions } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { serveAgents } from './driver.ts';
import { expectSafe } from './forms.ts';
import { askOnce, headOf, openPeer } from './peer.ts';

type Pair = readonly [string, string];

const house = async (limits: ServerOptions['limits'] = {}) => {
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

type House = Awaited<ReturnType<typeof house>>;

/** It still serves, nothing is under way, and nobody saw a defect. */
const expectWell = async ({ ask, cloister, lines, server }: House): Promise<void> => {
  const good = await ask('/v1/lead', { json: { input: 'hi' } });
  expect([good.status, ((await good.json()) as { output: string }).output]).toEqual([200, 'Hello.']);
  const runs = await cloister.runs();
  expect(runs.filter(({ state }) => state !== 'ended')).toEqual([]);
  expect(lines.filter((line) => line.type === 'request' && line.defect !== undefined)).toEqual([]);
  expect(await server.stop(0)).toEqual([]);
};

const errorIn = (body: string): { code: string; message: string; suggestion: string } =>
  (JSON.parse(body) as { error: { code: string; message: string; suggestion: string } }).error;

test('100 MB that are announced are refused before a byte of them', async () => {
  const opened = await house();
  const { url, right } = opened;
  for (const path of ['/v1/lead', '/v1/chat/completions', '/v1/messages', '/v1/responses', '/mcp']) {
    const peer = await openPeer(url);
    peer.write(headOf({ method: 'POST', path, headers: [...right, ['content-length', '104857600']] }));
    const reply = await peer.reply();
    expect(reply.status, path).toBe(413);
    expectSafe(reply.headers);
  }
  await expectWell(opened);
});

test('100 MB in chunks are read as far as the limit, and not kept', async () => {
  const opened = await house();
  const peer = await openPeer(opened.url);
  peer.write(
    headOf({ method: 'POST', path: '/v1/lead', headers: [...opened.right, ['transfer-encoding', 'chunked']] }),
  );
  const part = Buffer.alloc(64 * 1024, 'x');
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), part, Buffer.from('\r\n')]);
  let sent = 0;
  const answered = peer.reply();
  const over = Promise.race([answered, peer.ended]).then(() => true);
  const drained = (): Promise<boolean> => once(peer.socket, 'drain').then(() => false);
  for (; sent < 100 * 1024 * 1024; sent += part.length)
    if (!peer.socket.write(chunk) && (await Promise.race([over, drained()]))) break;
  expect((await answered).status).toBe(413);
  expect(errorIn((await answered).body).message).toContain('4194304 bytes');
  // What is on its way in the machine's own buffers is more than the limit, and far from all.
  expect(sent).toBeLessThan(64 * 1024 * 1024);
  await expectWell(opened);
});

const bodies: readonly (readonly [what: string, body: string | Uint8Array<ArrayBuffer>, problem: string])[] = [
  ['nothing', '', 'not JSON'],
  ['space', ' \n', 'not JSON'],
  ['half of it', '{"input": "hi', 'not JSON'],
  ['more after it', '{"input": "hi"} {}', 'not JSON'],
  ['a comment', '{"input": "hi" /* there */}', 'not JSON'],
  ['single quotes', "{'input': 'hi'}", 'not JSON'],
  ['NaN', '{"input": NaN}', 'not JSON'],
  ['lists in lists', '['.repeat(100_000), 'deeper than 64'],
  ['objects in objects', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'deeper than 64'],
  ['a key twice', '{"input": "hi", "input": "ho"}', '"input\\" is given twice'],
  ['a key twice, written in two ways', String.raw`{"input": "hi", "\u0069nput": "ho"}`, '"input\\" is given twice'],
  ['a key twice deep inside', '{"input": {"a": [{"b": 1, "b": 2}]}}', '"b\\" is given twice'],
  ['a prototype', '{"__proto__": {"input": "hi"}}', '`__proto__` cannot be a key'],
  ['a prototype, written in another way', String.raw`{"\u005f_proto__": {}}`, '`__proto__` cannot be a key'],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'not UTF-8'],
  ['half a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'not UTF-8'],
  ['UTF-16', Buffer.from('{"input": "hi"}', 'utf16le'), 'not JSON'],
  ['NUL in a text', '{"input": "a\0b"}', 'not JSON'],
  ['NUL around it', '\0{"input": "hi"}', 'not JSON'],
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

test.for(bodies)('a body is refused in words: %s', async ([, body, problem]) => {
  const opened = await house();
  const reply = await opened.post('/v1/lead', body);
  const text = await reply.text();
  expect(reply.status, text).toBe(400);
  expectSafe(reply.headers);
  expect(text).toContain(problem);
  expect(errorIn(text).suggestion).toMatch(/./u);
  expect(await opened.cloister.runs()).toEqual([]);
  await expectWell(opened);
});

test('what only looks odd is served', async () => {
  const opened = await house();
  const asked = async (body: string): Promise<string> => {
    const reply = await opened.post('/v1/lead', body);
    return ((await reply.json()) as { output: string }).output;
  };
  expect(await asked('\uFEFF{"input": "a mark before it"}')).toBe('Hello.');
  expect(await asked(String.raw`{"input": "a \u0000 \ud800 b \u2028"}`)).toBe('Hello.');
  expect(await asked('{"input": "constructor, toString"}')).toBe('Hello.');
  await expectWell(opened);
});

test('a budget of nothing buys nothing', async () => {
  const opened = await house();
  const reply = await opened.post('/v1/lead', '{"input": "hi", "budget": {"tokens": 0}}');
  expect([400, 429]).toContain(reply.status);
  expect(opened.model.requests).toEqual([]);
  expect((await opened.post('/v1/nobody', '{"input": "hi"}')).status).toBe(404);
  expect((await opened.post('/v1/__proto__', '{"input": "hi"}')).status).toBe(404);
  expect((await opened.post('/v1/constructor', '{"input": "hi"}')).status).toBe(404);
  await expectWell(opened);
});

test('a HEAD runs no agent and opens no stream', async () => {
  const opened = await house();
  const { url, bearer, model, cloister } = opened;
  for (const path of ['/v1/lead?q=hi', '/v1/lead?q=hi&stream=true', '/mcp/sse', '/mcp', '/v1/runs', '/v1/models'])
    expect((await fetch(url + path, { method: 'HEAD', headers: [[...bearer]] })).status, path).toBe(405);
  // More than may be open at once.
  for (let time = 0; time < 70; time++)
    await (await fetch(`${url}/mcp/sse`, { method: 'HEAD', headers: [[...bearer]] })).text();
  const stream = await fetch(`${url}/mcp/sse`, { headers: [[...bearer]] });
  expect(stream.status).toBe(200);
  await stream.body!.cancel();
  expect(model.requests).toEqual([]);
  expect(await cloister.runs()).toEqual([]);
  await expectWell(opened);
});

const long = 'a'.repeat(40_000);
const answeredByParser: Readonly<
  Record<string, (house: House) => readonly [bytes: string, statuses: readonly number[]]>
> = {
  'headers that are huge': ({ right }) => [headOf({ path: '/v1', headers: [...right, ['x-long', long]] }), [431]],
  'an address that is huge': ({ right }) => [headOf({ path: `/v1?q=${long}`, headers: right }), [431]],
  'an address that is long': ({ right }) => [
    headOf({ path: `/v1/lead?q=${'a'.repeat(20_000)}`, headers: right }),
    [413],
  ],
  'thousands of headers': ({ right }) => [
    headOf({ path: '/v1', headers: [...right, ...Array.from({ length: 9_000 }, (): Pair => ['a', 'b'])] }),
    [431],
  ],
  'both a length and chunks': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '5'], ['transfer-encoding', 'chunked']] })}0\r\n\r\n`,
    [400],
  ],
  'chunks and then a length': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['transfer-encoding', 'chunked'], ['content-length', '5']] })}0\r\n\r\n`,
    [400],
  ],
  'two lengths': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '2'], ['content-length', '15']] })}{"input": "hi"}`,
    [400],
  ],
  'two equal lengths': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '2'], ['content-length', '2']] })}{}`,
    [400],
  ],
  'a length with a sign': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '+2']] })}{}`,
    [400],
  ],
  'a length that is negative': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '-1']] })}{}`,
    [400],
  ],
  'chunks that are not last': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['transfer-encoding', 'chunked, gzip']] })}0\r\n\r\n`,
    [400],
  ],
  'chunks that are hidden': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['transfer-encoding', 'xchunked']] })}0\r\n\r\n`,
    [415],
  ],
  'a chunk whose size is none': ({ right }) => [
    `${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['transfer-encoding', 'chunked']] })}zz\r\n{}\r\n0\r\n\r\n`,
    [400],
  ],
  'space before a colon': ({ right }) => [
    headOf({ path: '/v1', headers: [...right, ['content-length ', '0']] }),
    [400],
  ],
  'a header over two lines': ({ right }) => [
    headOf({ path: '/v1', headers: [...right, ['x-folded', 'one\r\n two']] }),
    [400],
  ],
  'NUL in a header': ({ right }) => [headOf({ path: '/v1', headers: [...right, ['x-nul', 'a\0b']] }), [400]],
  'a lone line feed': ({ host }) => [`GET /v1 HTTP/1.1\nhost: ${host[1]}\n\n`, [400, 401]],
  'a lone carriage return': ({ host }) => [`GET /v1 HTTP/1.1\r\nhost: ${host[1]}\rx: y\r\n\r\n`, [400]],
  'a method that is none': ({ right }) => [headOf({ method: 'EVIL', path: '/v1', headers: right }), [400]],
  'another protocol': () => ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400]],
  'HTTP/2 at once': () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 505]],
  'a version that is none': ({ right }) => [headOf({ path: '/v1', version: '9.9', headers: right }), [400, 505]],
  'no path': ({ right }) => [headOf({ method: 'OPTIONS', path: '*', headers: right }), [400]],
  'a path that is none': ({ right }) => [headOf({ path: 'v1', headers: right }), [400]],
  'a backslash in the path': ({ right }) => [headOf({ path: '/v1\\lead', headers: right }), [400]],
  'an address that is none': ({ right }) => [headOf({ path: 'http://[/v1', headers: right }), [400]],
  'a foreign address in whole': ({ bearer }) => [
    headOf({ path: 'http://evil.example.com/v1', headers: [['host', 'evil.example.com'], bearer] }),
    [403],
  ],
  'an expectation that is none': ({ right }) => [
    headOf({ path: '/v1', headers: [...right, ['expect', 'wonders']] }),
    [417],
  ],
};

test.for(Object.keys(answeredByParser))('no request at all: %s', async (what) => {
  const opened = await house();
  const [bytes, statuses] = answeredByParser[what]!(opened);
  const peer = await openPeer(opened.url);
  peer.socket.write(bytes, 'latin1');
  const reply = await peer.reply();
  expect(statuses, reply.text).toContain(reply.status);
  expect(reply.text).not.toMatch(/lead|Hello|0\.1\.0|node_modules|\n\s+at /u);
  // Of expectations Node itself says no more than the status.
  if (reply.status === 417) expect(reply.body).toBe('');
  else {
    expectSafe(reply.headers);
    expect(errorIn(reply.body)).toMatchObject({ code: expect.stringMatching(/_/u), suggestion: expect.any(String) });
  }
  expect(await opened.cloister.runs()).toEqual([]);
  await expectWell(opened);
});

test('a tunnel is not opened', async () => {
  const opened = await house();
  const peer = await openPeer(opened.url);
  peer.write(headOf({ method: 'CONNECT', path: 'example.com:443', headers: [opened.host, opened.bearer] }));
  expect(await peer.ended).toBe('');
  await expectWell(opened);
});

test('HTTP/1.0 and whole addresses are served', async () => {
  const opened = await house();
  const { url, right } = opened;
  const old = await askOnce(
    url,
    { method: 'POST', path: '/v1/lead', version: '1.0', headers: right },
    '{"input": "hi"}',
  );
  expect([old.status, (JSON.parse(old.body) as { output: string }).output]).toEqual([200, 'Hello.']);
  const whole = await askOnce(url, { path: `${url}/v1/lead?q=hi`, headers: right });
  expect(whole.status).toBe(200);
  await expectWell(opened);
});

test('a client that would upgrade to something else is served as it is', async () => {
  const opened = await house();
  const headers: readonly Pair[] = [
    ...opened.right,
    ['connection', 'Upgrade, HTTP2-Settings'],
    ['upgrade', 'h2c'],
    ['http2-settings', 'AAMAAABkAAQAoAAAAAIAAAAA'],
  ];
  const reply = await askOnce(opened.url, { method: 'POST', path: '/v1/lead', headers }, '{"input": "hi"}');
  expect([reply.status, (JSON.parse(reply.body) as { output: string }).output]).toEqual([200, 'Hello.']);
  await expectWell(opened);
});

test('requests one behind the other are answered in their order', async () => {
  const opened = await house();
  const { url, right, host } = opened;
  const peer = await openPeer(url);
  const body = '{"input": "hi"}';
  const length: Pair = ['content-length', String(body.length)];
  peer.write(
    headOf({ method: 'POST', path: '/v1/lead', headers: [...right, length] }) +
      body +
      headOf({ path: '/v1/models', headers: [host] }) +
      headOf({ path: '/nowhere', headers: right }) +
      headOf({ method: 'POST', path: '/v1/lead', headers: [...right, length] }) +
      body,
  );
  const statuses = [];
  for (let time = 0; time < 4; time++) statuses.push((await peer.reply()).status);
  expect(statuses).toEqual([200, 401, 404, 200]);
  await expectWell(opened);
});

test('a body that is announced is asked for only when it is wanted', async () => {
  const opened = await house();
  const { url, right, host, json, bearer } = opened;
  const body = '{"input": "hi"}';
  const asks = (headers: readonly Pair[], length: string): string =>
    headOf({
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
    const peer = await openPeer(url);
    peer.write(asks(headers, length));
    const reply = await peer.reply();
    expect(reply.status).toBe(status);
    expect(reply.text).not.toContain('100 Continue');
  }
  const peer = await openPeer(url);
  peer.write(asks(right, String(body.length)));
  const [first] = (await once(peer.socket, 'data')) as [Buffer];
  expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  peer.write(body);
  expect((await peer.reply()).status).toBe(200);
  await expectWell(opened);
});

test('who sends slowly, half, or nothing is closed; others are not kept waiting', async () => {
  const opened = await house({ headersTimeoutMs: 300, requestTimeoutMs: 600, idleMs: 300, stallMs: 2_000 });
  const { url, right } = opened;
  const [silent, half, slow, stuck, idle] = await Promise.all(Array.from({ length: 5 }, () => openPeer(url)));
  half!.write('GET /v1 HTTP/1.1\r\nhost: ');
  stuck!.write(`${headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '15']] })}{"inp`);
  idle!.write(headOf({ path: '/v1', headers: right }));
  slow!.write(headOf({ method: 'POST', path: '/v1/lead', headers: [...right, ['content-length', '1500']] }));
  const drip = setInterval(() => slow!.write(' '), 100);
  expect((await idle!.reply()).status).toBe(200);
  const good = await opened.ask('/v1/lead', { json: { input: 'hi' } });
  expect(good.status).toBe(200);
  const ends = await Promise.all([silent, half, slow, stuck, idle].map((peer) => peer!.ended));
  clearInterval(drip);
  for (const end of ends) expect(end).toMatch(/^(?:HTTP\/1\.1 408 |$)/u);
  expect(ends[2]).toMatch(/^HTTP\/1\.1 408 /u);
  expect(ends[3]).toMatch(/^HTTP\/1\.1 408 /u);
  await expectWell(opened);
});

test('what the operator is told of a request is one line, without secrets and signs for a terminal', async () => {
  const opened = await house();
  const paths = ['/v1/%0a%1b[2J', '/%0d%0aevil', '/%00%E2%80%AE', '/v1/%250a', '/v1/lead%C2%9B'];
  for (const path of paths)
    for (const headers of [opened.right, [opened.host]]) {
      const peer = await openPeer(opened.url);
      peer.socket.write(headOf({ path: `${path}?token=${opened.token}#%0a`, headers }), 'latin1');
      expect([401, 404]).toContain((await peer.reply()).status);
    }
  expect(opened.lines).toHaveLength(2 * paths.length);
  for (const line of opened.lines) {
    expect(line.type === 'request' && line.path).toMatch(/^\/[!-~]*$/u);
    expect(JSON.stringify(line)).not.toContain(opened.token);
  }
  await expectWell(opened);
});

test('who goes on sending after it was refused is closed', async () => {
  const opened = await house();
  const { url, host, json } = opened;
  const peer = await openPeer(url);
  peer.write(headOf({ method: 'POST', path: '/v1/lead', headers: [host, json, ['transfer-encoding', 'chunked']] }));
  const drip = setInterval(() => peer.write('1\r\n \r\n'), 20);
  expect((await peer.reply()).status).toBe(401);
  expect(await peer.ended).toBe('');
  clearInterval(drip);
  await expectWell(opened);
});

test('nobody asks more often over a WebSocket than without one', async () => {
  const token = makeToken();
  const { url } = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [rehearse([{ reply: 'Hello.' }])] })],
    tokens: [{ name: 'few', sha256: hashToken(token), requestsPerMinute: 5 }],
  });
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp'], { headers });
  await once(socket, 'open');
  const heard: string[] = [];
  socket.on('message', (data: Buffer) => heard.push(data.toString()));
  for (let id = 1; id <= 20; id++) socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }));
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  expect([code, reason.toString()]).toEqual([1013, 'This token has sent too many requests. 5 a minute are allowed.']);
  expect(heard.length).toBeLessThanOrEqual(4);
  const next = await fetch(`${url}/v1`, { headers });
  expect(next.status).toBe(429);
  expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('a WebSocket takes texts, of a bounded length, in UTF-8', async () => {
  const opened = await house({ bodyBytesMax: 1_000 });
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
  await expectWell(opened);
});

test('connections beyond the limit are not taken', async () => {
  const opened = await house({ connectionsMax: 2 });
  const [one, two] = [await openPeer(opened.url), await openPeer(opened.url)];
  const three = await openPeer(opened.url);
  expect(await three.ended).toBe('');
  one.socket.destroy();
  two.write(headOf({ path: '/health', headers: [opened.host] }));
  expect((await two.reply()).status).toBe(200);
  two.socket.destroy();
});
