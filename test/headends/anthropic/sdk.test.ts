// Anthropic's own client, unchanged, against served agents.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import Anthropic from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import { expect, test } from 'vitest';
import { serveAgents } from '../http/driver.ts';
import type { ServeOptions } from '../http/driver.ts';
import { answer, scriptAgents, scriptedUsage } from './scripted-agents.ts';

const clientFor = (to: { url: string; token: string }, more: object = {}): Anthropic =>
  new Anthropic({ baseURL: to.url, apiKey: to.token, authToken: null, maxRetries: 0, ...more });

const serve = async (options: Omit<ServeOptions, 'agents'> = {}) => {
  const scripted = scriptAgents();
  const served = await serveAgents({ agents: scripted.agents, ...options });
  return { house: scripted, served, client: clientFor(served) };
};

/** The operator allows more than usual. */
const allowAll = { clients: { system: true, activity: true } };

const ask = (model: string, content = 'Where is Lisbon?') => ({
  model,
  max_tokens: 1024,
  messages: [{ role: 'user' as const, content }],
});

const usage = {
  input_tokens: scriptedUsage.input - scriptedUsage.cacheRead - scriptedUsage.cacheWrite,
  cache_read_input_tokens: scriptedUsage.cacheRead,
  cache_creation_input_tokens: scriptedUsage.cacheWrite,
  output_tokens: scriptedUsage.output,
};

const textOf = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

