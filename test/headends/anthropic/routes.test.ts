// What the routes answer, whatever becomes of a run.
import { clientError, httpStatus } from '#headends/shared';
import { CloisterError, errorCatalogue } from '#base';
import type { ErrorCode, Json, JsonObject } from '#base';
import type { AnswerPiece, Status } from '#contracts';
import { Validator } from '@seriousme/openapi-schema-validator';
import { defineAgent } from 'cloister';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anthropicError } from '../../../src/headends/anthropic/index.ts';
import { lead, now, pretend, spent } from './pretend.ts';

const sent = { model: 'lead', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };

const usage = { input_tokens: 40, cache_creation_input_tokens: 10, cache_read_input_tokens: 20, output_tokens: 9 };

test('an answer is a message with the usage of the whole tree', async () => {
  const { body, begun } = pretend();
  expect(await body('POST /v1/messages', { body: sent })).toMatchObject({
    id: 'msg_r1',
    type: 'message',
    role: 'assistant',
    model: 'lead',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
  });
  expect(begun).toEqual([{ agent: 'lead', input: 'Hello' }]);
  expect(usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens).toBe(
    spent.inputTokens,
  );
});

const pieces = fc.array(fc.record({ type: fc.constantFrom('text' as const, 'activity' as const), text: fc.string() }), {
  maxLength: 12,
});

/** Blocks as a client puts them together; throws when an event is out of order. */
const blocksOf = (events: readonly JsonObject[]): { type: string; text: string }[] => {
  const blocks: { type: string; text: string }[] = [];
  let open = false;
  for (const event of events) {
    const { type, index } = event;
    if (type === 'content_block_start') {
      expect([open, index]).toEqual([false, blocks.length]);
      blocks.push({ type: (event['content_block'] as JsonObject)['type'] as string, text: '' });
      open = true;
    } else if (type === 'content_block_delta') {
      expect([open, index]).toEqual([true, blocks.length - 1]);
      const delta = event['delta'] as JsonObject;
      const last = blocks.at(-1)!;
      expect(delta['type']).toBe(`${last.type}_delta`);
      last.text += delta[last.type] as string;
    } else {
      expect([type, open, index]).toEqual(['content_block_stop', true, blocks.length - 1]);
      open = false;
    }
  }
  expect(open).toBe(false);
  return blocks;
};

test('whatever comes in whatever order, blocks are whole and hold all of it, and activity only where it is shown', () =>
  fc.assert(
    fc.asyncProperty(pieces, fc.boolean(), async (come, activity) => {
      const { stream } = pretend({ pieces: come, clients: { activity }, outcome: { output: 'whole' } });
      const events = await stream(sent);
      const types = events.map(({ type }) => type);
      expect([types[0], ...types.slice(-2)]).toEqual(['message_start', 'message_delta', 'message_stop']);
      const blocks = blocksOf(events.slice(1, -2));
      const kept = come.filter(({ type, text }) => text !== '' && (activity || type === 'text'));
      expect(blocks).toEqual(gathered(kept));
    }),
    { numRuns: 500 },
  ));

/** Neighbours of one type are one block. */
const gathered = (kept: readonly AnswerPiece[]): { type: string; text: string }[] => {
  const blocks: { type: string; text: string }[] = [];
  for (const piece of kept) {
    const type = piece.type === 'text' ? 'text' : 'thinking';
    const last = blocks.at(-1);
    if (last?.type === type) last.text += piece.text;
    else blocks.push({ type, text: piece.text });
  }
  return blocks;
};

test('a stream starts with nothing used and ends with what was used', async () => {
  const events = await pretend().stream(sent);
  expect(events[0]).toMatchObject({
    message: { id: 'msg_r1', content: [], stop_reason: null, usage: { input_tokens: 0, output_tokens: 0 } },
  });
  expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'end_turn', stop_sequence: null }, usage });
});

test('what others did meanwhile is a thought before the answer, where it is shown', async () => {
  const come: AnswerPiece[] = [
    { type: 'activity', text: 'one\n' },
    { type: 'activity', text: 'two\n' },
    { type: 'text', text: 'Hi' },
  ];
  const text = { type: 'text', text: 'Hi', citations: null };
  const shown = pretend({ pieces: come, clients: { activity: true } });
  expect((await shown.body('POST /v1/messages', { body: sent }))['content']).toEqual([
    { type: 'thinking', thinking: 'one\ntwo\n', signature: '' },
    text,
  ]);
  const unwanted = { ...sent, thinking: { type: 'disabled' } };
  expect((await shown.body('POST /v1/messages', { body: unwanted }))['content']).toEqual([text]);
  const hidden = pretend({ pieces: come });
  expect((await hidden.body('POST /v1/messages', { body: sent }))['content']).toEqual([text]);
});

