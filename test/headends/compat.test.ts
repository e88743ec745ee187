// What is ignored with `--compat`, what is ignored anyway, and what stays refused.
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#base';
import { serveAgents } from './http/driver.ts';

const functionTool = { type: 'function', name: 'pay', parameters: { type: 'object' } };
const hosted = [{ type: 'web_search' }, { type: 'namespace', name: 'crm', tools: [functionTool] }];

const protocols = {
  chat: { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Where?' }] } },
  responses: { path: '/v1/responses', body: { input: 'Where?' } },
  messages: { path: '/v1/messages', body: { max_tokens: 99, messages: [{ role: 'user', content: 'Where?' }] } },
} as const;

type Protocol = keyof typeof protocols;

const guide = () =>
  defineAgent({ name: 'guide', description: 'd', prompt: 'p', models: [rehearse([{ reply: 'Here.' }])] });

const post = async (protocol: Protocol, more: JsonObject, clients: JsonObject) => {
  const { url, token } = await serveAgents({
    agents: [guide()],
    clients,
  });
  const { path, body } = protocols[protocol];
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'guide', ...body, ...more }),
  });
  return { status: response.status, ignored: response.headers.get('x-cloister-ignored'), text: await response.text() };
};

const ignoredCases: readonly (readonly [Protocol, JsonObject, string])[] = [
  ['chat', { stop: ['END'] }, 'stop'],
  ['chat', { logit_bias: { 50256: -100 } }, 'logit_bias'],
  ['chat', { logprobs: true, top_logprobs: 3, stream: true }, 'logprobs, top_logprobs'],
  ['chat', { web_search_options: { search_context_size: 'low' } }, 'web_search_options'],
  ['chat', { web_search_options: {} }, 'web_search_options'],
  ['responses', { tools: hosted }, 'tools[0] web_search, tools[1] namespace'],
  ['responses', { tools: hosted, stream: true }, 'tools[0] web_search, tools[1] namespace'],
  ['messages', { stop_sequences: ['END'] }, 'stop_sequences'],
  ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0] web_search_20250305'],
  ['messages', { mcp_servers: [{ url: 'https://x' }], stream: true }, 'mcp_servers'],
];

// invariant: ignored-is-named
describe('what compat ignores', () => {
  test.each(ignoredCases)('%s %j is ignored with compat and named in a header', async (protocol, more, named) => {
    const { status, ignored, text } = await post(protocol, more, { compat: true });
    expect([status, ignored]).toEqual([200, named]);
    expect(text).toContain('Here.');
  });

  test.each(ignoredCases)('%s %j is refused without it, by the name of its field', async (protocol, more, named) => {
    const { status, ignored, text } = await post(protocol, more, { tools: true });
    expect([status, ignored]).toEqual([400, null]);
    expect(text).toContain(named.split(/[, ]/u)[0]);
    expect(text).toContain('--compat');
  });

  test('a field that nobody knows is named with plain characters only', async () => {
    const { ignored } = await post('messages', { 'a\r\nb: ü': 1, ['c'.repeat(99)]: 1 }, { compat: true });
    expect(ignored).toBe(`a__b_ _, ${'c'.repeat(60)}`);
  });
});

test.each([
  ['chat', { n: 1, logit_bias: {}, stop: [], store: true, prediction: { type: 'content', content: 'x' } }],
  ['responses', { store: true, tools: [], tool_choice: 'auto' }],
  ['messages', { thread: { type: 'create' }, stop_sequences: [], mcp_servers: [] }],
] as const)('%s %j is ignored anyway', async (protocol, more) => {
  for (const compat of [false, true]) {
    const { status, ignored } = await post(protocol, more, { compat });
    expect([status, ignored]).toEqual([200, null]);
  }
});

const anthropicTool = (name: string) => ({ name, input_schema: { type: 'object' } });

test.each([
  ['chat', { n: 2 }, 'n:'],
  ['chat', { modalities: ['audio'] }, 'modalities:'],
  ['responses', { background: true }, 'background:'],
  ['responses', { conversation: 'conv_1' }, 'conversation:'],
  ['responses', { tools: [functionTool, { ...functionTool, name: 'get' }], tool_choice: 'required' }, 'tool_choice:'],
  ['messages', { tools: [anthropicTool('a'), anthropicTool('b')], tool_choice: { type: 'any' } }, 'tool_choice.type:'],
  ['messages', { thread: { type: 'continue', id: 't' } }, 'thread:'],
  [
    'messages',
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'I' },
      ],
    },
    'messages:',
  ],
] as const)('%s %j stays refused with compat, by the name of its field', async (protocol, more, named) => {
  const { status, text } = await post(protocol, more, { compat: true, tools: true });
  expect(status).toBe(400);
  expect(text).toContain(named);
});

// invariant: ignored-asks-for-no-call
test('a thread that continues is refused with the code that makes Anthropic’s client send the whole dialog', async () => {
  const { text } = await post('messages', { thread: { type: 'continue', previous_message_id: 'msg_1' } }, {});
  expect(JSON.parse(text)).toMatchObject({ error: { details: { error_code: 'thread_not_found' } } });
});

test.each([
  ['chat', { tools: [{ type: 'web_search' }] }],
  ['responses', { tools: hosted }],
  ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
] as const)(
  '%s: a hosted tool is refused with the option that helps, whatever else is allowed',
  async (protocol, body) => {
    for (const clients of [{}, { tools: true }]) {
      const { status, text } = await post(protocol, body, clients);
      expect(status).toBe(400);
      expect(text).toContain('--compat');
      expect(text).not.toContain('--allow-tools');
    }
    expect((await post(protocol, body, { compat: true })).status).toBe(200);
  },
);

test.each([
  ['responses', { tools: [...hosted, functionTool] }],
  [
    'messages',
    {
      tools: [
        { type: 'bash_1', name: 'bash' },
        { name: 'pay', input_schema: { type: 'object' } },
      ],
    },
  ],
] as const)('%s: with other tools beside it, both options are named', async (protocol, body) => {
  const { text } = await post(protocol, body, {});
  expect(text).toContain('--compat');
  expect(text).toContain('--allow-tools');
  expect((await post(protocol, body, { tools: true })).text).not.toContain('--allow-tools');
});

test('an error that says what to send instead does not end with the opposite', async () => {
  const image = { type: 'input_image', image_url: 'https://x.example/a.png' };
  const { text } = await post('responses', { input: [{ role: 'user', content: [image] }] }, {});
  expect((JSON.parse(text) as { error: { message: string } }).error.message).toMatch(
    /Send the bytes as a data: URL in base64\. Do what the message says, or leave out what it names\.$/u,
  );
});

test('a function among hosted tools still needs a permission', async () => {
  const tools = [...hosted, functionTool];
  const refused = await post('responses', { tools }, { compat: true });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('--allow-tools');
  const taken = await post('responses', { tools }, { compat: true, tools: true });
  expect([taken.status, taken.ignored]).toEqual([200, 'tools[0] web_search, tools[1] namespace']);
});

test.each(['/v1/embeddings', '/v1/completions', '/v1/moderations', '/v1/images/generations', '/v1/audio/speech'])(
  '%s says what it is, in the format of OpenAI',
  async (path) => {
    const { url, token } = await serveAgents({ agents: [guide()] });
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"model":"guide","input":"x"}',
    });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: JsonObject };
    expect(error).toMatchObject({ type: 'invalid_request_error', code: 'request_unsupported', param: null });
    expect(error['message']).toContain(`${path}: `);
  },
);
