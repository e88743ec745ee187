import { createInterface } from 'node:readline';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseStrictJson } from '#base';
import type { Json } from '#base';
import type { ServedSocket } from '#contracts';
import { fakeService, mcpApp, serveOnPipes } from './driver.ts';
import { eventReader, request, send } from './messages.ts';

const names = ['tools/call', 'tools/list', 'initialize', 'ping', 'server/discover', 'subscriptions/listen', 'x'];
const notices = ['notifications/cancelled', 'notifications/initialized', 'notifications/progress'];
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Any value, but mostly almost a message. */
const messages = fc
  .oneof(
    { weight: 1, arbitrary: fc.jsonValue() },
    {
      weight: 9,
      arbitrary: fc.record(
        {
          jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, { weight: 1, arbitrary: fc.jsonValue() }),
          id: fc.oneof(fc.nat({ max: 3 }), fc.string(), fc.jsonValue()),
          method: fc.oneof(fc.constantFrom(...names, ...notices), fc.jsonValue()),
          params: fc.oneof(
            fc.record(
              {
                name: fc.oneof(fc.constantFrom('echo', 'map', 'crash', 'nobody'), fc.jsonValue()),
                arguments: fc.oneof(fc.record({ prompt: fc.string() }), fc.jsonValue()),
                requestId: fc.oneof(fc.nat({ max: 3 }), fc.jsonValue()),
                protocolVersion: fc.oneof(fc.constantFrom('2025-11-25', '2024-11-05'), fc.jsonValue()),
                _meta: fc.oneof(fc.constant(envelope), fc.record({ progressToken: fc.jsonValue() }), fc.jsonValue()),
              },
              { requiredKeys: [] },
            ),
            fc.jsonValue(),
          ),
          result: fc.jsonValue(),
          error: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    },
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

/** Every reply is JSON-RPC, and none reveals a place in our code. */
const isProper = (reply: unknown): void => {
  expect(reply).toMatchObject({ jsonrpc: '2.0' });
  expect(JSON.stringify(reply)).not.toMatch(/\.m?[jt]s:\d|sk-secret|"stack"/u);
};

describe('any message is answered, refused or dropped, and the next one is served', () => {
  test('over streamable HTTP', async () => {
    const routes = await mcpApp(fakeService());
    await fc.assert(
      fc.asyncProperty(
        messages,
        fc.constantFrom(undefined, '2026-07-28', '2025-11-25', 'x'),
        async (message, version) => {
          const headers: Record<string, string> = version === undefined ? {} : { 'mcp-protocol-version': version };
          const stop = new AbortController();
          const response = await send(routes, message, { headers, signal: stop.signal });
          expect([200, 202, 400, 404]).toContain(response.status);
          const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
          const isListening = JSON.stringify(message).includes('subscriptions/listen');
          if (isStream && !isListening) (await eventReader(response.body).rest()).forEach(isProper);
          else if (!isStream && response.status !== 202) isProper(await response.json());
          stop.abort();
        },
      ),
      { numRuns: 500 },
    );
    const response = await send(routes, request(1, 'ping'));
    expect(await eventReader(response.body).rest()).toMatchObject([{ id: 1, result: {} }]);
  });

  test('over HTTP with one stream of events', async () => {
    const routes = await mcpApp(fakeService());
    await fc.assert(
      fc.asyncProperty(fc.array(messages, { maxLength: 8 }), async (sent) => {
        const events = eventReader((await send(routes, undefined, { path: '/mcp/sse', method: 'GET' })).body);
        const path = (await events.next())?.data ?? '';
        for (const message of sent) {
          const response = await send(routes, message, { path });
          expect([202, 400]).toContain(response.status);
          if (response.status === 400) isProper(await response.json());
        }
        await send(routes, request('last', 'nothing'), { path });
        for (let reply = await events.message(); reply.id !== 'last'; reply = await events.message()) isProper(reply);
        await events.cancel();
      }),
    );
  });

  // invariant: mcp-every-message-handled
  test('over a WebSocket', async () => {
    const routes = await mcpApp(fakeService());
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            messages.map((each) => JSON.stringify(each)),
            fc.string(),
          ),
        ),
        async (sent) => {
          const { promise, resolve } = Promise.withResolvers<unknown>();
          let hear: (text: string) => void = () => undefined;
          let leave: () => void = () => undefined;
          const socket: ServedSocket = {
            send: async (text) => {
              const reply = JSON.parse(text);
              isProper(reply);
              if (reply.id === 'last') resolve(reply);
            },
            close: () => undefined,
            onMessage: (listener) => (hear = (text) => listener(parseStrictJson(text, 64))),
            onClose: (listener) => (leave = listener),
          };
          routes.sockets[0]!.open(socket, { name: 'me' });
          for (const text of [...sent, JSON.stringify(request('last', 'nothing'))]) hear(text);
          expect(await promise).toMatchObject({ error: { code: -32_601 } });
          leave();
        },
      ),
    );
  });

  // invariant: stdio-messages-only
  test('over standard input', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            messages.map((each) => Buffer.from(JSON.stringify(each))),
            fc.uint8Array().map(Buffer.from),
          ),
        ),
        async (sent) => {
          const { toServer, fromServer, served } = await serveOnPipes(fakeService());
          for (const line of sent) toServer.write(Buffer.concat([line, Buffer.from('\n')]));
          toServer.write(`${JSON.stringify(request('last', 'nothing'))}\n`);
          let last;
          for await (const line of createInterface({ input: fromServer })) {
            isProper((last = JSON.parse(line)));
            if (last.id === 'last') break;
          }
          expect(last).toMatchObject({ error: { code: -32_601 } });
          await served.close();
        },
      ),
    );
  });
});
