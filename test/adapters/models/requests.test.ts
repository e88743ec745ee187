// What is sent besides the conversation: keys, headers and cache markers, and nothing that relies on state kept by the server.
import { createServer } from 'node:http';
import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { connectModel } from '#adapters/models';
import { thinkingTokens } from '#core/rules';
import { thinkingShares } from '#testing/adapters/models';
import type { JsonObject } from '#base';
import type { ResolvedProvider } from '#contracts';
import { ask, callOf, continued } from '../../conformance/model.ts';
import type { Answer } from '../../conformance/model.ts';
import { listen, openModel, providers, resolved } from './peer.ts';
import type { Provider } from './peer.ts';
import { eventsFor } from './wire.ts';

const budgetOf = (tokens: number) => ({ type: 'enabled', budget_tokens: tokens });
const gemini = (maxOutputTokens: number, thinkingConfig: object) => ({
  generationConfig: { maxOutputTokens, thinkingConfig },
});

const all = Object.entries(providers as Record<string, Provider>);

type Sent = { readonly url: string; readonly headers: Headers; readonly body: JsonObject };

/** Sends a request, then another with the reply, without a network. */
const sentBy = async (
  provider: Provider,
  more: Partial<ResolvedProvider> = {},
  options: Pick<NonNullable<Parameters<typeof connectModel>[2]>, 'caching'> = {},
  call: Parameters<typeof ask>[1] = {},
): Promise<Sent[]> => {
  const sent: Sent[] = [];
  const answers: Exclude<Answer, 'unreachable'>[] = [{ text: 'First.' }, { text: 'Second.' }];
  const spy: typeof fetch = async (to, init) => {
    const answer = answers[sent.length]!;
    sent.push({
      url: to as string,
      headers: new Headers(init?.headers),
      body: JSON.parse(init?.body as string) as JsonObject,
    });
    return new Response(eventsFor(provider.format, answer).join(''), {
      headers: { 'content-type': 'text/event-stream' },
    });
  };
  const model = connectModel(resolved(provider, 'http://host.invalid', more), provider.modelId, {
    ...options,
    fetch: spy,
  });
  await ask(model, { ...call, ...continued(await ask(model, call)) });
  return sent;
};

