// What the routes answer for every outcome of a run.
import { clientError, httpStatus } from '#headends/shared';
import { CloisterError, errorCatalogue } from '#base';
import type { ErrorCode, Json, JsonObject } from '#base';
import type { AnswerPiece, Status } from '#contracts';
import { Validator } from '@seriousme/openapi-schema-validator';
import { defineAgent } from 'cloister';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lead, now, openFakeService, spent } from './fake-service.ts';

const anthropicError = openFakeService().routes[0]!.formatError;

const validBody = { model: 'lead', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };

const usage = { input_tokens: 40, cache_creation_input_tokens: 10, cache_read_input_tokens: 20, output_tokens: 9 };

test('an answer is a message with the usage of the whole run', async () => {
  const { body, begun: started } = openFakeService();
  expect(await body('POST /v1/messages', { body: validBody })).toMatchObject({
    id: 'msg_r1',
    type: 'message',
    role: 'assistant',
    model: 'lead',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
  });
  expect(started).toEqual([{ agent: 'lead', input: 'Hello' }]);
  expect(usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens).toBe(
    spent.inputTokens,
  );
});

const pieces = fc.array(fc.record({ type: fc.constantFrom('text' as const, 'activity' as const), text: fc.string() }), {
  maxLength: 12,
});

/** Assembles blocks as a client does; throws if an event is out of order. */
const readBlocks = (events: readonly JsonObject[]): { type: string; text: string }[] => {
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

// invariant: blocks-numbered-and-closed
test('blocks are complete and hold all pieces in any order, and activity only if it is shown', () =>
  fc.assert(
    fc.asyncProperty(pieces, fc.boolean(), async (come, activity) => {
      const { stream } = openFakeService({ pieces: come, clients: { activity }, outcome: { output: 'whole' } });
      const events = await stream(validBody);
      const types = events.map(({ type }) => type);
      expect([types[0], ...types.slice(-2)]).toEqual(['message_start', 'message_delta', 'message_stop']);
      const blocks = readBlocks(events.slice(1, -2));
      const kept = come.filter(({ type, text }) => text !== '' && (activity || type === 'text'));
      expect(blocks).toEqual(mergePieces(kept));
    }),
    { numRuns: 500 },
  ));

/** Consecutive pieces of one type are one block. */
const mergePieces = (kept: readonly AnswerPiece[]): { type: string; text: string }[] => {
  const blocks: { type: string; text: string }[] = [];
  for (const piece of kept) {
    const type = piece.type === 'text' ? 'text' : 'thinking';
    const last = blocks.at(-1);
    if (last?.type === type) last.text += piece.text;
    else blocks.push({ type, text: piece.text });
  }
  return blocks;
};

test('a stream starts with zero usage and ends with the real usage', async () => {
  const events = await openFakeService().stream(validBody);
  expect(events[0]).toMatchObject({
    message: { id: 'msg_r1', content: [], stop_reason: null, usage: { input_tokens: 0, output_tokens: 0 } },
  });
  expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'end_turn', stop_sequence: null }, usage });
});

test('activity is a thinking block before the answer, if it is shown', async () => {
  const come: AnswerPiece[] = [
    { type: 'activity', text: 'one\n' },
    { type: 'activity', text: 'two\n' },
    { type: 'text', text: 'Hi' },
  ];
  const text = { type: 'text', text: 'Hi', citations: null };
  const shown = openFakeService({ pieces: come, clients: { activity: true } });
  expect((await shown.body('POST /v1/messages', { body: validBody }))['content']).toEqual([
    { type: 'thinking', thinking: 'one\ntwo\n', signature: '' },
    text,
  ]);
  const unwanted = { ...validBody, thinking: { type: 'disabled' } };
  expect((await shown.body('POST /v1/messages', { body: unwanted }))['content']).toEqual([text]);
  const hidden = openFakeService({ pieces: come });
  expect((await hidden.body('POST /v1/messages', { body: validBody }))['content']).toEqual([text]);
});

const secret = 'words of another cell';

test.each([
  ['completed', 'end_turn'],
  ['partial', 'max_tokens'],
  ['limit', 'max_tokens'],
  ['budget', 'max_tokens'],
  ['timeout', 'max_tokens'],
] as const)('an answer of a run that is %s ends with %s', async (status, reason) => {
  const { body, stream } = openFakeService({ outcome: { status, output: 'So far.', failure: { code: 'turns_used' } } });
  expect((await body('POST /v1/messages', { body: validBody }))['stop_reason']).toBe(reason);
  expect((await stream(validBody)).at(-2)).toMatchObject({ delta: { stop_reason: reason } });
});