const secret = 'words of another cell';

test.each([
  ['completed', 'end_turn'],
  ['partial', 'max_tokens'],
  ['limit', 'max_tokens'],
  ['budget', 'max_tokens'],
  ['timeout', 'max_tokens'],
] as const)('an answer of a run that is %s ends with %s', async (status, reason) => {
  const { body, stream } = pretend({ outcome: { status, output: 'So far.', failure: { code: 'turns_used' } } });
  expect((await body('POST /v1/messages', { body: sent }))['stop_reason']).toBe(reason);
  expect((await stream(sent)).at(-2)).toMatchObject({ delta: { stop_reason: reason } });
});

test.each([
  ['failed', '', 'model_server'],
  ['failed', 'So far.', 'model_server'],
  ['cancelled', 'So far.', 'cancelled'],
  ['budget', '', 'budget_refused'],
  ['timeout', '', 'deadline_passed'],
] as readonly [Status, string, ErrorCode][])(
  'a run that is %s with the output "%s" is an error, told in the words of the catalogue',
  async (status, output, code) => {
    const failure = { code, detail: secret };
    const { call, stream } = pretend({ outcome: { status, output, failure } });
    const error: unknown = await call('POST /v1/messages', { body: sent }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CloisterError);
    expect(clientError(error)).toMatchObject({ code, message: errorCatalogue[code].summary });
    const last = (await stream(sent)).at(-1);
    expect(last).toEqual(anthropicError(clientError(error), 'req_1'));
    expect(JSON.stringify(last)).not.toContain(secret);
  },
);

test('what is refused is refused before a stream begins', async () => {
  const refuse = new CloisterError('server_busy', 'Wait.', { retryAfterMs: 1000 });
  const { call } = pretend({ refuse });
  await expect(call('POST /v1/messages', { body: { ...sent, stream: true } })).rejects.toBe(refuse);
  await expect(call('POST /v1/messages', { body: { ...sent, tools: [{}] } })).rejects.toThrow(CloisterError);
});

const known = [
  'invalid_request_error',
  'authentication_error',
  'billing_error',
  'permission_error',
  'not_found_error',
  'conflict_error',
  'request_too_large',
  'rate_limit_error',
  'timeout_error',
  'api_error',
  'overloaded_error',
];

test.each([
  ['request_invalid', 'invalid_request_error'],
  ['media_refused', 'invalid_request_error'],
  ['method_refused', 'invalid_request_error'],
  ['token_refused', 'authentication_error'],
  ['origin_refused', 'permission_error'],
  ['agent_unknown', 'not_found_error'],
  ['request_too_large', 'request_too_large'],
  ['server_busy', 'rate_limit_error'],
  ['server_stopping', 'overloaded_error'],
  ['deadline_passed', 'timeout_error'],
  ['model_server', 'api_error'],
  ['defect', 'api_error'],
] as const)('%s is told as %s', (code, type) => {
  const told = anthropicError(clientError(new CloisterError(code, 'Here.')), 'req_7');
  expect(told).toMatchObject({ type: 'error', error: { type, details: { error_code: code } }, request_id: 'req_7' });
  const { message } = told['error'] as { message: string };
  expect(message).toContain(errorCatalogue[code].summary);
  expect(message).toContain(errorCatalogue[code].suggestion);
  // What went wrong inside is told in the catalogue's words alone.
  expect(message.includes('Here.')).toBe(httpStatus(code) < 500 || code === 'server_stopping');
});

test('every failure of the catalogue has a type that the protocol knows', () => {
  for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
    const { type } = anthropicError(clientError(new CloisterError(code)), 'r')['error'] as { type: string };
    expect(known).toContain(type);
  }
});

const many = ['a', 'b', 'c', 'd', 'e'].map((name) => defineAgent({ name, description: name, prompt: name }));

