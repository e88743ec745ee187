// curl, as a person types it: the lines that `serve` prints, each protocol, and errors.
import { spawn } from 'node:child_process';
import { text as allText } from 'node:stream/consumers';
import type { JsonObject } from '#base';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { bannerLines } from '../../../src/headends/cli/serve-lines.ts';
import { serveAgents } from './driver.ts';

/** The text of a model must not be able to end or start an event. */
const tricky = 'one\ndata: two\u2028\n\nevent: error\r\rid: 7';

const serve = () => {
  const model = rehearse([
    { when: { agent: 'judge' }, reply: () => '{"points":3}' },
    { when: { text: 'tricky' }, reply: () => ({ pieces: tricky.match(/.{1,3}/gsu) ?? [] }) },
    { reply: ({ goal, agent }) => `${agent ?? ''} heard ${goal}` },
  ]);
  const shared = { prompt: 'Answer.', models: [model] };
  const points = { type: 'object', properties: { points: { type: 'integer' } }, required: ['points'] };
  const form = {
    type: 'object',
    additionalProperties: false,
    required: ['about', 'depth', 'tone', 'parts', 'by', 'hurry', 'not'],
    properties: {
      about: { type: 'string', minLength: 1 },
      depth: { type: 'integer', minimum: 2 },
      tone: { enum: ['calm', 'loud'] },
      parts: { type: 'array', minItems: 1, items: { type: ['number', 'null'] } },
      by: { type: 'object', properties: { name: { const: 'Ann' } }, required: ['name'] },
      hurry: { type: 'boolean' },
      not: { type: 'array' },
      more: { type: 'string' },
    },
  };
  return serveAgents({
    agents: [
      defineAgent({ ...shared, name: 'echo', description: 'Echoes.', usage: `Say "it's" & $HOME; \`id\` | 100% ü` }),
      defineAgent({ ...shared, name: 'silent', description: 'Says how it is asked in no way.' }),
      defineAgent({
        ...shared,
        name: 'sums',
        description: 'Takes JSON.',
        usage: '{"a":1}',
        input: { format: 'json', schema: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] } },
      }),
      defineAgent({
        ...shared,
        name: 'form',
        description: 'Takes JSON, and says so in words.',
        usage: '{a form}',
        input: { format: 'json', schema: form },
      }),
      defineAgent({ ...shared, name: 'judge', description: 'Gives JSON.', output: { format: 'json', schema: points } }),
    ],
  });
};

type Run = { readonly status: number; readonly type: string; readonly body: string; readonly uploaded: number };

/** curl reports about itself as JSON on stderr. */
const report = ['-sS', '-w', '%{stderr}%{json}'];

const ended = async (
  command: string,
  args: readonly string[],
  options: { input?: Uint8Array | string; token?: string },
): Promise<Run> => {
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: '/nowhere',
    ...(options.token === undefined ? {} : { CLOISTER_TOKEN: options.token }),
  };
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  const [body, told] = await Promise.all([allText(child.stdout), allText(child.stderr)]);
  const facts = JSON.parse(told.slice(told.indexOf('{'))) as {
    http_code: number;
    content_type: string | null;
    size_upload: number;
  };
  return { status: facts.http_code, type: facts.content_type ?? '', body, uploaded: facts.size_upload };
};

const curl = (args: readonly string[], input?: Uint8Array | string): Promise<Run> =>
  ended('curl', [...report, ...args], input === undefined ? {} : { input });

/** A line as it was printed, in a shell. */
const pasted = (line: string, token: string): Promise<Run> =>
  ended('sh', ['-c', line.replace(/^curl /u, `curl ${report.map((word) => `'${word}'`).join(' ')} `)], { token });

const bearer = (token: string): string[] => ['-H', `authorization: Bearer ${token}`];
const asJson = ['-H', 'content-type: application/json'];
const posted = (body: unknown): string[] => [...asJson, '-d', JSON.stringify(body)];

const jsonIn = ({ body }: Run): JsonObject => JSON.parse(body) as JsonObject;

/** Events as a client of server-sent events parses them. */
const eventsIn = ({ body }: Run): { event: string | undefined; data: string }[] =>
  body
    .split('\n\n')
    .filter((block) => block.trim() !== '' && !block.startsWith(':'))
    .map((block) => {
      const lines = block.split(/\r\n|\r|\n/u);
      const of = (name: string): string[] =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      return { event: of('event')[0], data: of('data').join('\n') };
    });

test('the curl line that is printed for each agent runs it', async () => {
  const { url, token, server } = await serve();
  const said: Record<string, unknown> = {};
  const banner = { url, stdio: false, token: null, agents: server.agents, notes: [] };
  const lines = bannerLines(banner, (_style, text) => text).filter((line) => line.startsWith('  curl '));
  expect(lines).toHaveLength(server.agents.length);
  for (const [index, { name }] of server.agents.entries()) {
    const run = await pasted(lines[index]!.trim(), token);
    expect([name, run.status, run.type]).toEqual([name, 200, 'application/json']);
    said[name] = jsonIn(run)['output'];
  }
  expect(said).toEqual({
    echo: `echo heard Say "it's" & $HOME; \`id\` | 100% ü`,
    silent: 'silent heard Hello',
    sums: expect.stringContaining('{"a":1}') as string,
    form: expect.stringContaining('"about":"text"') as string,
    judge: '{"points":3}',
  });
});

