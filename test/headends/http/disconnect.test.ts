// A client that disconnects cancels its whole run, or leaves the queue.
import { once } from 'node:events';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { defineAgent } from 'cloister';
import type { RunOutcome, ServerLine, ServerOptions } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { serveAgents } from './driver.ts';
import { encodeHead, openRawConnection } from './raw-client.ts';
import type { RawConnection } from './raw-client.ts';

/** A lead that calls a helper, whose model does not answer until it is aborted. */
const startServer = async (options: Omit<ServerOptions, 'agents'> = {}) => {
  const asked = Promise.withResolvers<AbortSignal>();
  const hang = rehearse([{ reply: { fault: 'timeout' } }]);
  const helper = defineAgent({
    name: 'helper',
    description: 'd',
    prompt: 'p',
    models: [watchSignal(hang, (signal) => asked.resolve(signal))],
  });
  const lead = defineAgent({
    name: 'lead',
    description: 'd',
    prompt: 'p',
    agents: [helper],
    models: [
      rehearse([
        { when: { text: 'short' }, reply: 'Done.' },
        { when: { turn: 1 }, reply: { text: 'I ask.', calls: [{ tool: 'helper', args: { prompt: 'Go' } }] } },
        { reply: 'Never.' },
      ]),
    ],
  });
  const lines: ServerLine[] = [];
  let wake = (): void => undefined;
  const served = await serveAgents({
    agents: [lead],
    ...options,
    log: (line) => {
      lines.push(line);
      wake();
    },
  });
  /** The first log line that matches. */
  const line = async (holds: (line: ServerLine) => boolean): Promise<ServerLine> => {
    for (;;) {
      const found = lines.find(holds);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const headers = [
    ['host', new URL(served.url).host],
    ['authorization', `Bearer ${served.token}`],
    ['content-type', 'application/json'],
    ['accept', 'application/json, text/event-stream'],
  ] as const;
  const request = ([path, json]: PostRequest): string => {
    const body = JSON.stringify(json);
    return encodeHead({ method: 'POST', path, headers: [...headers, ['content-length', String(body.length)]] }) + body;
  };
  /** Pipelined on one connection. */
  const post = async (...all: readonly PostRequest[]): Promise<RawConnection> => {
    const peer = await openRawConnection(served.url);
    peer.write(all.map(request).join(''));
    return peer;
  };
  return { ...served, asked: asked.promise, line, lines, post, headers };
};

type PostRequest = readonly [path: string, json: object];
type StartedServer = Awaited<ReturnType<typeof startServer>>;

const watchSignal = (model: LanguageModelV4, asked: (signal: AbortSignal) => void): LanguageModelV4 => ({
  ...model,
  doStream: (call) => {
    asked(call.abortSignal!);
    return model.doStream(call);
  },
});

const isRunEnd = (line: ServerLine): boolean => line.type === 'run';

/** The state of a run and its cells after its client has disconnected, and whether its slot is free again. */
const stateAfterLeaving = async (
  { asked, line, cloister, ask }: StartedServer,
  leave: () => void,
): Promise<unknown> => {
  const signal = await asked;
  expect(signal.aborted).toBe(false);
  const aborted = once(signal, 'abort');
  leave();
  await aborted;
  const over = await line(isRunEnd);
  const runs = await cloister.runs();
  const { cells } = await cloister.show(runs[0]!.run);
  const next = await ask('/v1/lead', { json: { input: 'short' } });
  return {
    outcome: over.type === 'run' ? over.outcome.status : null,
    runs: runs.map(({ state, status }) => [state, status]),
    cells: cells.map(({ agent, status }) => [agent, status]),
    next: next.status,
  };
};

const nothingLeft = {
  outcome: 'cancelled',
  runs: [['ended', 'cancelled']],
  cells: [
    ['lead', 'cancelled'],
    ['helper', 'cancelled'],
  ],
  next: 200,
};

const messages = [{ role: 'user', content: 'long' }];
const ways = {
  'REST, whole': ['/v1/lead', { input: 'long' }],
  'REST, streamed': ['/v1/lead', { input: 'long', stream: true }],
  'REST, a turn of a conversation': ['/v1/lead', { input: 'long', conversation: 'c' }],
  'OpenAI, whole': ['/v1/chat/completions', { model: 'lead', messages }],
  'OpenAI, streamed': ['/v1/chat/completions', { model: 'lead', stream: true, messages }],
  'OpenAI, a response': ['/v1/responses', { model: 'lead', input: 'long' }],
  'OpenAI, a response, streamed': ['/v1/responses', { model: 'lead', input: 'long', stream: true }],
  'Anthropic, whole': ['/v1/messages', { model: 'lead', max_tokens: 9, messages }],
  'Anthropic, streamed': ['/v1/messages', { model: 'lead', max_tokens: 9, stream: true, messages }],
  'AG-UI': ['/ag-ui/lead', { threadId: 't', runId: 'r', messages: [{ id: '1', ...messages[0] }] }],
  'AI SDK UI': [
    '/ui/lead',
    { id: 'c', messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'long' }] }] },
  ],
  MCP: [
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'lead', arguments: { prompt: 'long' } } },
  ],
} as const satisfies Readonly<Record<string, PostRequest>>;