const errorOf = (promise: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> =>
  promise.then(
    () => expect.fail('It went well.'),
    (thrown: InstanceType<typeof Anthropic.APIError>) => thrown,
  );

test('create returns the answer and the usage of the whole run', async () => {
  const { client } = await serve();
  const { data, request_id } = await client.messages.create(ask('lead')).withResponse();
  expect(data).toMatchObject({ type: 'message', role: 'assistant', model: 'lead', stop_reason: 'end_turn', usage });
  expect(data.id).toMatch(/^msg_/u);
  expect(data.content).toMatchObject([{ type: 'text', text: answer }]);
  expect(request_id).toMatch(/^req_/u);
});

test('the stream helper assembles a message that ends with the answer', async () => {
  const { client } = await serve();
  const stream = client.messages.stream(ask('lead'));
  const received: string[] = [];
  stream.on('text', (text) => received.push(text));
  const message = await stream.finalMessage();
  expect(message).toMatchObject({ model: 'lead', stop_reason: 'end_turn', usage });
  expect(message.content.map(({ type }) => type)).toEqual(['text']);
  expect(received.join('')).toBe(`Let me ask.\n\n${answer}`);
  expect(received.length).toBeGreaterThan(2);
});

test('a raw stream has the events of the protocol in order', async () => {
  const { client } = await serve();
  const types: string[] = [];
  for await (const { type } of await client.messages.create({ ...ask('judge'), stream: true })) types.push(type);
  expect(types.filter((type, place) => type !== types[place - 1])).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
});

test('activity becomes thinking blocks between the texts, if the operator shows it', async () => {
  const { client } = await serve(allowAll);
  const message = await client.messages.stream(ask('lead')).finalMessage();
  expect(message.content.map(({ type }) => type)).toEqual(['text', 'thinking', 'text']);
  expect(textOf(message)).toBe(`Let me ask.\n\n${answer}`);
  const thoughts = message.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
  expect(thoughts).toContain('researcher');
  const whole = await client.messages.create(ask('lead'));
  expect(whole.content).toMatchObject([
    { type: 'thinking', thinking: thoughts },
    { type: 'text', text: answer },
  ]);
  // It can be sent back unchanged.
  const again = await client.messages.create({
    ...ask('mirror'),
    messages: [
      ...ask('mirror').messages,
      { role: 'assistant', content: message.content },
      { role: 'user', content: 'So?' },
    ],
  });
  expect(textOf(again)).toContain('Let me ask.');
  expect(textOf(again)).not.toContain(thoughts.trim().split('\n')[0]);
});

const verdict = jsonSchemaOutputFormat({
  type: 'object',
  properties: { verdict: { type: 'string' }, points: { type: 'integer' } },
  required: ['verdict', 'points'],
  additionalProperties: false,
} as const);

test('the client parses structured output, streamed or not', async () => {
  const { client, house: scripted } = await serve();
  const params = { ...ask('judge'), output_config: { format: verdict } };
  const parsed = await client.messages.parse(params);
  expect(parsed.parsed_output).toEqual({ verdict: 'yes', points: 3 });
  const streamed = await client.messages.stream(params).finalMessage();
  expect(streamed.parsed_output).toEqual({ verdict: 'yes', points: 3 });
  // The schema reached the agent.
  expect(JSON.stringify(scripted.model.requests.at(-1))).toContain('points');
});

test('an answer that does not match the schema is an error', async () => {
  const { client } = await serve();
  const other = { type: 'json_schema' as const, schema: { type: 'object', required: ['other'] } };
  const error = await errorOf(client.messages.create({ ...ask('judge'), output_config: { format: other } }));
  expect(error).toBeInstanceOf(Anthropic.UnprocessableEntityError);
  expect(error).toMatchObject({ errorCode: 'answer_schema' });
});

test('earlier messages are history, and a system prompt follows the agent’s own', async () => {
  const { client, house: scripted } = await serve(allowAll);
  const message = await client.messages.create({
    ...ask('mirror'),
    system: 'The moon is full.',
    messages: [
      { role: 'user', content: 'My name is Ann.' },
      { role: 'assistant', content: 'Hello Ann.' },
      { role: 'user', content: 'What is my name?' },
    ],
  });
  for (const part of ['The moon is full.', 'My name is Ann.', 'Hello Ann.', 'What is my name?'])
    expect(textOf(message)).toContain(part);
  const { prompt = [] } = scripted.model.requests.at(-1) ?? {};
  expect(JSON.stringify(prompt.filter(({ role }) => role === 'system'))).toContain('moon');
});

test('tokens are counted without calling a model', async () => {
  const { client, house: scripted } = await serve();
  const before = scripted.model.requests.length;
  const short = await client.messages.countTokens({ model: 'lead', messages: ask('lead').messages });
  const long = await client.messages.countTokens({ model: 'lead', messages: ask('lead', 'x'.repeat(4000)).messages });
  expect(short.input_tokens).toBeGreaterThan(10);
  expect(long.input_tokens - short.input_tokens).toBe(1000 - 4);
  expect(scripted.model.requests).toHaveLength(before);
});

test('agents are listed as models, page by page', async () => {
  const { client, house: scripted } = await serve();
  const names = scripted.agents.map(({ name }) => name);
  const listed: string[] = [];
  for await (const { id } of client.models.list({ limit: 2 })) listed.push(id);
  expect(listed).toEqual(names);
  const one = await client.models.retrieve('lead');
  expect(one).toMatchObject({ type: 'model', id: 'lead', display_name: 'lead', lifecycle: 'active' });
  expect(Number.isNaN(Date.parse(one.created_at))).toBe(false);
});

test('aborting a stream cancels the whole run', async () => {
  const { client, house: scripted } = await serve();
  const hangs = once(scripted.hung, 'hangs');
  const stream = client.messages.stream(ask('slow'));
  await stream.emitted('text');
  const [signal] = (await hangs) as [AbortSignal];
  expect(signal.aborted).toBe(false);
  const ended = once(signal, 'abort');
  stream.abort();
  expect(await errorOf(stream.done())).toBeInstanceOf(Anthropic.APIUserAbortError);
  await ended;
});

test('aborting before there is an answer cancels the run, too', async () => {
  const { client, house: scripted } = await serve();
  const controller = new AbortController();
  const hangs = once(scripted.hung, 'hangs');
  const thrown = errorOf(client.messages.create(ask('slow'), { signal: controller.signal }));
  const [signal] = (await hangs) as [AbortSignal];
  const ended = once(signal, 'abort');
  controller.abort();
  expect(await thrown).toBeInstanceOf(Anthropic.APIUserAbortError);
  await ended;
});

const tool = { name: 'x', input_schema: { type: 'object' as const } };
const image = { type: 'image' as const, source: { type: 'url' as const, url: 'http://127.0.0.1/x.png' } };

test.each([
  ['a wrong token', { token: 'clo_wrong' }, ask('lead'), Anthropic.AuthenticationError, 401, 'token_refused'],
  [
    'a foreign page',
    { origin: 'http://foreign.example' },
    ask('lead'),
    Anthropic.PermissionDeniedError,
    403,
    'origin_refused',
  ],
  ['an unknown agent', {}, ask('leda'), Anthropic.NotFoundError, 404, 'agent_unknown'],
  ['tools', {}, { ...ask('lead'), tools: [tool] }, Anthropic.BadRequestError, 400, 'request_unsupported'],
  [
    'a system prompt',
    {},
    { ...ask('lead'), system: 'Be brief.' },
    Anthropic.BadRequestError,
    400,
    'request_unsupported',
  ],
  [
    'an image',
    {},
    { ...ask('lead'), messages: [{ role: 'user', content: [image] }] },
    Anthropic.BadRequestError,
    400,
    'request_unsupported',
  ],
  ['no bound', {}, { ...ask('lead'), max_tokens: 0 }, Anthropic.BadRequestError, 400, 'request_invalid'],
  [
    'a body that is too large',
    {},
    ask('lead', 'x'.repeat(5 * 1024 * 1024)),
    Anthropic.ContentTooLargeError,
    413,
    'request_too_large',
  ],
] as const)('%s is an exception of its own class', async (_, to, params, kind, status, code) => {
  const { served } = await serve();
  for (const stream of [false, true]) {
    const sent = { ...params, stream } as Anthropic.MessageCreateParamsNonStreaming;
    const headers = 'origin' in to ? { defaultHeaders: { origin: to.origin } } : {};
    const error = await errorOf(clientFor({ ...served, ...to }, headers).messages.create(sent));
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ status, errorCode: code });
    expect(error.headers?.get('x-should-retry')).toBe('false');
  }
});

