import { once } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { callTool, failureOf } from '../../conformance/tool-source.ts';
import { neverMs } from '../../slow-machine.ts';
import { listRemote, oneTool, startScriptedServer } from './scripted-server.ts';
import { closed, listen } from './peers.ts';

afterEach(() => void vi.unstubAllEnvs());

const headers = { authorization: 'Bearer s3cret', 'x-team': 'blue' };

test('every HTTP request carries the configured headers and our client name', async () => {
  const { url, requests } = await startScriptedServer();
  const listed = await listRemote(`${url}/mcp`, { headers });
  await callTool(listed, 'one');
  await listed.close?.();
  expect(requests.length).toBeGreaterThan(4);
  for (const each of requests) expect(each.headers).toMatchObject(headers);
  const hello = requests.find(({ method }) => method === 'initialize')!;
  expect(hello.params.clientInfo).toEqual({ name: 'tester', version: '9' });
  expect(hello.params.capabilities).toEqual({});
});

test('no idle stream is held open over HTTP', async () => {
  const { url, requests } = await startScriptedServer();
  await callTool(await listRemote(url), 'one');
  expect(requests.map(({ method }) => method)).not.toContain('GET');
});

describe.each(['http', 'sse', 'websocket'] as const)('over %s', (type) => {
  const list = async (url: string, connectTimeoutMs = neverMs) =>
    failureOf(listRemote(type === 'websocket' ? url.replace('http', 'ws') : url, { headers, connectTimeoutMs }, type));

  // invariant: mcp-failure-shows-origin-only
  test('an unreachable server is named only by its origin', async () => {
    const { server, url } = await listen(() => undefined);
    await closed(server);
    const { failure } = await list(`${url}/path/t0ken?key=t0ken`);
    expect(failure.code).toBe('server_failed');
    expect(failure.detail).toMatch(
      /^Server "made" at (?:http|ws):\/\/127\.0\.0\.1:\d+ is unreachable \(ECONNREFUSED\); check that it is running/u,
    );
    expect(failure.detail).not.toContain('t0ken');
  });

  test.each([
    [401, /returned HTTP 401; check the credentials in `headers`/u],
    [404, /returned HTTP 404; check `url`/u],
    [500, /returned HTTP 500/u],
  ])('HTTP %d says what to do', async (status, words) => {
    const { server, url } = await listen((message, to) => void to.writeHead(status).end(`no ${message.url}`));
    server.on('upgrade', (_, socket) => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`));
    const { failure } = await list(`${url}/t0ken`);
    await closed(server);
    expect(failure.code).toBe('server_failed');
    expect(failure.detail).toMatch(words);
    expect(failure.detail).not.toContain('t0ken');
  });

  test('headers are not forwarded to another host', async () => {
    const seen: string[] = [];
    const other = await listen((message, to) => {
      seen.push(message.url!);
      to.end();
    });
    const to = other.url.replace('127.0.0.1', 'localhost');
    const { server, url } = await listen(
      (_, response) => void response.writeHead(307, { location: `${to}/t0ken` }).end(),
    );
    server.on('upgrade', (_, socket) => socket.end(`HTTP/1.1 307 Elsewhere\r\nlocation: ${to}\r\n\r\n`));
    const { failure } = await list(url);
    await closed(server);
    await closed(other.server);
    expect(failure.code).toBe('server_failed');
    expect(failure.detail).toMatch(/set `url` to the URL it redirects to/u);
    expect(failure.detail).not.toContain('t0ken');
    expect(seen).toEqual([]);
  });

  test('a server that accepts and never responds fails after the timeout', async () => {
    const { server, url } = await listen(() => undefined);
    server.on('upgrade', (_, socket) => socket.resume().on('end', () => socket.destroy()));
    const { failure } = await list(url, 200);
    await closed(server);
    expect(failure.code).toBe('server_failed');
    expect(failure.detail).toMatch(/did not respond within 200 ms\.$/u);
  });

  test.each([
    ['not an address', 'is not a URL.'],
    ['ftp://127.0.0.1/s3cret', `must start with ${type === 'websocket' ? 'ws' : 'http'}`],
    ['http://user:s3cret@127.0.0.1/', 'contains a user name or password; send credentials in `headers`.'],
  ])('the address %s is refused', async (address, words) => {
    const { failure } = await list(address);
    expect(failure.code).toBe('config_invalid');
    expect(failure.detail).toContain(`mcpServers.made.url ${words}`);
    expect(failure.detail).not.toContain('s3cret');
  });

  test('a header that cannot be sent is refused without showing its value', async () => {
    const url = `${type === 'websocket' ? 'ws' : 'http'}://127.0.0.1:9`;
    const { failure } = await failureOf(listRemote(url, { headers: { 'x-key': 's3cret\nx' } }, type));
    expect(failure).toEqual({
      code: 'config_invalid',
      detail: 'mcpServers.made.headers: "x-key" is not a valid HTTP header.',
    });
  });
});

test('a redirect within the same host is followed', async () => {
  const { url, requests } = await startScriptedServer();
  const { server, url: front } = await listen(async (message, to) => {
    if (message.url === '/mcp') return void to.writeHead(307, { location: '/mcp/' }).end();
    const body = message.method === 'POST' ? { body: await new Response(message as never).text() } : {};
    const response = await fetch(url, {
      method: message.method!,
      headers: { 'content-type': 'application/json' },
      ...body,
    });
    to.writeHead(response.status, { 'content-type': 'application/json' }).end(await response.text());
  });
  const listed = await listRemote(`${front}/mcp`);
  expect(listed.tools.map(({ name }) => name)).toEqual([oneTool.name]);
  expect(requests.length).toBeGreaterThan(2);
  await closed(server);
});

/** A minimal WebSocket server: it answers what a test gives it. */
const openSockets = async (answer: (socket: WebSocket, message: any) => void) => {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => false });
  const hellos: Record<string, unknown>[] = [];
  await once(sockets, 'listening');
  sockets.on('connection', (socket, request) => {
    hellos.push(request.headers);
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString());
      const reply = (result: object): void => socket.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
      if (message.method === 'initialize')
        reply({
          protocolVersion: message.params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'x', version: '1' },
        });
      else if (message.method === 'tools/list') reply({ tools: [oneTool] });
      else if (message.method === 'tools/call') answer(socket, message);
      else if (message.id !== undefined)
        socket.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32_601, message: 'no' } }));
    });
  });
  return {
    hellos,
    url: `ws://127.0.0.1:${(sockets.address() as { port: number }).port}`,
    close: () => sockets.close(),
  };
};

test('a WebSocket server without subprotocols gets the headers, and an oversized frame fails all pending calls', async () => {
  let calls = 0;
  const { hellos, url, close } = await openSockets((socket, { id }) => {
    calls += 1;
    const text = calls === 2 ? 'x'.repeat(25_000_000) : 'done';
    if (calls !== 1) socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }));
  });
  const listed = await listRemote(url, { headers }, 'websocket');
  const failures = await Promise.all([failureOf(callTool(listed, 'one')), failureOf(callTool(listed, 'one'))]);
  expect(failures.map(({ code }) => code)).toEqual(['server_failed', 'server_failed']);
  expect(failures[0].message).toContain('the limit is 24,000,000 bytes');
  expect(await callTool(listed, 'one')).toBe('done');
  await listed.close?.();
  for (const hello of hellos) expect(hello).toMatchObject(headers);
  close();
});
