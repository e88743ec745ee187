import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { AnswerPiece } from '#contracts';
import { bodyOf, call, codeOf, eventsOf, makeOutcome, run, serve, text } from './driver.ts';
import type { FakeRun } from './driver.ts';

const chat = (body: JsonObject, scene: FakeRun = {}) => {
  const served = serve(scene);
  const reply = call(served, 'POST /v1/chat/completions', {
    body: { model: 'guide', messages: [{ role: 'user', content: 'Where?' }], ...body },
  });
  return { served, reply };
};

const startedRequest = async (body: JsonObject, scene: FakeRun = {}) => {
  const { served, reply } = chat(body, scene);
  await reply;
  return served.started[0];
};

const chunks = async (body: JsonObject, scene: FakeRun = {}): Promise<readonly any[]> => {
  const events = await eventsOf(await chat({ stream: true, ...body }, scene).reply);
  expect(events.every(({ event, id }) => event === undefined && id === undefined)).toBe(true);
  return events.map(({ data }) => (data === '[DONE]' ? data : JSON.parse(data)));
};

const usage = {
  prompt_tokens: 120,
  completion_tokens: 30,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 8 },
};

describe('a request', () => {
  test('takes the last message as input and the rest as history', async () => {
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }], refusal: null, tool_calls: [] },
      { role: 'assistant', content: null },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Where is' },
          { type: 'text', text: 'the tower?' },
        ],
        name: 'Ann',
      },
    ];
    expect(await startedRequest({ messages })).toEqual({
      agent: 'guide',
      input: 'Where is\n\nthe tower?',
      history: [
        { by: 'person', text: 'Hello' },
        { by: 'agent', text: 'Hello.' },
      ],
      stream: false,
    });
  });

  test.each(['system', 'developer'])(
    'a %s message is passed on as system text if that is allowed, else refused',
    async (role) => {
      const messages = [
        { role, content: 'Be brief.' },
        { role: 'user', content: 'Where?' },
        { role, content: [{ type: 'text', text: 'In French.' }] },
      ];
      expect(await startedRequest({ messages }, { clients: { system: true } })).toEqual({
        agent: 'guide',
        input: 'Where?',
        system: ['Be brief.', 'In French.'],
        stream: false,
      });
      await expect(startedRequest({ messages })).rejects.toThrow(/messages\[0\]\.role.*--allow-system/u);
      expect(await codeOf(startedRequest({ messages }))).toBe('request_unsupported');
      expect(await startedRequest({ messages: [{ role, content: ' ' }, messages[1] as Json] })).not.toHaveProperty(
        'system',
      );
    },
  );

  test('response_format requests a schema', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const json_schema = { name: 'place', strict: true, schema };
    expect(await startedRequest({ response_format: { type: 'json_schema', json_schema } })).toMatchObject({
      format: 'json',
      schema,
    });
    expect(await startedRequest({ response_format: { type: 'json_object' } })).toMatchObject({ format: 'json' });
    expect(await startedRequest({ response_format: { type: 'text' } })).not.toHaveProperty('format');
    await expect(
      startedRequest({ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }),
    ).rejects.toThrow('response_format.json_schema.schema: expected a JSON object; got nothing.');
  });

  test.each<readonly [JsonObject, string]>([
    [{ n: 2 }, 'n'],
    [{ tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools'],
    [{ functions: [{ name: 'f' }] }, 'functions'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'f' } } }, 'tool_choice'],
    [{ function_call: { name: 'f' } }, 'function_call'],
    [{ logprobs: true }, 'logprobs'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ logit_bias: { 50256: -100 } }, 'logit_bias'],
    [{ stop: ['END'] }, 'stop'],
    [{ stop: 'END' }, 'stop'],
    [{ audio: { voice: 'alloy', format: 'wav' } }, 'audio'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ moderation: { model: 'm' } }, 'moderation'],
    [{ messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'assistant', content: null, tool_calls: [{ id: 'c' }] }] }, 'messages[0].tool_calls'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }] }] },
      'messages[0].content[0].image_url.url',
    ],
    [{ messages: [{ role: 'user', content: [{ type: 'video' }] }] }, 'messages[0].content[0].type'],
    [
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      'messages[0].content[0].file.file_id',
    ],
    [{ messages: [{ role: 'assistant', content: null, audio: { id: 'a' } }] }, 'messages[0].audio'],
    [{ messages: [{ role: 'assistant', content: 'So I' }] }, 'messages'],
  ])('%j is refused by its name', async (body, field) => {
    const { served, reply } = chat(body);
    expect(await codeOf(reply)).toBe('request_unsupported');
    await expect(reply).rejects.toThrow(` ${field}: `);
    expect(served.started).toEqual([]);
    // The hint names the option that would help.
    const { message, suggestion } = (await reply.catch((error: unknown) => error)) as CloisterError;
    expect((message + suggestion).match(/--allow-\w+/gu)).toEqual(field === 'tools' ? ['--allow-tools'] : null);
  });

  test('fields that an agent decides for itself have no effect', async () => {
    const plain = await startedRequest({});
    const along: JsonObject = {
      temperature: 0.2,
      top_p: 1,
      top_k: 4,
      max_tokens: 5,
      max_completion_tokens: 5,
      seed: 7,
      user: 'u',
      frequency_penalty: 0,
      presence_penalty: 0,
      metadata: { a: 'b' },
      store: true,
      service_tier: 'auto',
      parallel_tool_calls: true,
      reasoning_effort: 'low',
      verbosity: 'low',
      prompt_cache_key: 'k',
      n: 1,
      tools: [],
      tool_choice: 'none',
      functions: [],
      logprobs: false,
      top_logprobs: 0,
      modalities: ['text'],
      stop: null,
      audio: null,
      prediction: null,
      logit_bias: {},
      stream: false,
      response_format: null,
      stream_options: null,
      safety_identifier: 's',
      chat_template_kwargs: { a: 1 },
    };
    for (const [name, value] of Object.entries(along))
      expect(await startedRequest({ [name]: value }), name).toEqual(plain);
    expect(await startedRequest(along)).toEqual(plain);
  });
});