test.each([
  ['broken', Anthropic.InternalServerError, 502, 'api_error', 'model_request'],
  ['hasty', Anthropic.GatewayTimeoutError, 504, 'timeout_error', 'deadline_passed'],
  ['poor', Anthropic.RateLimitError, 429, 'rate_limit_error', 'budget_refused'],
] as const)('a failed run (%s) throws, and the client does not retry it', async (agent, kind, status, type, code) => {
  const requests: string[] = [];
  const { served } = await serve({ log: (line) => void (line.type === 'request' && requests.push(line.path)) });
  const error = await errorOf(clientFor(served, { maxRetries: 3 }).messages.create(ask(agent)));
  expect(error).toBeInstanceOf(kind);
  expect(error).toMatchObject({ status, type, errorCode: code });
  expect(requests).toEqual(['/v1/messages']);
});

test('a rate-limited token is told how long to wait', async () => {
  const token = 'clo_often';
  const sha256 = createHash('sha256').update(token).digest('hex');
  const { served } = await serve({ tokens: [{ name: 'often', sha256, requestsPerMinute: 1 }] });
  const often = clientFor({ url: served.url, token });
  expect(textOf(await often.messages.create(ask('judge')))).toContain('verdict');
  const error = await errorOf(often.messages.create(ask('judge')));
  expect(error).toBeInstanceOf(Anthropic.RateLimitError);
  expect(error).toMatchObject({ type: 'rate_limit_error', errorCode: 'rate_exceeded' });
  expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0);
});

test('a failure after the stream has started is an error event', async () => {
  const { client } = await serve();
  for (const agent of ['broken', 'late']) {
    const stream = client.messages.stream(ask(agent));
    const error = await errorOf(stream.done());
    expect(error).toBeInstanceOf(Anthropic.APIError);
    expect(error).toMatchObject({ status: undefined, type: 'api_error', errorCode: 'model_request' });
  }
});

test('a full server answers with a rate limit and a time to wait', async () => {
  const { client } = await serve({ slots: { running: 1, waiting: 0 } });
  const first = client.messages.stream(ask('slow'));
  await first.emitted('text');
  const error = await errorOf(client.messages.create(ask('lead')));
  expect(error).toBeInstanceOf(Anthropic.RateLimitError);
  expect(error).toMatchObject({ type: 'rate_limit_error', errorCode: 'server_busy' });
  expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0);
  const ended = errorOf(first.done());
  first.abort();
  expect(await ended).toBeInstanceOf(Anthropic.APIUserAbortError);
});

test('the token may be sent as x-api-key or as a bearer token', async () => {
  const { served } = await serve();
  const bearer = clientFor(served, { apiKey: null, authToken: served.token });
  expect(textOf(await bearer.messages.create(ask('judge')))).toContain('verdict');
});
