// Any body becomes a request that can be run, or a client error that names the path.
import { httpStatus } from '#headends/shared';
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, ClientRules } from '#contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCount, parseMessagesRequest } from '../../../src/headends/anthropic/parse-message.ts';

const permissive: ClientRules = { system: true, tools: false, activity: true, compat: false };
const strict: ClientRules = { system: false, tools: false, activity: false, compat: false };

const plain = { model: 'lead', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };

const codeOf = (body: Json | undefined, clients: ClientRules = strict): { code: string; detail: string } | null => {
  try {
    parseMessagesRequest(body, clients);
    return null;
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    return { code: error.code, detail: error.failure.detail ?? '' };
  }
};

// Any JSON, and bodies that are valid except for a few fields.
const anything = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
const mostly = (fit: fc.Arbitrary<Json>, unfit: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.oneof({ weight: 40, arbitrary: fit }, { weight: 1, arbitrary: unfit });
const record = (fields: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<Json> => fc.record(fields);

const anyWords = fc.string({ minLength: 1 });
const textBlock = record({ type: fc.constant('text'), text: anyWords });
const otherBlock = record({ type: fc.constantFrom('thinking', 'image', 'tool_use', 'tool_result', '') });
const texts = fc.oneof(anyWords, fc.array(mostly(textBlock, fc.oneof(otherBlock, anything)), { maxLength: 3 }));
const message = record({
  role: mostly(fc.constantFrom('user', 'assistant'), fc.oneof(fc.constant('system'), anything)),
  content: mostly(texts, anything),
});
const dialog = fc
  .array(mostly(message, anything), { maxLength: 3 })
  .map((before): Json => [...before, { role: 'user', content: 'Hello' }]);
const format = record({
  type: mostly(fc.constant('json_schema'), anything),
  schema: fc.object({ maxDepth: 1, maxKeys: 2 }) as fc.Arbitrary<Json>,
});
const fields = {
  stream: fc.boolean(),
  system: texts,
  thinking: record({ type: fc.constantFrom('enabled', 'disabled', 'adaptive') }),
  tools: fc.constant([]),
  tool_choice: record({ type: fc.constantFrom('auto', 'none', 'any', 'tool') }),
  stop_sequences: fc.array(anyWords, { maxLength: 1 }),
  output_config: record({ format, task_budget: record({ type: fc.constant('tokens'), total: fc.integer() }) }),
  output_format: format,
  temperature: anything,
  metadata: anything,
};
const validBody = fc
  .tuple(dialog, fc.integer({ min: 1 }), fc.record(fields, { requiredKeys: [] }), fc.nat({ max: 3 }))
  .map(([said, most, more, kept]): JsonObject => ({
    model: 'lead',
    max_tokens: most,
    messages: said,
    ...Object.fromEntries(Object.entries(more).slice(0, kept)),
  }));
const names = ['model', 'messages', 'max_tokens', ...Object.keys(fields), 'compaction', 'whatever'];
const invalidBody = fc
  .tuple(validBody, fc.constantFrom(...names), anything)
  .map(([body, name, value]): JsonObject => ({ ...body, [name]: value }));
const body = fc.oneof(validBody, invalidBody, anything);

const isText = (value: unknown): boolean => typeof value === 'string';

const expectValidRequest = (asked: AgentRequest): void => {
  expect(isText(asked.agent) && isText(asked.input) && (asked.input as string).trim() !== '').toBe(true);
  const speakers = (asked.history ?? []).map(({ by }) => by);
  expect((asked.history ?? []).every(({ text }) => text.trim() !== '')).toBe(true);
  expect(speakers.every((by) => by === 'person' || by === 'agent')).toBe(true);
  expect([...(asked.context ?? []), ...(asked.system ?? [])].every(isText)).toBe(true);
  expect(asked.format === undefined || asked.format === 'json').toBe(true);
  expect(asked.format === undefined).toBe(asked.schema === undefined);
};

// invariant: message-body-parsed-or-refused
test.each([
  [
    'a message',
    10_000,
    (value: Json, clients: ClientRules): AgentRequest => parseMessagesRequest(value, clients).request,
  ],
  ['a count', 2000, parseCount],
] as const)('whatever is sent to ask for %s becomes a request, or a mistake of the client', (_, runs, parse) => {
  let asked = 0;
  fc.assert(
    fc.property(body, fc.boolean(), (value, taken) => {
      try {
        expectValidRequest(parse(value, taken ? permissive : strict));
        asked++;
      } catch (error) {
        if (!(error instanceof CloisterError)) throw error;
        expect(httpStatus(error.code)).toBeGreaterThanOrEqual(400);
        expect(httpStatus(error.code)).toBeLessThan(500);
        expect(error.failure.detail).toMatch(/\S/u);
      }
    }),
    { numRuns: runs },
  );
  // Both cases occurred.
  expect(asked).toBeGreaterThan(runs / 10);
  expect(asked).toBeLessThan(runs);
});

test('the last turn is the input, and the turns before it are the history', () => {
  const said = fc.array(fc.tuple(fc.constantFrom('user', 'assistant'), fc.stringMatching(/^[a-z]{1,9}$/u)), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(said, fc.stringMatching(/^[a-z]{1,9}$/u), (before, last) => {
      const messages = [...before, ['user', last]].map(([role = '', text = '']) => ({ role, content: text }));
      const { request } = parseMessagesRequest({ ...plain, messages }, strict);
      const turns = [...(request.history ?? []), { by: 'person', text: request.input as string }];
      // Consecutive turns have different authors, and every word is there, in order.
      expect(turns.every(({ by }, place) => by !== turns[place - 1]?.by)).toBe(true);
      expect(turns.flatMap(({ text }) => text.split('\n\n'))).toEqual(messages.map((one) => one.content));
    }),
  );
});

test('thinking blocks of an earlier answer are left out of the history', () => {
  const thought = { type: 'thinking', thinking: 'researcher is asked', signature: '' };
  const messages = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    },
    {
      role: 'assistant',
      content: [thought, { type: 'text', text: 'Wait.' }, thought, { type: 'text', text: '\n\nHere.' }],
    },
    { role: 'user', content: 'three' },
  ];
  expect(parseMessagesRequest({ ...plain, messages }, strict).request).toEqual({
    agent: 'lead',
    input: 'three',
    history: [
      { by: 'person', text: 'one\n\ntwo' },
      { by: 'agent', text: 'Wait.\n\nHere.' },
    ],
  });
});