test.for(Object.keys(ways) as (keyof typeof ways)[])(
  'a client that disconnects cancels the run and its children: %s',
  async (way) => {
    const opened = await startServer();
    const peer = await opened.post(ways[way]);
    expect(await stateAfterLeaving(opened, () => peer.socket.destroy())).toEqual(nothingLeft);
  },
);

test('closing the connection gracefully cancels the run, too', async () => {
  const opened = await startServer();
  const peer = await opened.post(ways['REST, streamed']);
  expect(await stateAfterLeaving(opened, () => peer.socket.end())).toEqual(nothingLeft);
});

test('disconnecting a GET request cancels the run', async () => {
  const opened = await startServer();
  const leaving = new AbortController();
  const asking = opened.ask('/v1/lead?q=long', { signal: leaving.signal });
  asking.catch(() => undefined);
  expect(await stateAfterLeaving(opened, () => leaving.abort())).toEqual(nothingLeft);
  await expect(asking).rejects.toThrow('abort');
});

test('closing a WebSocket cancels the runs started over it', async () => {
  const opened = await startServer();
  const socket = new WebSocket(`${opened.url.replace('http', 'ws')}/mcp/ws`, ['mcp'], {
    headers: { authorization: `Bearer ${opened.token}` },
  });
  socket.on('error', () => undefined);
  await once(socket, 'open');
  const send = (message: object): void => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const clientInfo = { name: 't', version: '1' };
  send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
  await once(socket, 'message');
  send({ method: 'notifications/initialized' });
  send({ id: 1, method: 'tools/call', params: { name: 'lead', arguments: { prompt: 'long' } } });
  expect(await stateAfterLeaving(opened, () => socket.terminate())).toEqual(nothingLeft);
});

test('a client that disconnects while sending its body starts no run', async () => {
  const opened = await startServer();
  for (const framing of [['content-length', '100'] as const, ['transfer-encoding', 'chunked'] as const]) {
    const peer = await openRawConnection(opened.url);
    peer.write(encodeHead({ method: 'POST', path: '/v1/lead', headers: [...opened.headers, framing] }));
    peer.write('5\r\n{"inp\r\n');
    // The server has noticed it once a request on a later connection is answered.
    expect((await opened.ask('/v1')).status).toBe(200);
    opened.lines.length = 0;
    peer.socket.destroy();
    const gone = await opened.line((line) => line.type === 'request' && line.method === 'POST');
    expect(gone).toMatchObject({ status: 499, run: null });
    expect(gone).not.toHaveProperty('defect');
  }
  expect(await opened.cloister.runs()).toEqual([]);
});