test.each(all)('%s: two system messages both arrive, in one where servers may take only one', async (_, provider) => {
  const prompt: LanguageModelV4Prompt = [
    { role: 'system', content: 'OWN.' },
    { role: 'system', content: 'SHARED.' },
    { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
  ];
  const [sent] = await sentBy(provider, {}, {}, { prompt });
  const text = JSON.stringify(sent!.body);
  expect(text.indexOf('OWN.')).toBeGreaterThan(0);
  expect(text.indexOf('SHARED.')).toBeGreaterThan(text.indexOf('OWN.'));
  if (['ollama', 'openrouter', 'openai-compatible'].includes(provider.type))
    expect((sent!.body['messages'] as JsonObject[])[0]).toEqual({ role: 'system', content: 'OWN.\n\nSHARED.' });
});

const keyHeaders = ['authorization', 'x-api-key', 'x-goog-api-key'];

const keyIn = ({ headers }: Sent): string[] =>
  keyHeaders.flatMap((name) => (headers.has(name) ? [`${name}: ${headers.get(name)}`] : []));

test.each(all)('%s: the key is sent in one header, and without a key there is none', async (_, provider) => {
  const name = { anthropic: 'x-api-key: ', google: 'x-goog-api-key: ' }[provider.type as string];
  for (const sent of await sentBy(provider, { apiKey: 'sk-mine' }))
    expect(keyIn(sent)).toEqual([`${name ?? 'authorization: Bearer '}sk-mine`]);
  for (const sent of await sentBy(provider, { apiKey: '' })) expect(keyIn(sent)).toEqual([]);
});

test.each(all)('%s: configured headers are sent and take precedence, whatever their case', async (_, provider) => {
  const headers = { 'X-Team': 'blue', AUTHORIZATION: 'Bearer other', 'X-Api-Key': 'other', 'x-Goog-API-key': 'other' };
  for (const sent of await sentBy(provider, { apiKey: 'sk-mine', headers })) {
    expect(sent.headers.get('x-team')).toBe('blue');
    expect(keyIn(sent)).toEqual(['authorization: Bearer other', 'x-api-key: other', 'x-goog-api-key: other']);
  }
});

test.each(all)('%s: a trailing slash in the base URL makes no difference', async (_, provider) => {
  const [plain, slashed] = [
    await sentBy(provider),
    await sentBy(provider, { baseUrl: `http://host.invalid${provider.path}/` }),
  ];
  expect(slashed.map(({ url }) => url)).toEqual(plain.map(({ url }) => url));
  expect(plain[0]!.url).toContain(`http://host.invalid${provider.path}/`);
});

// invariant: model-own-vendor-object
test.each(all)(
  '%s: two models with different keys, asked in parallel, each send their own key',
  async (_, provider) => {
    const keys = ['key-one', 'key-two'];
    const { promise: bothSent, resolve } = Promise.withResolvers<void>();
    const seen: string[] = [];
    const sentWith = async (apiKey: string): Promise<string> => {
      let own = '';
      const spy: typeof fetch = async (_to, init) => {
        own = JSON.stringify([...new Headers(init?.headers)]);
        if (seen.push(own) === keys.length) resolve();
        await bothSent;
        return new Response(eventsFor(provider.format, { text: 'Both.' }).join(''));
      };
      await ask(connectModel(resolved(provider, 'http://host.invalid', { apiKey }), provider.modelId, { fetch: spy }));
      return own;
    };
    const [one, two] = await Promise.all(keys.map(sentWith));
    expect([one!.includes('key-one'), one!.includes('key-two')]).toEqual([true, false]);
    expect([two!.includes('key-one'), two!.includes('key-two')]).toEqual([false, true]);
  },
);

// invariant: model-vendor-stores-nothing
test.each(all)('%s: no request refers to an earlier one, whatever the call asks for', async (_, provider) => {
  const providerOptions = {
    openai: { store: true, previousResponseId: 'resp_0', conversation: 'conv_0' },
    anthropic: { thread: { type: 'continue', previousMessageId: 'msg_0' }, container: { id: 'container_0' } },
    google: { cachedContent: 'cachedContents/0', continuationToken: 'token_0' },
  };
  const sent = await sentBy(provider, {}, {}, { providerOptions });
  for (const { body } of sent) {
    const text = JSON.stringify(body);
    for (const reference of [
      'resp_0',
      'conv_0',
      'msg_0',
      'container_0',
      'cachedContents/0',
      'token_0',
      'item_reference',
    ])
      expect(text).not.toContain(reference);
    expect(text).toContain('Compare SQLite and DuckDB');
    expect(body['store']).toBe(provider.type === 'openai' ? false : undefined);
  }
  expect(JSON.stringify(sent[1]!.body)).toContain('First.');
});

test('OpenAI is asked for encrypted reasoning, for models that reason', async () => {
  const provider = providers['OpenAI responses'];
  const [reasoning] = await sentBy(provider);
  const [plain] = await sentBy({ ...provider, modelId: 'gpt-4.1' });
  expect(reasoning!.body['include']).toEqual(['reasoning.encrypted_content']);
  expect(plain!.body['include']).toBeUndefined();
});

// invariant: thinking-within-reply
test.for<[name: keyof typeof providers, modelId: string, level: 'low' | 'high' | 'max', most: number, sent: object]>([
  // Anthropic's older models: the tokens for thinking are part of `max_tokens`, and at least 1,024.
  ['Anthropic', 'claude-sonnet-4-5', 'high', 24_576, { max_tokens: 24_576, thinking: budgetOf(16_384) }],
  ['Anthropic', 'claude-sonnet-4-5', 'low', 1_500, { max_tokens: 1_500, thinking: budgetOf(1_024) }],
  ['Anthropic', 'claude-sonnet-4-5', 'max', 1_250, { max_tokens: 1_250, thinking: { type: 'disabled' } }],
  ['Anthropic', 'claude-opus-4-8', 'high', 5_000, { max_tokens: 5_000, thinking: { type: 'adaptive' } }],
  ['Google', 'gemini-2.5-flash', 'high', 3_000, gemini(3_000, { thinkingBudget: 2_000 })],
  ['Google', 'gemini-2.5-flash', 'max', 50_000, gemini(50_000, { thinkingBudget: 24_576 })],
  ['Google', 'gemini-3-flash-preview', 'high', 3_000, gemini(3_000, { thinkingLevel: 'high' })],
  ['OpenAI responses', 'gpt-5', 'high', 5_000, { max_output_tokens: 5_000, reasoning: { effort: 'high' } }],
  ['OpenAI chat', 'gpt-5', 'high', 5_000, { max_completion_tokens: 5_000, reasoning_effort: 'high' }],
  ['OpenRouter', 'anthropic/claude-sonnet-4.5', 'high', 5_000, { max_tokens: 5_000, reasoning_effort: 'high' }],
])(
  'thinking is part of the longest reply that a request allows: %s %s, %s of %i',
  async ([name, modelId, level, maxOutputTokens, expected]) => {
    const [sent] = await sentBy({ ...providers[name], modelId }, {}, {}, { reasoning: level, maxOutputTokens });
    expect(sent!.body).toMatchObject(expected);
  },
);

test('the shares of thinking are those that the runtime makes room for', () => {
  for (const [level, share] of Object.entries(thinkingShares)) {
    const tokens = thinkingTokens[level as keyof typeof thinkingShares];
    expect(share).toBeCloseTo(tokens / (tokens + 8_192), 10);
  }
});

test.each(['chat', 'openrouter'] as const)('streamed chat completions (%s) request usage', async (format) => {
  for (const [, provider] of all.filter(([, one]) => one.format === format))
    for (const { body } of await sentBy(provider)) expect(body['stream_options']).toEqual({ include_usage: true });
});

const closed = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;
const open = { type: 'object', properties: { city: { type: 'string', minLength: 1 } } } as const;

/** The part of a request that holds the schema of the answer, if any. */
const sentFormat = async (provider: Provider, schema: JsonObject, tools: boolean): Promise<unknown> => {
  const responseFormat = { type: 'json' as const, name: 'answer', schema };
  const [{ body }] = (await sentBy(provider, {}, {}, tools ? { responseFormat } : { responseFormat, tools: [] })) as [
    Sent,
  ];
  const { text, response_format: format, output_config: config, generationConfig } = body as Record<string, any>;
  expect(body['tool_choice'] ?? body['toolConfig']).not.toEqual('required');
  return text?.format ?? format ?? config?.format ?? generationConfig?.responseJsonSchema;
};

test.each([
  ['OpenAI responses', { strict: true, schema: closed }, { strict: false, schema: open }],
  ['OpenAI chat', { json_schema: { strict: true, schema: closed } }, { json_schema: { strict: false, schema: open } }],
  ['OpenRouter', { json_schema: { schema: closed } }, { json_schema: { schema: open } }],
] as const)('%s is sent the schema of an answer, enforced if it can be', async (name, forClosed, forOpen) => {
  for (const tools of [false, true]) {
    expect(await sentFormat(providers[name], closed, tools)).toMatchObject(forClosed);
    expect(await sentFormat(providers[name], open, tools)).toMatchObject(forOpen);
  }
});

test('Anthropic is sent a schema that it can enforce, beside the tools, and no other', async () => {
  for (const tools of [false, true]) {
    expect(await sentFormat(providers.Anthropic, closed, tools)).toMatchObject({ type: 'json_schema', schema: closed });
    expect(await sentFormat(providers.Anthropic, open, tools)).toBeUndefined();
  }
  const [sent] = await sentBy(providers.Anthropic, {}, {}, { responseFormat: { type: 'json', schema: open } });
  // The package would otherwise add a tool of its own and force the model to call one in every turn.
  expect(sent!.body['tool_choice']).not.toMatchObject({ type: 'any' });
});

test.each(['Google', 'Ollama', 'OpenAI-compatible'] as const)(
  '%s is sent the schema of an answer only without tools, which the model could not call any more',
  async (name) => {
    expect(JSON.stringify(await sentFormat(providers[name], open, false))).toContain('city');
    expect(await sentFormat(providers[name], open, true)).toBeUndefined();
  },
);

test('Gemini 3 is sent the schema of an answer beside the tools', async () => {
  const model = { ...providers.Google, modelId: 'gemini-3.6-flash' };
  expect(await sentFormat(model, open, true)).toMatchObject({ type: 'object' });
});

const marks = (body: JsonObject): string[] =>
  JSON.stringify(body, (key, value: unknown) =>
    key === 'cache_control' ? `MARK ${JSON.stringify(value)}` : value,
  ).match(/"cache_control":"MARK [^}]*\}"/gu) ?? [];

const unmarked = (body: JsonObject): unknown =>
  JSON.parse(JSON.stringify(body, (key, value: unknown) => (key === 'cache_control' ? undefined : value)));

test('caching marks Anthropic prompts after the system prompt and at the end, and changes nothing else', async () => {
  const [full, none] = [
    await sentBy(providers.Anthropic, {}, { caching: 'full' }),
    await sentBy(providers.Anthropic, {}, { caching: 'none' }),
  ];
  expect(full.map(({ body }) => unmarked(body))).toEqual(none.map(({ body }) => body));
  for (const [at, { body }] of full.entries()) {
    expect(marks(none[at]!.body)).toEqual([]);
    expect(marks(body)).toHaveLength(2);
    const mark = { type: 'ephemeral' };
    expect((body['system'] as JsonObject[]).at(-1)!['cache_control']).toEqual(mark);
    const messages = body['messages'] as unknown as { content: JsonObject[] }[];
    expect(messages.at(-1)!.content.at(-1)!['cache_control']).toEqual(mark);
  }
});

test.each(all.filter(([name]) => name !== 'Anthropic'))('%s: caching makes no difference', async (_, provider) => {
  const [full, none] = [await sentBy(provider, {}, { caching: 'full' }), await sentBy(provider)];
  expect(full.map(({ body }) => body)).toEqual(none.map(({ body }) => body));
});

// invariant: model-key-only-to-its-url
test.each(all)('%s: a redirect is refused, so that no key is sent elsewhere', async (_, provider) => {
  const requests: string[] = [];
  const elsewhere = createServer((request, response) => {
    requests.push(request.url!);
    response.end();
  });
  const target = await listen(elsewhere);
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(307, { location: target }).end();
  });
  const model = connectModel(resolved(provider, await listen(server)), provider.modelId);
  await expect(ask(model)).rejects.toMatchObject({ message: expect.stringContaining('redirect') as string });
  expect(requests).toEqual([]);
  server.close();
  elsewhere.close();
});

