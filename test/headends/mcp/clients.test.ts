import { describe, expect, test } from 'vitest';
import { openMcpServer, protocols, transports } from './clients.ts';
import type { McpTestServer } from './clients.ts';

const all = transports.flatMap((transport) => protocols.map((protocol) => ({ transport, protocol })));

describe.each(all)('the official client over $transport, protocol $protocol', ({ transport, protocol }) => {
  const withPeer = async (work: (peer: McpTestServer) => Promise<void>, options = {}): Promise<void> => {
    const peer = await openMcpServer(transport, protocol, options);
    try {
      await work(peer);
    } finally {
      await peer.close();
    }
  };

  test('it finds one tool per agent and gets answers from it', () =>
    withPeer(async ({ connect }) => {
      const client = await connect('ann');
      expect(client.getServerVersion()).toMatchObject({ name: 'cloister', version: '1.2.3' });
      expect(client.getInstructions()).toMatch(/Each tool is an agent/u);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(['echo', 'hang', 'busy', 'fail', 'crash', 'part', 'map', 'list']);
      const result = await client.callTool({ name: 'echo', arguments: { prompt: 'Hi' } });
      expect(result.content).toEqual([{ type: 'text', text: 'ann: "Hi"' }]);
      expect(result.isError).toBeUndefined();
      if (protocol === '2025-11-25') expect(await client.ping()).toEqual({});
      await client.close();
    }));

  test('the client checks data against the schema of the tool', () =>
    withPeer(async ({ connect }) => {
      const client = await connect();
      const result = await client.callTool({ name: 'map', arguments: { town: 'Ulm', format: 'json' } });
      expect(result.structuredContent).toEqual({ town: 'Ulm' });
      await client.close();
    }));

  test('progress is sent during the call, with rising numbers', () =>
    withPeer(async ({ connect, fake: { counts } }) => {
      const client = await connect();
      const notes: unknown[] = [];
      await client.callTool(
        { name: 'busy', arguments: { prompt: 'Go' } },
        { onprogress: (note) => notes.push(note) === 8 && counts.add('heard') },
      );
      expect(notes).toHaveLength(8);
      expect(notes.slice(0, 5)).toEqual([
        { progress: 1, message: 'busy called helper.' },
        { progress: 2, message: 'helper called the tool search.' },
        { progress: 3, message: 'The tool search of helper succeeded.' },
        { progress: 4, message: 'helper returned to busy: completed.' },
        { progress: 5, message: 'busy called helper.' },
      ]);
      expect(JSON.stringify(notes)).not.toContain('sk-secret');
      await client.close();
    }));

  test('one call can be cancelled while others continue', () =>
    withPeer(async ({ connect, fake: { counts: happened } }) => {
      const client = await connect();
      const stop = new AbortController();
      const hanging = client.callTool({ name: 'hang', arguments: { prompt: 'x' } }, { signal: stop.signal });
      const other = client.callTool({ name: 'hang', arguments: { prompt: 'y' } });
      other.catch(() => undefined);
      await happened.waitFor('begin me', 2);
      stop.abort();
      await expect(hanging).rejects.toThrow(/abort/iu);
      await happened.waitFor('cancel me');
      expect(await client.callTool({ name: 'echo', arguments: { prompt: 'z' } })).toMatchObject({
        content: [{ text: 'me: "z"' }],
      });
      expect(happened.count('cancel me')).toBe(1);
      await client.close();
      await happened.waitFor('cancel me', 2);
    }));

  // invariant: mcp-failure-catalogue-text
  test('failures are results with the texts of the catalogue; an unknown tool is a protocol error', () =>
    withPeer(async ({ connect }) => {
      const client = await connect();
      const texts: string[] = [];
      for (const name of ['fail', 'crash']) {
        const result = await client.callTool({ name, arguments: { prompt: 'x' } }, { onprogress: () => undefined });
        expect(result.isError).toBe(true);
        texts.push(JSON.stringify(result));
      }
      await expect(client.callTool({ name: 'nobody', arguments: {} })).rejects.toMatchObject({ code: -32_602 });
      expect(texts.join()).not.toMatch(/sk-secret|\.ts:|operator/u);
      await client.close();
    }));

  test('concurrent clients with the same ids get their own answers, even those of one caller', () =>
    withPeer(async ({ connect }) => {
      const names = ['ann', 'ann', 'bob', 'bob'];
      const clients = await Promise.all(names.map(connect));
      const asked = clients.flatMap((client, who) =>
        Array.from({ length: 10 }, async (_, turn) => {
          const { content } = await client.callTool({ name: 'echo', arguments: { prompt: `${who} ${turn}` } });
          return [content, [{ type: 'text', text: `${names[who]}: "${who} ${turn}"` }]];
        }),
      );
      for (const [got, wanted] of await Promise.all(asked)) expect(got).toEqual(wanted);
      await Promise.all(clients.map((client) => client.close()));
    }));

  // invariant: mcp-server-own-caller
  test('a caller without agents sees no tools and cannot call those of others', () =>
    withPeer(async ({ connect, fake }) => {
      const client = await connect('nobody');
      expect((await client.listTools()).tools).toEqual([]);
      await expect(client.callTool({ name: 'echo', arguments: { prompt: 'x' } })).rejects.toMatchObject({
        code: -32_602,
      });
      expect(fake.started).toEqual([]);
      await client.close();
    }));
});