describe('a complete answer', () => {
  test('has the id of its run, the text and the usage of the whole run', async () => {
    expect(bodyOf(await chat({}).reply)).toEqual({
      id: `chatcmpl-${run}`,
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'guide',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Paris.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage,
    });
  });

  test.each(['partial', 'limit', 'budget', 'timeout'] as const)(
    'that is %s has the finish reason length',
    async (status) => {
      const outcome = makeOutcome(status, 'Par', { code: 'agent_limit' });
      expect(bodyOf(await chat({}, { outcome }).reply)).toMatchObject({
        choices: [{ message: { content: 'Par' }, finish_reason: 'length' }],
      });
    },
  );

  test('that is missing is the error of the run, without its detail', async () => {
    const outcome = makeOutcome('failed', '', { code: 'model_rate', detail: 'key sk-123', retryAfterMs: 500 });
    const error = await chat({}, { outcome }).reply.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CloisterError);
    expect((error as CloisterError).failure).toEqual({ code: 'model_rate', retryAfterMs: 500 });
    expect(await codeOf(chat({}, { outcome: makeOutcome('limit', '', { code: 'turns_used' }) }).reply)).toBe(
      'turns_used',
    );
    expect(await codeOf(chat({}, { outcome: makeOutcome('failed', 'half', { code: 'defect' }) }).reply)).toBe('defect');
    expect(await codeOf(chat({}, { outcome: makeOutcome('cancelled', 'half', { code: 'cancelled' }) }).reply)).toBe(
      'cancelled',
    );
  });

  test('includes activity only if it is shown', async () => {
    const pieces: readonly AnswerPiece[] = [
      { type: 'activity', text: 'guide asks map\n' },
      { type: 'activity', text: 'map has answered\n' },
      ...text('Paris.'),
    ];
    const shown = chat({}, { pieces, clients: { activity: true } });
    expect(bodyOf(await shown.reply)).toMatchObject({
      choices: [{ message: { content: 'Paris.', reasoning_content: 'guide asks map\nmap has answered\n' } }],
    });
    expect(shown.served.started[0]?.stream).toBe(true);
    const hidden = bodyOf(await chat({}, { pieces }).reply);
    expect(JSON.stringify(hidden)).not.toContain('map');
  });
});

describe('a stream', () => {
  const piece = fc.record({ type: fc.constantFrom('text', 'activity'), text: fc.string({ minLength: 1 }) });

  // invariant: done-means-answer
  test('holds every piece in order and ends with the finish reason, the usage if requested, and [DONE]', () =>
    fc.assert(
      fc.asyncProperty(fc.array(piece), fc.boolean(), fc.boolean(), async (told, activity, withUsage) => {
        const pieces = told as readonly AnswerPiece[];
        const scene = { pieces, clients: { activity } };
        const got = await chunks(withUsage ? { stream_options: { include_usage: true } } : {}, scene);
        const [first, ...rest] = got.slice(0, withUsage ? -3 : -2);
        expect(first.choices).toEqual([
          { index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null },
        ]);
        const deltas = pieces
          .filter(({ type }) => activity || type === 'text')
          .map(({ type, text: words }) => (type === 'text' ? { content: words } : { reasoning_content: words }));
        expect(rest.map(({ choices }) => choices[0].delta)).toEqual(deltas);
        const ending = got.slice(withUsage ? -3 : -2);
        expect(ending[0].choices).toEqual([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]);
        if (withUsage) expect(ending[1]).toMatchObject({ choices: [], usage });
        expect(ending.at(-1)).toBe('[DONE]');
        for (const chunk of got.slice(0, -1))
          expect(chunk).toMatchObject({
            id: `chatcmpl-${run}`,
            object: 'chat.completion.chunk',
            created: 1_700_000_000,
            model: 'guide',
          });
        const usages = got.slice(0, -1).map((chunk) => chunk.usage);
        expect(usages).toEqual(
          withUsage ? [...usages.slice(0, -1).map(() => null), usage] : usages.map(() => undefined),
        );
      }),
      { numRuns: 200 },
    ));

  test('that is incomplete has the finish reason length', async () => {
    const got = await chunks({}, { outcome: makeOutcome('timeout', 'Par', { code: 'deadline_passed' }) });
    expect(got.at(-2).choices[0].finish_reason).toBe('length');
  });

  // invariant: done-means-answer
  test('that fails ends with the error and without [DONE]', async () => {
    const outcome = makeOutcome('failed', '', { code: 'model_server', detail: 'secret words' });
    const got = await chunks({}, { pieces: text('Par'), outcome });
    expect(got.at(-1)).toEqual({
      error: {
        message: 'The model provider returned an error or an invalid response. Retry later, or add a fallback model.',
        type: 'server_error',
        param: null,
        code: 'model_server',
      },
    });
    expect(got.slice(0, -1).every((chunk) => chunk.choices[0].finish_reason === null)).toBe(true);
  });

  test.each([new CloisterError('store_failed', '/var/secret'), new Error('secret')])(
    'whose run cannot be recorded says nothing of why: %s',
    async (rejects) => {
      const last = (await chunks({}, { pieces: text('Par'), rejects })).at(-1);
      expect(last.error.type).toBe('server_error');
      expect(JSON.stringify(last)).not.toContain('secret');
    },
  );

  test('asks for every piece', async () => {
    expect((await startedRequest({ stream: true }))?.stream).toBe(true);
  });
});
