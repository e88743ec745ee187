// For a token, an agent that it may not run does not exist: the response is the same, byte for byte, as for an unused name.
import { once } from 'node:events';
import { defineAgent, hashToken, makeToken } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { eventReader } from '../mcp/messages.ts';
import { serveAgents } from './driver.ts';

const [all, some] = [makeToken(), makeToken()];
// Names of equal length, so that nothing else differs.
const [open, hidden, absent] = ['open-agent', 'hide-agent', 'null-agent'];

const startServer = async () => {
  const agent = (name: string, script: Parameters<typeof rehearse>[0]): Agent =>
    defineAgent({ name, description: `This is ${name}.`, prompt: 'p', models: [rehearse(script)] });
  const hiddenModel = rehearse([{ reply: { fault: 'timeout' } }]);
  const served = await serveAgents({
    agents: [
      agent(open, [{ reply: 'Hello.' }]),
      defineAgent({ name: hidden, description: 'Hidden.', prompt: 'p', models: [hiddenModel] }),
    ],
    tokens: [
      { name: 'all', sha256: hashToken(all) },
      { name: 'some', sha256: hashToken(some), agents: [open] },
    ],
  });
  const as =
    (token: string) =>
    async (path: string, body?: unknown, more: Record<string, string> = {}): Promise<SeenResponse> => {
      const [method = 'GET', target = ''] = path.includes(' ') ? path.split(' ') : [undefined, path];
      const response = await fetch(served.url + target, {
        method: body === undefined ? method : 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...more,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: [...response.headers], text: await response.text() };
    };
  return { ...served, hiddenModel, asSome: as(some), asAll: as(all) };
};

type SeenResponse = {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly text: string;
};

/** Everything that a client can see, except what differs between requests and the requested name. */
const shape = ({ status, headers, text }: SeenResponse, name: string): unknown => {
  const plain = (words: string): string =>
    words
      .replaceAll(/req_\w+/gu, 'req')
      .replaceAll(/Did you mean \\?"[\w-]+\\?"\?/gu, 'Did you mean?')
      .replaceAll(name, 'NAME');
  return {
    status,
    headers: headers.filter(([header]) => header !== 'date').map((pair) => pair.map(plain)),
    text: plain(text),
  };
};

const anthropic = { 'anthropic-version': '2023-06-01' };
const rpc = (method: string, params: object, id = 7): object => ({ jsonrpc: '2.0', id, method, params });
const accepts = { accept: 'application/json, text/event-stream' };

const requestsFor: Readonly<Record<string, (name: string) => readonly [string, unknown?, Record<string, string>?]>> = {
  'REST, by address': (name) => [`/v1/${name}?q=hi`],
  'REST, by address, streamed': (name) => [`/v1/${name}?q=hi&stream=true`],
  'REST, by body': (name) => [`/v1/${name}`, { input: 'hi' }],
  'REST, by body, streamed': (name) => [`/v1/${name}`, { input: 'hi', stream: true }],
  'REST, in a conversation': (name) => [`/v1/${name}`, { input: 'hi', conversation: 'c' }],
  'REST, as a resident': (name) => [`/v1/${name}`, { input: 'hi', resident: true }],
  'REST, not waited for': (name) => [`/v1/${name}`, { input: 'hi', wait: false }],
  'REST, with a body that is wrong': (name) => [`/v1/${name}`, { input: 7 }],
  'OpenAI, a model': (name) => [`/v1/models/${name}`],
  'OpenAI, chat': (name) => ['/v1/chat/completions', { model: name, messages: [{ role: 'user', content: 'hi' }] }],
  'OpenAI, chat, streamed': (name) => [
    '/v1/chat/completions',
    { model: name, stream: true, messages: [{ role: 'user', content: 'hi' }] },
  ],
  'OpenAI, a response': (name) => ['/v1/responses', { model: name, input: 'hi' }],
  'OpenAI, a response, streamed': (name) => ['/v1/responses', { model: name, input: 'hi', stream: true }],
  'Anthropic, a model': (name) => [`/v1/models/${name}`, undefined, anthropic],
  'Anthropic, a message': (name) => [
    '/v1/messages',
    { model: name, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    anthropic,
  ],
  'Anthropic, a message, streamed': (name) => [
    '/v1/messages',
    { model: name, max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'hi' }] },
    anthropic,
  ],
  'Anthropic, a count': (name) => [
    '/v1/messages/count_tokens',
    { model: name, messages: [{ role: 'user', content: 'hi' }] },
    anthropic,
  ],
};

test.for(Object.keys(requestsFor))('another caller’s agent does not exist: %s', async (way) => {
  const { asSome, cloister, hiddenModel } = await startServer();
  const [of, none] = [await asSome(...requestsFor[way]!(hidden)), await asSome(...requestsFor[way]!(absent))];
  expect(of.status).toBe(404);
  expect(shape(of, hidden)).toEqual(shape(none, absent));
  expect(await cloister.runs()).toEqual([]);
  expect(hiddenModel.requests).toEqual([]);
});

test('no list shows another caller’s agents', async () => {
  const { asSome, asAll } = await startServer();
  const lists: readonly Parameters<typeof asSome>[] = [
    ['/v1'],
    ['/v1/models'],
    ['/v1/models', undefined, anthropic],
    ['/openapi.json'],
    ['/mcp', rpc('tools/list', {}), { ...accepts, 'mcp-protocol-version': '2025-11-25' }],
    [`/v1/models?after_id=${open}`, undefined, anthropic],
  ];
  let shown = 0;
  for (const list of lists) {
    const [mine, whole] = [await asSome(...list), await asAll(...list)];
    expect([mine.status, whole.status], list[0]).toEqual([200, 200]);
    expect(mine.text).not.toContain(hidden);
    if (whole.text.includes(hidden)) shown += 1;
  }
  expect(shown).toBe(5);
});