test.each(
  all
    .filter(([, { format }]) => format === 'chat' || format === 'openrouter')
    .filter(([, { type }]) => type !== 'openai'),
)('%s: a failure in mid-stream keeps its status', async (_, provider) => {
  const frames = [
    ...eventsFor(provider.format, { text: 'Half an', end: 'early' }),
    'data: {"error":{"message":"Upstream is overloaded","code":503}}\n\n',
  ];
  const spy: typeof fetch = async () => new Response(frames.join(''));
  const model = connectModel(resolved(provider, 'http://host.invalid'), provider.modelId, { fetch: spy });
  await expect(ask(model)).rejects.toMatchObject({ message: 'Upstream is overloaded', statusCode: 503 });
});

test('Google’s retry delay is moved to where other providers report it', async () => {
  const error = {
    error: {
      code: 429,
      message: 'You exceeded your current quota.',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }],
    },
  };
  const spy: typeof fetch = async () => Response.json(error, { status: 429 });
  const model = connectModel(resolved(providers.Google, 'http://host.invalid'), 'gemini-2.5-flash', { fetch: spy });
  const refused = { statusCode: 429, responseHeaders: { 'retry-after': '34.5' } };
  await expect(ask(model)).rejects.toMatchObject(refused);
  await expect(model.doGenerate(callOf())).rejects.toMatchObject(refused);
});