test('models are the agents, page by page, in both directions', async () => {
  const { body, call } = pretend({ agents: many });
  const page = async (query: string): Promise<Json> => {
    const got = await body('GET /v1/models', { query: new URLSearchParams(query) });
    const { data, ...rest } = got as { data: { id: string }[] };
    return [data.map(({ id }) => id).join(''), rest];
  };
  expect(await page('')).toEqual(['abcde', { has_more: false, first_id: 'a', last_id: 'e' }]);
  expect(await page('limit=2')).toEqual(['ab', { has_more: true, first_id: 'a', last_id: 'b' }]);
  expect(await page('limit=2&after_id=b')).toEqual(['cd', { has_more: true, first_id: 'c', last_id: 'd' }]);
  expect(await page('limit=2&after_id=d')).toEqual(['e', { has_more: false, first_id: 'e', last_id: 'e' }]);
  expect(await page('limit=2&before_id=e')).toEqual(['cd', { has_more: true, first_id: 'c', last_id: 'd' }]);
  expect(await page('after_id=e')).toEqual(['', { has_more: false, first_id: null, last_id: null }]);
  for (const wrong of ['limit=0', 'limit=1001', 'limit=x', 'after_id=z', 'after_id=a&before_id=c'])
    await expect(call('GET /v1/models', { query: new URLSearchParams(wrong) })).rejects.toMatchObject({
      code: 'request_invalid',
    });
});

test('a model is an agent that this caller may ask', async () => {
  const { body, call } = pretend();
  expect(await body('GET /v1/models/:model', { params: { model: 'lead' } })).toMatchObject({
    type: 'model',
    id: 'lead',
    display_name: 'lead',
    created_at: new Date(now).toISOString(),
  });
  await expect(call('GET /v1/models/:model', { params: { model: 'none' } })).rejects.toMatchObject({
    code: 'agent_unknown',
  });
});

test('the routes that another protocol shares are taken with anthropic-version only', () => {
  for (const { path, when } of pretend().routes.filter((route) => route.path.startsWith('/v1/models'))) {
    expect(when?.(new Headers({ 'anthropic-version': '2023-06-01' })), path).toBe(true);
    expect(when?.(new Headers()), path).toBe(false);
  }
});

test('tokens are counted over what the agent is and what the client sends', async () => {
  const { body } = pretend();
  const count = async (more: JsonObject = {}): Promise<number> =>
    (await body('POST /v1/messages/count_tokens', { body: { model: 'lead', messages: sent.messages, ...more } }))[
      'input_tokens'
    ] as number;
  const base = await count();
  const { prompt, guidance, tools } = lead.definition;
  expect(tools).toEqual([]);
  expect(base).toBe(Math.ceil(Buffer.byteLength(`${prompt}${guidance}Hello`) / 4));
  const said = (text: string): Promise<number> => count({ messages: [{ role: 'user', content: text }] });
  expect(await said(`Hello${'é'.repeat(200)}`)).toBe(base + 100);
  const history = [
    { role: 'user', content: 'x'.repeat(400) },
    { role: 'assistant', content: 'y'.repeat(400) },
  ];
  expect(await count({ messages: [...history, ...sent.messages] })).toBe(base + 200);
  const schema = { type: 'object', title: 'z'.repeat(400) };
  expect(await count({ output_config: { format: { type: 'json_schema', schema } } })).toBeGreaterThan(base + 100);
});

test('tokens of an agent with tools count its tools', async () => {
  const tool = { name: 'look', description: 'd'.repeat(4000), inputSchema: { type: 'object' }, execute: () => 'x' };
  const armed = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead well.', tools: [tool] });
  const asked = { body: { model: 'lead', messages: sent.messages } };
  const [without, withTools] = [pretend(), pretend({ agents: [armed] })].map((one) =>
    one.body('POST /v1/messages/count_tokens', asked),
  );
  const difference = ((await withTools)!['input_tokens'] as number) - ((await without)!['input_tokens'] as number);
  expect(difference).toBeGreaterThan(1000);
});

test('the operations are valid OpenAPI 3.1', async () => {
  const paths: Record<string, Record<string, Json>> = {};
  for (const { path, method, operation } of pretend().routes)
    (paths[path.replace(/:(\w+)/gu, '{$1}')] ??= {})[method.toLowerCase()] = operation;
  const document = { openapi: '3.1.0', info: { title: 'Cloister', version: '1' }, paths };
  expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
  expect(Object.keys(paths)).toHaveLength(4);
});
