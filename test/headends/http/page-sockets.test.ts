// The WebSocket of a page, which can send names of protocols and nothing else: its token is one of them.
import { once } from 'node:events';
import { defineAgent, hashToken, makeToken } from 'cloister';
import type { ServerLine } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { WebSocket as LibrarySocket } from 'ws';
import { serveAgents } from './driver.ts';
import { expectSafe } from './forms.ts';
import { askOnce } from './peer.ts';

const [ann, bob, expired] = [makeToken(), makeToken(), makeToken()];

const house = async () => {
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

const named = (token: string): string => `bearer.${Buffer.from(token).toString('base64url')}`;

const rpc = (id: number, method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

/** What a client that is connected is told: its tools, and the answer of one. */
const asked = async (send: (text: string) => void, next: () => Promise<string>, tool: string): Promise<unknown> => {
  const clientInfo = { name: 't', version: '1' };
  send(rpc(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }));
  await next();
  send(rpc(1, 'tools/list'));
  const { tools } = JSON.parse(await next()).result as { tools: readonly { name: string }[] };
  send(rpc(2, 'tools/call', { name: tool, arguments: { prompt: 'hi' } }));
  return [tools.map(({ name }) => name), JSON.parse(await next()).result.content[0].text];
};

test.for([
  ['first', (token: string) => [named(token), 'mcp']],
  ['last', (token: string) => ['mcp', named(token)]],
] as const)('the client that Node has built in comes in with it, %s, and each sees its own', async ([, protocols]) => {
  const { address, lines } = await house();
  for (const [token, tool] of [
    [ann, 'lead'],
    [bob, 'other'],
  ] as const) {
    // As in a page: nothing but an address and names.
    const socket = new WebSocket(address, protocols(token));
    await once(socket, 'open');
    expect(socket.protocol).toBe('mcp');
    const next = async (): Promise<string> => ((await once(socket, 'message')) as [{ data: string }])[0].data;
    expect(await asked((text) => socket.send(text), next, tool)).toEqual([[tool], 'Hello.']);
    socket.close();
    await once(socket, 'close');
  }
  expect(lines.flatMap((line) => (line.type === 'run' ? [line.caller] : []))).toEqual(['ann', 'bob']);
});

test('the library ws comes in with it too, from an allowed origin, and is told one name', async () => {
  const { address } = await house();
  const socket = new LibrarySocket(address, ['mcp', named(ann)], { origin: 'https://chat.example.com' });
  const open = once(socket, 'open');
  const [response] = (await once(socket, 'upgrade')) as [{ headers: Record<string, string> }];
  expect(response.headers['sec-websocket-protocol']).toBe('mcp');
  expect(JSON.stringify(response.headers)).not.toContain('bearer');
  await open;
  const next = async (): Promise<string> => String((await once(socket, 'message'))[0]);
  expect(await asked((text) => socket.send(text), next, 'lead')).toEqual([['lead'], 'Hello.']);
  socket.close();
  await once(socket, 'close');
});

type Pair = readonly [string, string];

const wrong: Readonly<Record<string, readonly [headers: readonly Pair[], status: number]>> = {
  'another token': [[['sec-websocket-protocol', `mcp, ${named(makeToken())}`]], 401],
  'an expired one': [[['sec-websocket-protocol', `mcp, ${named(expired)}`]], 401],
  'no token': [[['sec-websocket-protocol', 'mcp']], 401],
  'an empty one': [[['sec-websocket-protocol', 'mcp, bearer.']], 401],
  'the token as it is': [[['sec-websocket-protocol', `mcp, bearer.${ann}`]], 401],
  'the token without a word before it': [
    [['sec-websocket-protocol', `mcp, ${Buffer.from(ann).toString('base64url')}`]],
    401,
  ],
  'two tokens': [[['sec-websocket-protocol', `mcp, ${named(ann)}, ${named(bob)}`]], 401],
  'two headers with one each': [
    [
      ['sec-websocket-protocol', `mcp, ${named(ann)}`],
      ['sec-websocket-protocol', named(bob)],
    ],
    401,
  ],
  'a wrong header besides': [
    [
      ['sec-websocket-protocol', `mcp, ${named(ann)}`],
      ['authorization', `Bearer ${makeToken()}`],
    ],
    401,
  ],
  'a wrong x-api-key besides': [
    [
      ['sec-websocket-protocol', `mcp, ${named(ann)}`],
      ['x-api-key', makeToken()],
    ],
    401,
  ],
  'a foreign origin': [
    [
      ['sec-websocket-protocol', `mcp, ${named(ann)}`],
      ['origin', 'https://evil.example.com'],
    ],
    403,
  ],
  'the origin null': [
    [
      ['sec-websocket-protocol', `mcp, ${named(ann)}`],
      ['origin', 'null'],
    ],
    403,
  ],
};

test.for(Object.keys(wrong))('who comes with %s does not come in', async (what) => {
  const { url, lines } = await house();
  const [headers, status] = wrong[what]!;
  const upgrade: readonly Pair[] = [
    ['host', new URL(url).host],
    ['connection', 'Upgrade'],
    ['upgrade', 'websocket'],
    ['sec-websocket-version', '13'],
    ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ];
  const reply = await askOnce(url, { path: '/mcp/ws', headers: [...upgrade, ...headers] });
  expect(reply.status).toBe(status);
  expectSafe(reply.headers);
  for (const token of [ann, bob, expired])
    for (const secret of [token, named(token).slice('bearer.'.length)]) {
      expect(reply.text).not.toContain(secret);
      expect(JSON.stringify(lines)).not.toContain(secret);
    }
});

test('it is a token for WebSockets alone: no other request comes in with it', async () => {
  const { url } = await house();
  for (const path of ['/v1', '/mcp/sse', '/mcp/ws'])
    expect((await fetch(url + path, { headers: { 'sec-websocket-protocol': `mcp, ${named(ann)}` } })).status).toBe(401);
});

test('the operator is not told it, whatever happens on the socket', async () => {
  const { address, lines, close } = await house();
  const socket = new WebSocket(address, ['mcp', named(ann)]);
  await once(socket, 'open');
  const next = async (): Promise<string> => ((await once(socket, 'message')) as [{ data: string }])[0].data;
  await asked((text) => socket.send(text), next, 'lead');
  socket.close();
  await once(socket, 'close');
  await close();
  expect(lines.length).toBeGreaterThan(0);
  for (const secret of [ann, named(ann).slice('bearer.'.length)]) expect(JSON.stringify(lines)).not.toContain(secret);
});