test('a request by query or by body is answered as JSON', async () => {
  const { url, token } = await serve();
  const got = await curl([...bearer(token), `${url}/v1/echo?q=a%20b`]);
  expect([got.status, jsonIn(got)]).toMatchObject([
    200,
    { status: 'completed', output: 'echo heard a b', error: null },
  ]);
  const sent = await curl([...bearer(token), ...posted({ input: 'a b' }), `${url}/v1/echo`]);
  expect([sent.status, jsonIn(sent)['output']]).toEqual([200, 'echo heard a b']);
  const json = await curl([...bearer(token), ...posted({ input: 'x' }), `${url}/v1/judge`]);
  expect([json.status, jsonIn(json)['data']]).toEqual([200, { points: 3 }]);
});

test('events arrive one by one, and no text can forge another event', async () => {
  const { url, token } = await serve();
  const run = await curl([...bearer(token), '-N', '-H', 'accept: text/event-stream', `${url}/v1/echo?q=tricky`]);
  expect([run.status, run.type]).toEqual([200, 'text/event-stream; charset=utf-8']);
  const events = eventsIn(run);
  expect(events.at(-1)?.event).toBe('outcome');
  expect(JSON.parse(events.at(-1)!.data)).toMatchObject({ status: 'completed', output: tricky });
  // Every event has a name, holds JSON, and has the type that its name says.
  for (const { event, data } of events.slice(0, -1)) expect(JSON.parse(data)).toMatchObject({ type: event });
});

const asked = { model: 'echo', messages: [{ role: 'user', content: 'tricky' }] };