const overMcp = {
  http: async ({ asSome }: StartedServer, name: string) =>
    asSome('/mcp', rpc('tools/call', { name, arguments: { prompt: 'hi' } }), {
      ...accepts,
      'mcp-protocol-version': '2025-11-25',
    }),
  websocket: async ({ url }: StartedServer, name: string) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp'], {
      headers: { authorization: `Bearer ${some}` },
    });
    await once(socket, 'open');
    const ask = async (message: object): Promise<string> => {
      socket.send(JSON.stringify(message));
      const [answer] = (await once(socket, 'message')) as [Buffer];
      return answer.toString();
    };
    await ask(opening);
    socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    const text = await ask(rpc('tools/call', { name, arguments: { prompt: 'hi' } }));
    socket.close();
    await once(socket, 'close');
    return { status: 200, headers: [], text };
  },
  sse: async ({ url, asSome }: StartedServer, name: string) => {
    const stream = await fetch(`${url}/mcp/sse`, { headers: { authorization: `Bearer ${some}` } });
    const events = eventReader(stream.body);
    const next = async (): Promise<string> => (await events.next())!.data;
    const messages = await next();
    await asSome(messages, opening);
    await next();
    await asSome(messages, { jsonrpc: '2.0', method: 'notifications/initialized' });
    await asSome(messages, rpc('tools/call', { name, arguments: { prompt: 'hi' } }));
    const text = await next();
    await events.cancel();
    return { status: 200, headers: [], text };
  },
} satisfies Readonly<Record<string, (server: StartedServer, name: string) => Promise<SeenResponse>>>;

type StartedServer = Awaited<ReturnType<typeof startServer>>;

const opening = rpc(
  'initialize',
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  1,
);

test.for(['http', 'sse', 'websocket'] as const)(
  'another caller’s agent is not a tool: MCP over %s',
  async (carrier) => {
    const opened = await startServer();
    const [of, none] = [await overMcp[carrier](opened, hidden), await overMcp[carrier](opened, absent)];
    expect(of.text).toMatch(/"error":|"isError":true/u);
    expect(shape(of, hidden)).toEqual(shape(none, absent));
    expect((await overMcp[carrier](opened, open)).text).toContain('Hello.');
    expect(opened.hiddenModel.requests).toEqual([]);
  },
);

test('another caller’s run does not exist, while it runs and afterwards', async () => {
  const { asAll, asSome, cloister } = await startServer();
  const started = JSON.parse((await asAll(`/v1/${hidden}`, { input: 'hi', wait: false })).text) as { run: string };
  const { run } = started;
  const none = run
    .replaceAll(/[a-z0-9]/gu, (sign) => (/\d/u.test(sign) ? '0' : 'a'))
    .replace(/^[a-z]+_/u, run.split('_')[0]! + '_');
  const ways = (id: string): readonly Parameters<typeof asSome>[] => [
    [`/v1/runs/${id}`],
    [`/v1/runs/${id}/events`],
    [`/v1/runs/${id}/events`, undefined, { 'last-event-id': 'c1/1' }],
    [`/v1/runs/${id}/cancel`, {}],
    [`/v1/runs/${id}/finish`, {}],
    [`/v1/runs/${id}/agents`],
    [`/v1/runs/${id}/messages`],
    [`/v1/runs/${id}/messages`, { text: 'hello' }],
    [`DELETE /v1/runs/${id}/agents/${hidden}`],
    [`/v1/responses/${id}`],
    [`/v1/responses/resp_${id}`],
    [`/v1/responses`, { model: open, input: 'hi', previous_response_id: `resp_${id}` }],
  ];
  const compare = async (): Promise<void> => {
    for (const [place, way] of ways(run).entries()) {
      const [of, other] = [await asSome(...way), await asSome(...ways(none)[place]!)];
      expect(of.status, `${way[0]} ${of.text}`).toBe(404);
      expect(shape(of, run), way[0]).toEqual(shape(other, none));
    }
    expect((await asSome('/v1/runs')).text).not.toContain(run);
  };
  await compare();
  expect((await asAll('/v1/runs')).text).toContain(run);
  expect((await asAll(`/v1/runs/${run}/cancel`, {})).status).toBe(202);
  const events = await asAll(`/v1/runs/${run}/events`);
  expect(events.text).toContain('event: outcome');
  await compare();
  expect((await cloister.runs()).map((one) => one.run)).toEqual([run]);
});

test('another caller’s session on the older MCP transport does not exist', async () => {
  const { url, asSome, asAll } = await startServer();
  const stream = await fetch(`${url}/mcp/sse`, { headers: { authorization: `Bearer ${all}` } });
  const events = eventReader(stream.body);
  const messages = (await events.next())!.data;
  const of = await asSome(messages, opening);
  const none = await asSome(messages.replace(/=.*/u, '=0000'), opening);
  expect(of.status).toBe(404);
  expect(shape(of, '-')).toEqual(shape(none, '-'));
  expect((await asAll(messages, opening)).status).toBe(202);
  await events.cancel();
});
