// WebSockets of web pages, which can set only subprotocols, so the token is one of them.
import { once } from 'node:events';
import { defineAgent, hashToken, makeToken } from 'cloister';
import type { ServerLine } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { WebSocket as LibrarySocket } from 'ws';
import { serveAgents } from './driver.ts';
import { expectSecurityHeaders } from './error-formats.ts';
import { sendOnce } from './raw-client.ts';

const [ann, bob, expired] = [makeToken(), makeToken(), makeToken()];

const startServer = async () => {
  const lines: ServerLine[] = [];
  const model = rehearse([{ reply: 'Hello.' }]);
  const agentOf = (name: string) => defineAgent({ name, description: 'd', prompt: 'p', models: [model] });
  const served = await serveAgents({
    agents: [agentOf('lead'), agentOf('other')],
    tokens: [
      { name: 'ann', sha256: hashToken(ann), agents: ['lead'] },
      { name: 'bob', sha256: hashToken(bob), agents: ['other'] },
      { name: 'expired', sha256: hashToken(expired), expiresAt: Date.now() - 1 },
    ],
    origins: ['https://chat.example.com'],
    log: (line) => lines.push(line),
  });
  return { ...served, lines, model, address: `${served.url.replace('http', 'ws')}/mcp/ws` };
};

const tokenProtocol = (token: string): string => `bearer.${Buffer.from(token).toString('base64url')}`;

const rpc = (id: number, method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

/** Lists the tools of a connected client, and calls one. */
const callTool = async (send: (text: string) => void, next: () => Promise<string>, tool: string): Promise<unknown> => {
  const clientInfo = { name: 't', version: '1' };
  send(rpc(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }));
  await next();
  send(rpc(1, 'tools/list'));
  const { tools } = JSON.parse(await next()).result as { tools: readonly { name: string }[] };
  send(rpc(2, 'tools/call', { name: tool, arguments: { prompt: 'hi' } }));
  return [tools.map(({ name }) => name), JSON.parse(await next()).result.content[0].text];
};

test.for([
  ['first', (token: string) => [tokenProtocol(token), 'mcp']],
  ['last', (token: string) => ['mcp', tokenProtocol(token)]],
] as const)('the client that Node has built in comes in with it, %s, and each sees its own', async ([, protocols]) => {
  const { address, lines } = await startServer();
  for (const [token, tool] of [
    [ann, 'lead'],
    [bob, 'other'],
  ] as const) {
    // As in a web page: only a URL and subprotocols.
    const socket = new WebSocket(address, protocols(token));
    await once(socket, 'open');
    expect(socket.protocol).toBe('mcp');
    const next = async (): Promise<string> => ((await once(socket, 'message')) as [{ data: string }])[0].data;
    expect(await callTool((text) => socket.send(text), next, tool)).toEqual([[tool], 'Hello.']);
    socket.close();
    await once(socket, 'close');
  }
  expect(lines.flatMap((line) => (line.type === 'run' ? [line.caller] : []))).toEqual(['ann', 'bob']);
});

// invariant: socket-token-place
test('the ws library also connects with a token subprotocol from an allowed origin, and only one subprotocol is confirmed', async () => {
  const { address } = await startServer();
  const socket = new LibrarySocket(address, ['mcp', tokenProtocol(ann)], { origin: 'https://chat.example.com' });
  const open = once(socket, 'open');
  const [response] = (await once(socket, 'upgrade')) as [{ headers: Record<string, string> }];
  expect(response.headers['sec-websocket-protocol']).toBe('mcp');
  expect(JSON.stringify(response.headers)).not.toContain('bearer');
  await open;
  const next = async (): Promise<string> => String((await once(socket, 'message'))[0]);
  expect(await callTool((text) => socket.send(text), next, 'lead')).toEqual([['lead'], 'Hello.']);
  socket.close();
  await once(socket, 'close');
});

type Pair = readonly [string, string];