test('curl can use the OpenAI routes', async () => {
  const { url, token } = await serve();
  const whole = await curl([...bearer(token), ...posted(asked), `${url}/v1/chat/completions`]);
  expect([whole.status, jsonIn(whole)]).toMatchObject([
    200,
    { object: 'chat.completion', choices: [{ message: { role: 'assistant', content: tricky } }] },
  ]);
  const stream = await curl([
    ...bearer(token),
    '-N',
    ...posted({ ...asked, stream: true }),
    `${url}/v1/chat/completions`,
  ]);
  const datas = eventsIn(stream).map(({ data }) => data);
  expect(datas.at(-1)).toBe('[DONE]');
  const texts = datas
    .slice(0, -1)
    .map(
      (data) => (JSON.parse(data) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? '',
    );
  expect(texts.join('')).toBe(tricky);
});

test('curl can use the Anthropic routes', async () => {
  const { url, token } = await serve();
  const key = ['-H', `x-api-key: ${token}`, '-H', 'anthropic-version: 2023-06-01'];
  const whole = await curl([...key, ...posted({ ...asked, max_tokens: 9 }), `${url}/v1/messages`]);
  expect([whole.status, jsonIn(whole)]).toMatchObject([
    200,
    { type: 'message', content: [{ type: 'text', text: tricky }], stop_reason: 'end_turn' },
  ]);
  const stream = await curl([...key, '-N', ...posted({ ...asked, max_tokens: 9, stream: true }), `${url}/v1/messages`]);
  const events = eventsIn(stream);
  expect(events.at(-1)?.event).toBe('message_stop');
  const texts = events.map(({ data }) => (JSON.parse(data) as { delta?: { text?: string } }).delta?.text ?? '');
  expect(texts.join('')).toBe(tricky);
  const models = await curl([...key, `${url}/v1/models`]);
  expect(jsonIn(models)).toMatchObject({ first_id: 'echo', last_id: 'judge', has_more: false });
});

const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
const notUtf8 = Buffer.concat([Buffer.from('{"input":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
const raw = ['--data-binary', '@-'];

test.each([
  ['no token', [], '/v1/echo?q=x', 401, 'token_refused'],
  ['a wrong token', bearer('clo_wrong'), '/v1/echo?q=x', 401, 'token_refused'],
  ['half a token', ['-H', 'authorization: Bearer'], '/v1/echo?q=x', 401, 'token_refused'],
  ['no token, and no such address', [], '/nothing', 401, 'token_refused'],
] as const)('%s: refused', async (_, args, path, status, code) => {
  const { url } = await serve();
  const run = await curl([...args, url + path]);
  expect([run.status, jsonIn(run)]).toMatchObject([status, { error: { code } }]);
});

test.each([
  ['a form', ['-d', 'input=x'], '', 415, 'media_refused'],
  ['plain text', ['-H', 'content-type: text/plain', '-d', '{"input":"x"}'], '', 415, 'media_refused'],
  ['what is not UTF-8', [...asJson, ...raw], notUtf8, 400, 'request_invalid'],
  ['a key that is given twice', [...asJson, ...raw], '{"input":"x","input":"y"}', 400, 'request_invalid'],
  ['what is nested too deep', [...asJson, ...raw], deep, 400, 'request_invalid'],
  ['a prototype', [...asJson, ...raw], '{"__proto__":{"input":"x"},"input":"x"}', 400, 'request_invalid'],
  ['half of JSON', [...asJson, ...raw], '{"input":', 400, 'request_invalid'],
  ['nothing', [...asJson, ...raw], '', 400, 'request_invalid'],
  ['a field that nobody knows', posted({ inptu: 'x' }), '', 400, 'request_invalid'],
  ['a negative budget', posted({ input: 'x', budget: { tokens: -1 } }), '', 400, 'request_invalid'],
  ['a schema that is none', posted({ input: 'x', schema: { type: 'nothing' } }), '', 400, 'options_invalid'],
  ['JSON without a schema', posted({ input: 'x', format: 'json' }), '', 400, 'options_invalid'],
  ['a foreign host', [...posted({ input: 'x' }), '-H', 'host: foreign.example'], '', 403, 'host_refused'],
  ['a foreign origin', [...posted({ input: 'x' }), '-H', 'origin: http://foreign.example'], '', 403, 'origin_refused'],
  ['no origin at all', [...posted({ input: 'x' }), '-H', 'origin: null'], '', 403, 'origin_refused'],
  ['another method', ['-X', 'PUT', ...posted({ input: 'x' })], '', 405, 'method_refused'],
] as const)('%s: refused, and the next is answered', async (_, args, input, status, code) => {
  const { url, token } = await serve();
  const run = await curl([...bearer(token), ...args, `${url}/v1/echo`], input);
  expect([run.status, jsonIn(run)]).toMatchObject([status, { error: { code } }]);
  const next = await curl([...bearer(token), `${url}/v1/echo?q=y`]);
  expect([next.status, jsonIn(next)['output']]).toEqual([200, 'echo heard y']);
});

// invariant: http-errors-in-protocol
test('a refusal is in the format of its protocol', async () => {
  const { url } = await serve();
  const chat = await curl([...posted(asked), `${url}/v1/chat/completions`]);
  expect([chat.status, jsonIn(chat)]).toMatchObject([
    401,
    { error: { code: expect.any(String) as string, type: expect.any(String) as string } },
  ]);
  const message = await curl([...posted(asked), `${url}/v1/messages`]);
  expect([message.status, jsonIn(message)]).toMatchObject([
    401,
    { type: 'error', error: { type: 'authentication_error' } },
  ]);
});

test('unknown agents and paths are not found', async () => {
  const { url, token } = await serve();
  for (const [path, code] of [
    ['/v1/ehco?q=x', 'agent_unknown'],
    ['/v2/echo', 'route_unknown'],
  ] as const) {
    const run = await curl([...bearer(token), url + path]);
    expect([run.status, jsonIn(run)]).toMatchObject([404, { error: { code } }]);
  }
});

const large = Buffer.alloc(5 * 1024 * 1024, ' ');
const asking = ['-H', 'expect: 100-continue', '--expect100-timeout', '60'];

test('a body that is too large is refused before it is sent', async () => {
  const { url, token } = await serve();
  const run = await curl([...bearer(token), ...asJson, ...asking, ...raw, `${url}/v1/echo`], large);
  expect([run.status, run.uploaded, jsonIn(run)]).toMatchObject([413, 0, { error: { code: 'request_too_large' } }]);
  // A body without a token is refused, too.
  const stranger = await curl([...asJson, ...asking, ...raw, `${url}/v1/echo`], '{"input":"x"}');
  expect([stranger.status, stranger.uploaded]).toEqual([401, 0]);
});

test('an acceptable body is sent after 100 Continue', async () => {
  const { url, token } = await serve();
  const body = '{"input":"x"}';
  const run = await curl([...bearer(token), ...asJson, ...asking, ...raw, `${url}/v1/echo`], body);
  expect([run.status, run.uploaded, jsonIn(run)['output']]).toEqual([200, body.length, 'echo heard x']);
});

test('a body of unknown size is read only up to the limit', async () => {
  const { url, token } = await serve();
  const chunked = ['-H', 'transfer-encoding: chunked', '-H', 'expect:'];
  const endless = Buffer.alloc(32 * 1024 * 1024, ' ');
  const run = await curl([...bearer(token), ...asJson, ...chunked, ...raw, `${url}/v1/echo`], endless);
  expect([run.status, jsonIn(run)]).toMatchObject([413, { error: { code: 'request_too_large' } }]);
  // The limit, plus the buffers of both sockets.
  expect(run.uploaded).toBeLessThan(endless.length);
});

test('/health needs no token', async () => {
  const { url } = await serve();
  const run = await curl([`${url}/health`]);
  expect([run.status, jsonIn(run)]).toEqual([200, { status: 'ok' }]);
});
