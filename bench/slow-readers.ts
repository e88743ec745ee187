// What a reader costs the server that asks for a long streamed answer and takes nothing of it, in each protocol.
import type { Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark, Line } from './benchmark.ts';
import { openStalledReaders } from './serve/load.ts';
import type { Usage } from './serve/messages.ts';
import { startServer } from './serve/running-server.ts';
import type { RunningServer } from './serve/running-server.ts';

const readers = 20;
const MiB = 1024 * 1024;

/** What may wait for a reader: 256 KiB, the event that no longer fitted, and the answer that is told at the end. Both have 1.9 MB. */
const bound = 0.25 + (2 * 1.9e6) / MiB;

const user = { role: 'user', content: 'Go.' };
const input = { threadId: 't', runId: 'r', state: {}, tools: [], context: [], forwardedProps: {} };

/** How each protocol asks for the long answer as a stream. */
const requests: Readonly<Record<string, readonly [path: string, body: object]>> = {
  REST: ['/v1/long', { input: 'Go.', stream: true }],
  'OpenAI, chat': ['/v1/chat/completions', { model: 'long', stream: true, messages: [user] }],
  'OpenAI, responses': ['/v1/responses', { model: 'long', stream: true, input: 'Go.', store: false }],
  Anthropic: ['/v1/messages', { model: 'long', stream: true, max_tokens: 1_000, messages: [user] }],
  MCP: [
    '/mcp',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'long', arguments: { prompt: 'Go.' }, _meta: { progressToken: 1 } },
    },
  ],
  'AG-UI': ['/ag-ui/long', { ...input, messages: [{ id: 'm', ...user }] }],
  'UI message stream': [
    '/ui/long',
    {
      id: 'c',
      messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }],
      trigger: 'submit-message',
    },
  ],
};

export const slowReadersBenchmark: Benchmark = {
  name: 'slow-readers',
  about: `memory of ${readers} readers that take nothing of a streamed answer of 15 MB, in each protocol`,
  async run() {
    const lines: Line[] = [];
    for (const [what, [path, body]] of Object.entries(requests)) lines.push(await measure(what, path, body));
    return lines;
  },
};

const measure = async (what: string, path: string, body: object): Promise<Line> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-slow-readers-'));
  const server = await startServer('cloister-server.ts', workspace);
  try {
    // Loads and compiles what the readers need.
    await leave(server, await openStalledReaders(server, path, 1, body));
    await settled(server, 1);
    const sockets = await openStalledReaders(server, path, readers, body);
    const during = await settled(server, 1 + readers);
    await leave(server, sockets);
    const after = await settled(server, 1 + readers);
    const each = (during.memory - after.memory) / readers / MiB;
    return {
      what: `${what}: memory of a reader, raw = the bound`,
      unit: 'MiB',
      raw: bound,
      cloister: each,
      figure: each / bound,
      figureUnit: '×',
      target: { atMost: 1.1 },
      note: `${what}: the server has ${mebibytes(during.memory)} with ${readers} readers, ${mebibytes(after.memory)} without`,
    };
  } finally {
    await server.stop();
    await rm(workspace, { recursive: true, force: true });
  }
};

const mebibytes = (bytes: number): string => `${(bytes / MiB).toFixed(0)} MiB`;

/** When so many runs have ended, and what they left behind is collected. */
const settled = async (server: RunningServer, ended: number): Promise<Usage['usage']> => {
  while ((await server.usage()).ended < ended) await sleep(100);
  for (let time = 0; time < 3; time++) {
    await server.usage(true);
    await sleep(200);
  }
  return server.usage(true);
};

const leave = async (server: RunningServer, sockets: readonly Socket[]): Promise<void> => {
  for (const socket of sockets) socket.destroy();
  while ((await server.usage()).backedUp > 0) await sleep(50);
};
