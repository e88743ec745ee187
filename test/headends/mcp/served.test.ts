import { PassThrough } from 'node:stream';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Transport } from '@modelcontextprotocol/client';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { describe, expect, test } from 'vitest';
import { mcpSource } from '#adapters/mcp';
import type { RunOutcome } from '#contracts';
import { callText, failureOf, unabortedSignal } from '../../conformance/tool-source.ts';
import { serveAgents } from '../http/driver.ts';
import { pipeTransport, protocols, socketTransport } from './clients.ts';
import type { ProtocolName } from './clients.ts';

const place = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] } as const;

const scene = async () => {
  const ended: RunOutcome[] = [];
  const hung = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<RunOutcome>();
  const model = rehearse([
    { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'helper', args: { prompt: 'Look.' } }] } },
    { when: { agent: 'lead' }, reply: { text: 'It is done.', delayMs: 20 } },
    { when: { agent: 'helper' }, reply: 'Found.' },
    { when: { agent: 'map' }, reply: '{"town":"Ulm"}' },
    {
      when: { agent: 'slow' },
      reply: () => {
        hung.resolve();
        return { fault: 'timeout' };
      },
    },
  ]);
  const agent = (name: string, more = {}) =>
    defineAgent({ name, description: `It is ${name}.`, prompt: 'p', models: [model], ...more });
  const agents = [
    agent('lead', { agents: [agent('helper')] }),
    agent('map', { input: { format: 'json', schema: place }, output: { format: 'json', schema: place } }),
    agent('slow'),
  ];
  const served = await serveAgents({
    agents,
    log: (line) => {
      if (line.type !== 'run') return;
      ended.push(line.outcome);
      if (line.outcome.status === 'cancelled') cancelled.resolve(line.outcome);
    },
  });
  return { ...served, ended, hung: hung.promise, cancelled: cancelled.promise };
};

type Scene = Awaited<ReturnType<typeof scene>>;

const wires: Record<string, (served: Scene) => Promise<Transport>> = {
  http: async ({ url, token }) =>
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: bearer(token) } }),
  sse: async ({ url, token }) =>
    new SSEClientTransport(new URL(`${url}/mcp/sse`), { requestInit: { headers: bearer(token) } }),
  websocket: async ({ url, token }) => socketTransport(`${url.replace('http', 'ws')}/mcp/ws`, bearer(token)),
  stdio: async ({ server }) => {
    const [toServer, fromServer] = [new PassThrough(), new PassThrough()];
    const served = await server.serveStdio({ input: toServer, output: fromServer });
    return pipeTransport({ toServer, fromServer, served });
  },
};

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

const connect = async (transport: Transport, protocol: ProtocolName): Promise<Client> => {
  const mode = protocol === '2026-07-28' ? { pin: protocol } : 'legacy';
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
};

const all = Object.keys(wires).flatMap((wire) => protocols.map((protocol) => ({ wire, protocol })));

describe.each(all)('a served Cloister over $wire, protocol $protocol', ({ wire, protocol }) => {
  test('answers, reports progress, returns matching data, and refuses invalid arguments', async () => {
    const served = await scene();
    const client = await connect(await wires[wire]!(served), protocol);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['lead', 'map', 'slow']);
    const notes: (string | undefined)[] = [];
    const answer = await client.callTool(
      { name: 'lead', arguments: { prompt: 'Do it.' } },
      { onprogress: ({ message }) => void notes.push(message) },
    );
    expect(answer.content).toEqual([{ type: 'text', text: 'It is done.' }]);
    expect(notes).toEqual(['lead called helper.', 'helper returned to lead: completed.']);
    const data = await client.callTool({ name: 'map', arguments: { town: 'Ulm' } });
    expect(data.structuredContent).toEqual({ town: 'Ulm' });
    const wrong = await client.callTool({ name: 'map', arguments: { town: 1 } });
    expect(wrong).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/does not match the agent's input schema/u) }],
    });
    await client.close();
  });

  test('cancels a run when its client cancels the call', async () => {
    const served = await scene();
    const client = await connect(await wires[wire]!(served), protocol);
    const stop = new AbortController();
    const call = client.callTool({ name: 'slow', arguments: { prompt: 'x' } }, { signal: stop.signal });
    await served.hung;
    stop.abort();
    await expect(call).rejects.toThrow(/abort/iu);
    expect(await served.cancelled).toMatchObject({ status: 'cancelled' });
    await client.close();
  });

  test('cancels the runs of a client that disconnects', async () => {
    const served = await scene();
    const client = await connect(await wires[wire]!(served), protocol);
    client.callTool({ name: 'slow', arguments: { prompt: 'x' } }).catch(() => undefined);
    await served.hung;
    await client.close();
    expect(await served.cancelled).toMatchObject({ status: 'cancelled' });
  });
});

test('a client sees and calls an agent by its tool name as written, and by no other name', async () => {
  const model = rehearse([{ reply: 'Here is what I found.' }]);
  const names = { name: 'research', toolName: 'research.icp' };
  const served = await serveAgents({
    agents: [defineAgent({ ...names, description: 'Looks things up.', prompt: 'p', models: [model] })],
  });
  const http = { requestInit: { headers: bearer(served.token) } };
  const client = await connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), http), '2026-07-28');
  expect((await client.listTools()).tools).toMatchObject([{ name: 'research.icp', title: 'research' }]);
  const answer = await client.callTool({ name: 'research.icp', arguments: { prompt: 'Go.' } });
  expect(answer.content).toEqual([{ type: 'text', text: 'Here is what I found.' }]);
  for (const name of ['research', 'research_icp'])
    await expect(client.callTool({ name, arguments: { prompt: 'Go.' } })).rejects.toThrow(
      `"${name}" is not one of: research.icp.`,
    );
  const listed = await fetch(`${served.url}/v1`, { headers: bearer(served.token) });
  expect(await listed.json()).toMatchObject({ agents: [names] });
  await client.close();
});

describe.each([
  ['http', '/mcp'],
  ['sse', '/mcp/sse'],
  ['websocket', '/mcp/ws'],
] as const)('an agent of one Cloister uses those of another over %s', (type, path) => {
  test('with the operator’s token', async () => {
    const { url, token } = await scene();
    const address = url.replace('http', type === 'websocket' ? 'ws' : 'http') + path;
    const source = mcpSource({ name: 'peer', type, url: address, headers: bearer(token) });
    const listed = await source.list({ signal: unabortedSignal() });
    expect(await callText(listed, 'lead', { prompt: 'Do it.' })).toBe('It is done.');
    await listed.close?.();
  });

  test('is refused without a token', async () => {
    const { url } = await scene();
    const address = url.replace('http', type === 'websocket' ? 'ws' : 'http') + path;
    const source = mcpSource({ name: 'peer', type, url: address, headers: bearer('wrong') });
    expect((await failureOf(source.list({ signal: unabortedSignal() }))).code).toMatch(/^server_/u);
  });
});