// invariant: message-error-ends-stream
test.each([
  ['failed', '', 'model_server'],
  ['failed', 'So far.', 'model_server'],
  ['cancelled', 'So far.', 'cancelled'],
  ['budget', '', 'budget_refused'],
  ['timeout', '', 'deadline_passed'],
] as readonly [Status, string, ErrorCode][])(
  'a run that is %s with the output "%s" is an error with the texts of the catalogue',
  async (status, output, code) => {
    const failure = { code, detail: secret };
    const { call, stream } = openFakeService({ outcome: { status, output, failure } });
    const error: unknown = await call('POST /v1/messages', { body: validBody }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CloisterError);
    expect(clientError(error)).toMatchObject({ code, message: errorCatalogue[code].summary });
    const last = (await stream(validBody)).at(-1);
    expect(last).toEqual(anthropicError(clientError(error), 'req_1'));
    expect(JSON.stringify(last)).not.toContain(secret);
  },
);

test('a request is refused before a stream starts', async () => {
  const refuse = new CloisterError('server_busy', 'Wait.', { retryAfterMs: 1000 });
  const { call } = openFakeService({ refuse });
  await expect(call('POST /v1/messages', { body: { ...validBody, stream: true } })).rejects.toBe(refuse);
  await expect(call('POST /v1/messages', { body: { ...validBody, tools: [{}] } })).rejects.toThrow(CloisterError);
});

const knownTypes = [
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
  // An internal failure shows only the texts of the catalogue.
  expect(message.includes('Here.')).toBe(httpStatus(code) < 500 || code === 'server_stopping');
});

test('every failure of the catalogue has an error type of the protocol', () => {
  for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
    const { type } = anthropicError(clientError(new CloisterError(code)), 'r')['error'] as { type: string };
    expect(knownTypes).toContain(type);
  }
});

const manyAgents = ['a', 'b', 'c', 'd', 'e'].map((name) => defineAgent({ name, description: name, prompt: name }));

test('agents are listed as models, page by page in both directions', async () => {
  const { body, call } = openFakeService({ agents: manyAgents });
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

test('a model is an agent that this caller may run', async () => {
  const { body, call } = openFakeService();
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

test('shared routes answer in Anthropic’s format only with the header anthropic-version', () => {
  for (const { path, when } of openFakeService().routes.filter((route) => route.path.startsWith('/v1/models'))) {
    expect(when?.(new Headers({ 'anthropic-version': '2023-06-01' })), path).toBe(true);
    expect(when?.(new Headers()), path).toBe(false);
  }
});

test('the token count covers the agent’s definition and what the client sends', async () => {
  const { body } = openFakeService();
  const count = async (more: JsonObject = {}): Promise<number> =>
    (await body('POST /v1/messages/count_tokens', { body: { model: 'lead', messages: validBody.messages, ...more } }))[
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
  expect(await count({ messages: [...history, ...validBody.messages] })).toBe(base + 200);
  const schema = { type: 'object', title: 'z'.repeat(400) };
  expect(await count({ output_config: { format: { type: 'json_schema', schema } } })).toBeGreaterThan(base + 100);
});

test('the token count includes the agent’s tools', async () => {
  const tool = { name: 'look', description: 'd'.repeat(4000), inputSchema: { type: 'object' }, execute: () => 'x' };
  const armed = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead well.', tools: [tool] });
  const asked = { body: { model: 'lead', messages: validBody.messages } };
  const [without, withTools] = [openFakeService(), openFakeService({ agents: [armed] })].map((one) =>
    one.body('POST /v1/messages/count_tokens', asked),
  );
  const difference = ((await withTools)!['input_tokens'] as number) - ((await without)!['input_tokens'] as number);
  expect(difference).toBeGreaterThan(1000);
});

test('the operations are valid OpenAPI 3.1', async () => {
  const paths: Record<string, Record<string, Json>> = {};
  for (const { path, method, operation } of openFakeService().routes)
    (paths[path.replace(/:(\w+)/gu, '{$1}')] ??= {})[method.toLowerCase()] = operation;
  const document = { openapi: '3.1.0', info: { title: 'Cloister', version: '1' }, paths };
  expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
  expect(Object.keys(paths)).toHaveLength(4);
});