// invariant: client-system-after-own
test('a system prompt is refused, or passed on as system text if the operator allows it', () => {
  const blocks = [
    { type: 'text', text: 'Be brief.' },
    { type: 'text', text: 'Today is Monday.', cache_control: { type: 'ephemeral' } },
  ];
  const inDialog = [{ role: 'system', content: 'And now.' }, ...plain.messages];
  for (const [system, messages, path] of [
    ['Be brief.', plain.messages, 'system'],
    [blocks, plain.messages, 'system'],
    [undefined, inDialog, 'messages[0].content'],
  ] as const) {
    const sent = { ...plain, messages, ...(system === undefined ? {} : { system }) } as unknown as Json;
    expect(codeOf(sent)).toMatchObject({
      code: 'request_unsupported',
      detail: expect.stringContaining(
        `${path}: client system prompts are not allowed here; the agent has its own. The operator can allow it with --allow-system.`,
      ) as string,
    });
  }
  const { request } = parseMessagesRequest({ ...plain, system: blocks, messages: inDialog }, permissive);
  expect(request).toEqual({ agent: 'lead', input: 'Hello', system: ['Be brief.', 'Today is Monday.', 'And now.'] });
  // A blank system prompt has no effect.
  expect(codeOf({ ...plain, system: '' })).toBeNull();
});

const schema: JsonObject = { type: 'object', properties: { n: { type: 'integer' } } };

test.each([
  ['output_config', { output_config: { format: { type: 'json_schema', schema }, effort: 'low' } }],
  ['output_format', { output_format: { type: 'json_schema', schema } }],
])('a schema in %s requests JSON', (_, sent) => {
  expect(parseMessagesRequest({ ...plain, ...sent }, strict).request).toMatchObject({ format: 'json', schema });
});

test('task_budget becomes the budget of the run', () => {
  const asked = (task_budget: JsonObject): AgentRequest =>
    parseMessagesRequest({ ...plain, output_config: { task_budget } }, strict).request;
  expect(asked({ type: 'tokens', total: 5000 }).budget).toEqual({ tokens: 5000 });
  expect(asked({ type: 'tokens', total: 5000, remaining: 400 }).budget).toEqual({ tokens: 400 });
});