test('OpenRouter’s reasoning details are returned in one piece, and only once', async () => {
  const { model, bodies, close } = await openModel(providers.OpenRouter, [
    { reasoning: 'Think first, then look it up.', text: 'So.' },
    { text: 'Done.' },
  ]);
  const parts: LanguageModelV4StreamPart[] = await ask(model);
  await ask(model, continued(parts));
  await close();
  expect(parts.some(({ type }) => type === 'raw')).toBe(false);
  const { messages } = JSON.parse(bodies[1]!) as { messages: JsonObject[] };
  expect(messages.find(({ role }) => role === 'assistant')).toEqual({
    role: 'assistant',
    content: 'So.',
    reasoning_details: [
      {
        type: 'reasoning.text',
        format: 'anthropic-claude-v1',
        index: 0,
        text: 'Think first, then look it up.',
        signature: 'c2lnbmVkLWJ5LWFudGhyb3BpYw==',
      },
      { type: 'reasoning.encrypted', data: 'ZW5jcnlwdGVkLWJ5LWdvb2dsZQ==', id: 'rs_encrypted', index: 1 },
    ],
  });
});

test('a model is identified by the operator’s name for its provider', () => {
  const model = connectModel(resolved(providers.Ollama, 'http://host.invalid', { name: 'my-azure' }), 'qwen3:8b');
  expect([model.provider, model.modelId, model.specificationVersion]).toEqual(['my-azure', 'qwen3:8b', 'v4']);
});