test('closing a connection cancels all of its runs', async () => {
  const { post, lines, line, asked, cloister } = await startServer();
  const all = ['REST, whole', 'REST, streamed', 'OpenAI, whole', 'Anthropic, streamed'] as const;
  const peer = await post(...all.map((way) => ways[way]));
  await asked;
  peer.socket.destroy();
  await line(() => lines.filter(isRunEnd).length === all.length);
  expect((await cloister.runs()).map(({ status }) => status)).toEqual(all.map(() => 'cancelled'));
});

test('a client that disconnects while it waits leaves the queue', async () => {
  const opened = await startServer({ slots: { running: 1, waiting: 1 } });
  const { post, asked, line, cloister, ask } = opened;
  const first = await post(ways['REST, whole']);
  await asked;
  for (const way of ['REST, whole', 'REST, streamed', 'OpenAI, streamed', 'Anthropic, whole'] as const) {
    // The queue holds one request: the second one, on the same connection, is refused.
    const waiting = await post(ways[way], ways[way]);
    await line((one) => one.type === 'request' && one.status === 429);
    waiting.socket.destroy();
    expect(await line((one) => one.type === 'request' && one.status !== 429)).toMatchObject({
      path: ways[way][0],
      status: 499,
      run: null,
    });
    opened.lines.length = 0;
  }
  const other = await post(ways['REST, whole'], ways['REST, whole']);
  await line((one) => one.type === 'request' && one.status === 429);
  const full = await ask('/v1/lead', { json: { input: 'short' } });
  expect(full.status).toBe(429);
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
  other.socket.destroy();
  await line((one) => one.type === 'request' && one.status === 499);
  first.socket.destroy();
  await line(isRunEnd);
  expect((await ask('/v1/lead', { json: { input: 'short' } })).status).toBe(200);
  expect(await cloister.runs()).toHaveLength(2);
});

/** Streams text until it is stopped. */
const endlessModel = () => {
  const stopped = Promise.withResolvers<void>();
  // Small pieces, each framed by itself: the client's buffers are full long before the reply is too long.
  const text = 'x'.repeat(16);
  async function* parts(signal: AbortSignal): AsyncGenerator<LanguageModelV4StreamPart> {
    yield { type: 'stream-start', warnings: [] };
    yield { type: 'text-start', id: '1' };
    try {
      while (!signal.aborted) {
        yield { type: 'text-delta', id: '1', delta: text };
        await new Promise(setImmediate);
      }
    } finally {
      stopped.resolve();
    }
    signal.throwIfAborted();
  }
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'endless',
    supportedUrls: {},
    doStream: async ({ abortSignal }) => ({ stream: ReadableStream.from(parts(abortSignal!)) }),
    doGenerate: () => Promise.reject(new Error('It only streams.')),
  };
  return { model, stopped: stopped.promise };
};

test.for([
  'REST, streamed',
  'OpenAI, streamed',
  'Anthropic, streamed',
  'OpenAI, a response, streamed',
  'AG-UI',
  'AI SDK UI',
] as const)('a client that does not read its stream is dropped, and the run is cancelled: %s', async (way) => {
  const { model, stopped } = endlessModel();
  const outcome = Promise.withResolvers<RunOutcome>();
  const { url, token, cloister } = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [model] })],
    limits: { stallMs: 250 },
    log: (line) => line.type === 'run' && outcome.resolve(line.outcome),
  });
  const [path, json] = ways[way];
  const body = JSON.stringify(json);
  const peer = await openRawConnection(url);
  peer.socket.pause();
  peer.write(
    encodeHead({
      method: 'POST',
      path,
      headers: [
        ['host', new URL(url).host],
        ['authorization', `Bearer ${token}`],
        ['content-type', 'application/json'],
        ['content-length', String(body.length)],
      ],
    }) + body,
  );
  await stopped;
  expect((await outcome.promise).status).toBe('cancelled');
  expect((await cloister.runs()).map(({ state }) => state)).toEqual(['ended']);
  peer.socket.destroy();
});
