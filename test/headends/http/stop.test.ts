// A server that is stopping lets requests in flight finish, on every transport, and accepts no new ones.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { defineAgent } from 'cloister';
import type { ServerOptions } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { serveAgents } from './driver.ts';
import { encodeHead, openRawConnection } from './raw-client.ts';

/** Its agent answers when the test says so. */
const startServer = async (options: Omit<ServerOptions, 'agents'> = {}) => {
  const [asked, let_] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const model = rehearse([{ reply: 'All of it.' }]);
  const patient: LanguageModelV4 = {
    ...model,
    doStream: async (call) => {
      asked.resolve();
      await let_.promise;
      return model.doStream(call);
    },
  };
  const served = await serveAgents({
    agents: [defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [patient] })],
    ...options,
  });
  return { ...served, asked: asked.promise, answer: () => let_.resolve() };
};

const mcp = async (url: string, token: string) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp'], {
    headers: { authorization: `Bearer ${token}` },
  });
  await once(socket, 'open');
  const send = (message: object): void => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const clientInfo = { name: 't', version: '1' };
  send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
  await once(socket, 'message');
  send({ method: 'notifications/initialized' });
  const call = async (id: number): Promise<string> => {
    send({ id, method: 'tools/call', params: { name: 'lead', arguments: { prompt: 'hi' } } });
    const [answer] = (await once(socket, 'message')) as [Buffer];
    return answer.toString();
  };
  return { socket, call };
};

// invariant: close-finishes-cut-ends
test.for(['whole', 'streamed', 'over a WebSocket'] as const)('requests in flight are finished: %s', async (way) => {
  const { url, token, server, cloister, asked, answer, ask } = await startServer();
  const { socket, call } = await mcp(url, token);
  const answered =
    way === 'over a WebSocket'
      ? call(1)
      : ask('/v1/lead', { json: { input: 'hi', stream: way === 'streamed' } }).then((response) => response.text());
  await asked;
  const stopped = server.stop(60_000);
  // The socket is still open, but new requests are refused on it, and so are new clients.
  if (way !== 'over a WebSocket') expect(await call(2)).toContain('The server is shutting down.');
  const upgrade = new WebSocket(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp'], {
    headers: { authorization: `Bearer ${token}` },
  });
  const [, refused] = (await once(upgrade, 'unexpected-response')) as [unknown, IncomingMessage];
  expect(refused.statusCode).toBe(503);
  refused.destroy();
  expect((await ask('/mcp/sse')).status).toBe(503);
  const late = await ask('/v1/lead', { json: { input: 'hi' } });
  expect([late.status, late.headers.get('retry-after')]).toEqual([503, '2']);
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'stopping' });
  const closed = once(socket, 'close');
  answer();
  expect(await answered).toContain('All of it.');
  expect(await stopped).toEqual([]);
  expect((await closed)[0]).toBe(1001);
  expect((await cloister.runs()).map(({ status }) => status)).toEqual(['completed']);
});

test('once everything is answered, kept-alive and idle connections are closed', async () => {
  // Nothing here waits for a timer.
  const { url, token, server, asked, answer } = await startServer({ clock: virtualClock() });
  const headers = [
    ['host', new URL(url).host],
    ['authorization', `Bearer ${token}`],
  ] as const;
  const [busy, idle] = [await openRawConnection(url), await openRawConnection(url)];
  idle.write(encodeHead({ path: '/health', headers }));
  expect((await idle.nextReply()).status).toBe(200);
  busy.write(encodeHead({ path: '/v1/lead?q=hi', headers }));
  await asked;
  const stopped = server.stop(60_000);
  answer();
  expect((await busy.nextReply()).body).toContain('All of it.');
  expect([await busy.ended, await idle.ended]).toEqual(['', '']);
  expect(await stopped).toEqual([]);
  await expect(openRawConnection(url)).rejects.toThrow('ECONNREFUSED');
});

test('a client whose run does not end in time is told that the run is left, and its id', async () => {
  const { url, token, server, asked, answer, ask, cloister } = await startServer();
  const { socket, call } = await mcp(url, token);
  const [overSocket, whole] = [call(1), ask('/v1/lead', { json: { input: 'hi' } })];
  const chat = ask('/v1/chat/completions', { json: { model: 'lead', messages: [{ role: 'user', content: 'hi' }] } });
  await asked;
  while ((await cloister.runs()).length < 3) await new Promise(setImmediate);
  const left = await server.stop(1);
  expect(left).toHaveLength(3);
  for (const response of [await whole, await chat]) {
    expect(response.status).toBe(503);
    const text = await response.text();
    expect(left.filter((run) => text.includes(`Run ${run} was not finished`))).toHaveLength(1);
  }
  expect(await overSocket).toMatch(/Run \w+ was not finished/u);
  socket.terminate();
  answer();
});

// invariant: close-finishes-cut-ends
test('a run that does not end in time is left, and its clients are cut off', async () => {
  const { url, token, server, asked, cloister } = await startServer();
  const { socket, call } = await mcp(url, token);
  void call(1).catch(() => undefined);
  await asked;
  const closed = once(socket, 'close');
  const left = await server.stop(0);
  expect(left).toHaveLength(1);
  await closed;
  expect((await cloister.runs()).map(({ run, state }) => [run, state])).toEqual([[left[0], 'running']]);
});