test.each<[string, Partial<ResolvedProvider>, string, string]>([
  ['an invalid base URL', { baseUrl: 'localhost' }, 'm', 'providers.openai.baseUrl must be a URL'],
  ['an empty base URL', { baseUrl: '' }, 'm', 'providers.openai.baseUrl must be a URL'],
  ['another protocol', { baseUrl: 'file:///etc/passwd' }, 'm', 'http:// or https://'],
  [
    'a password in the base URL',
    { baseUrl: 'https://me:secret@host/v1' },
    'm',
    'must not contain a user name or password',
  ],
  [
    'a query in the base URL',
    { baseUrl: 'https://host/v1?key=secret' },
    'm',
    'must not contain a query (?) or a fragment (#)',
  ],
  ['a key with a line break', { apiKey: 'secret\nsecret' }, 'm', 'providers.openai.apiKey contains a line break'],
  ['a key in another script', { apiKey: 'секрет' }, 'm', 'providers.openai.apiKey'],
  ['a header with a line break', { headers: { 'x-a': 'secret\r\nx-b: 1' } }, 'm', 'an invalid HTTP header: x-a'],
  ['a header without a proper name', { headers: { 'x a': '1' } }, 'm', 'an invalid HTTP header: x a'],
  ['no model', {}, ' ', 'openai/<model>'],
  ['a Google model that leads elsewhere', { type: 'google' }, '../files', 'not a valid Google model name'],
  ['a Google model with a query', { type: 'google' }, 'gemini?x=', 'not a valid Google model name'],
])('%s is refused before anything is sent, without showing values', (_, more, modelId, words) => {
  const connect = () => connectModel(resolved(providers['OpenAI chat'], 'https://host.invalid', more), modelId);
  expect(connect).toThrow(words);
  expect(connect).not.toThrow(/secret|секрет/u);
});