const wrong: Readonly<Record<string, readonly [headers: readonly Pair[], status: number]>> = {
  'another token': [[['sec-websocket-protocol', `mcp, ${tokenProtocol(makeToken())}`]], 401],
  'an expired one': [[['sec-websocket-protocol', `mcp, ${tokenProtocol(expired)}`]], 401],
  'no token': [[['sec-websocket-protocol', 'mcp']], 401],
  'an empty one': [[['sec-websocket-protocol', 'mcp, bearer.']], 401],
  'the token as it is': [[['sec-websocket-protocol', `mcp, bearer.${ann}`]], 401],
  'the token without a word before it': [
    [['sec-websocket-protocol', `mcp, ${Buffer.from(ann).toString('base64url')}`]],
    401,
  ],
  'two tokens': [[['sec-websocket-protocol', `mcp, ${tokenProtocol(ann)}, ${tokenProtocol(bob)}`]], 401],
  'two headers with one each': [
    [
      ['sec-websocket-protocol', `mcp, ${tokenProtocol(ann)}`],
      ['sec-websocket-protocol', tokenProtocol(bob)],
    ],
    401,
  ],
  'a wrong header besides': [
    [
      ['sec-websocket-protocol', `mcp, ${tokenProtocol(ann)}`],
      ['authorization', `Bearer ${makeToken()}`],
    ],
    401,
  ],
  'a wrong x-api-key besides': [
    [
      ['sec-websocket-protocol', `mcp, ${tokenProtocol(ann)}`],
      ['x-api-key', makeToken()],
    ],
    401,
  ],
  'a foreign origin': [
    [
      ['sec-websocket-protocol', `mcp, ${tokenProtocol(ann)}`],
      ['origin', 'https://evil.example.com'],
    ],
    403,
  ],
  'the origin null': [
    [
      ['sec-websocket-protocol', `mcp, ${tokenProtocol(ann)}`],
      ['origin', 'null'],
    ],
    403,
  ],
};

// invariant: socket-behind-gate
test.for(Object.keys(wrong))('a socket with %s is refused', async (what) => {
  const { url, lines } = await startServer();
  const [headers, status] = wrong[what]!;
  const upgrade: readonly Pair[] = [
    ['host', new URL(url).host],
    ['connection', 'Upgrade'],
    ['upgrade', 'websocket'],
    ['sec-websocket-version', '13'],
    ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ];
  const reply = await sendOnce(url, { path: '/mcp/ws', headers: [...upgrade, ...headers] });
  expect(reply.status).toBe(status);
  expectSecurityHeaders(reply.headers);
  for (const token of [ann, bob, expired])
    for (const secret of [token, tokenProtocol(token).slice('bearer.'.length)]) {
      expect(reply.text).not.toContain(secret);
      expect(JSON.stringify(lines)).not.toContain(secret);
    }
});

// invariant: socket-token-place
test('a token subprotocol works for WebSockets only', async () => {
  const { url } = await startServer();
  for (const path of ['/v1', '/mcp/sse', '/mcp/ws'])
    expect(
      (await fetch(url + path, { headers: { 'sec-websocket-protocol': `mcp, ${tokenProtocol(ann)}` } })).status,
    ).toBe(401);
});

test('the token subprotocol never appears in the operator’s log', async () => {
  const { address, lines, close } = await startServer();
  const socket = new WebSocket(address, ['mcp', tokenProtocol(ann)]);
  await once(socket, 'open');
  const next = async (): Promise<string> => ((await once(socket, 'message')) as [{ data: string }])[0].data;
  await callTool((text) => socket.send(text), next, 'lead');
  socket.close();
  await once(socket, 'close');
  await close();
  expect(lines.length).toBeGreaterThan(0);
  for (const secret of [ann, tokenProtocol(ann).slice('bearer.'.length)])
    expect(JSON.stringify(lines)).not.toContain(secret);
});