test('activity is shown if the operator shows it and the client has not disabled thinking', () => {
  const shown = (clients: ClientRules, thinking: Json): boolean =>
    parseMessagesRequest({ ...plain, thinking }, clients).activity;
  expect(shown(strict, { type: 'enabled', budget_tokens: 1024 })).toBe(false);
  expect(shown(permissive, { type: 'enabled', budget_tokens: 1024 })).toBe(true);
  expect(shown(permissive, null)).toBe(true);
  expect(shown(permissive, { type: 'disabled' })).toBe(false);
  expect(shown(permissive, { type: 'adaptive', display: 'omitted' })).toBe(false);
});

// invariant: max-tokens-has-no-effect
test('harmless fields are accepted, and so are empty arrays for refused fields', () => {
  const sent = {
    ...plain,
    temperature: 0.2,
    top_p: 1,
    top_k: 5,
    metadata: { user_id: 'u' },
    service_tier: 'auto',
    cache_control: { type: 'ephemeral' },
    tools: [],
    tool_choice: { type: 'auto' },
    stop_sequences: [],
    mcp_servers: [],
    container: null,
    system: null,
    output_config: null,
  };
  expect(parseMessagesRequest(sent, strict).request).toEqual({ agent: 'lead', input: 'Hello' });
});

const image = (source: JsonObject): JsonObject => ({ type: 'image', source });

test.each([
  ['tools', { tools: [{ name: 'x', input_schema: {} }] }, 'request_unsupported', 'tools:'],
  ['a forced tool', { tool_choice: { type: 'any' } }, 'request_unsupported', 'tool_choice.type:'],
  ['stop sequences', { stop_sequences: ['END'] }, 'request_unsupported', 'stop_sequences:'],
  ['MCP servers', { mcp_servers: [{ url: 'https://x' }] }, 'request_unsupported', 'mcp_servers:'],
  ['a thread that goes on', { thread: { type: 'continue', id: 't' } }, 'request_unsupported', 'thread:'],
  ['a field that nobody knows', { tempreature: 1 }, 'request_invalid', 'tempreature:'],
  [
    'an image at an address',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, image({ type: 'url', url: 'https://x' })] }] },
    'request_unsupported',
    'messages[0].content[1].source.type:',
  ],
  [
    'a result of a tool',
    { messages: [{ role: 'user', content: [{ type: 'tool_result' }] }] },
    'request_unsupported',
    'messages[0].content[0].type:',
  ],
  [
    'a thought of a person',
    { messages: [{ role: 'user', content: [{ type: 'thinking', thinking: 'x' }] }] },
    'request_unsupported',
    'messages[0].content[0].type:',
  ],
  [
    'an answer that was begun',
    {
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'The' },
      ],
    },
    'request_unsupported',
    'messages:',
  ],
  ['no messages', { messages: [] }, 'request_invalid', 'messages:'],
  ['an empty message', { messages: [{ role: 'user', content: ' ' }] }, 'request_invalid', 'messages:'],
  ['a role of its own', { messages: [{ role: 'tool', content: 'x' }] }, 'request_invalid', 'messages[0].role:'],
  ['no role', { messages: [{ content: 'x' }] }, 'request_invalid', 'messages[0].role:'],
  ['no model', { model: null }, 'request_invalid', 'model:'],
  ['no bound', { max_tokens: null }, 'request_invalid', 'max_tokens:'],
  ['a bound of none', { max_tokens: 0 }, 'request_invalid', 'max_tokens:'],
  ['a bound of a half', { max_tokens: 1.5 }, 'request_invalid', 'max_tokens:'],
  [
    'two formats',
    { output_format: { type: 'json_schema', schema }, output_config: { format: { type: 'json_schema', schema } } },
    'request_invalid',
    'output_format:',
  ],
  [
    'a format without a schema',
    { output_config: { format: { type: 'json_schema' } } },
    'request_invalid',
    'output_config.format.schema:',
  ],
  ['a format of no type', { output_config: { format: { schema } } }, 'request_invalid', 'output_config.format.type:'],
  [
    'a budget of none',
    { output_config: { task_budget: { type: 'tokens', total: 0 } } },
    'request_invalid',
    'output_config.task_budget.total:',
  ],
  ['a stream of words', { stream: 'yes' }, 'request_invalid', 'stream:'],
] as const)('%s: the mistake is told by its path', (_, sent, code, path) => {
  const told = codeOf({ ...plain, ...sent });
  expect(told?.code).toBe(code);
  expect(told?.detail.startsWith(path)).toBe(true);
  expect(told?.detail.includes('--allow-')).toBe(path === 'tools:');
});

test('a body that is not an object is invalid', () => {
  for (const value of [undefined, null, [], 'x', 1]) expect(codeOf(value)?.code).toBe('request_invalid');
});
