import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { CellId, JsonObject, RunId } from '#base';
import type { AnswerPiece, CellReport, DurableEvent, RouteReply, RunReport, DialogMessage } from '#contracts';
import { bodyOf, call, codeOf, eventsOf, makeOutcome, run, serve, spent, startedAt, text } from './driver.ts';
import type { FakeRun } from './driver.ts';

const respond = (body: JsonObject, scene: FakeRun = {}) => {
  const served = serve(scene);
  const reply = call(served, 'POST /v1/responses', { body: { model: 'guide', input: 'Where?', ...body } });
  return { served, reply };
};

const startedRequest = async (body: JsonObject, scene: FakeRun = {}) => {
  const { served, reply } = respond(body, scene);
  await reply;
  return served.started[0];
};

const streamedEvents = async (body: JsonObject, scene: FakeRun = {}): Promise<readonly any[]> => {
  const events = await eventsOf(await respond({ stream: true, ...body }, scene).reply);
  return events.map(({ event, data }) => {
    const json = JSON.parse(data);
    expect(json.type).toBe(event);
    return json;
  });
};

const message = (words: string, status = 'completed') => ({
  id: `msg_${run}`,
  type: 'message',
  role: 'assistant',
  status,
  content: [{ type: 'output_text', text: words, annotations: [], logprobs: [] }],
});

const usage = {
  input_tokens: 120,
  input_tokens_details: { cached_tokens: 40, cache_write_tokens: 8 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 150,
};

const before: readonly DialogMessage[] = [
  { by: 'person', text: 'Hello' },
  { by: 'agent', text: 'Hello.' },
];

describe('a request', () => {
  test('is a string, or items of which the last is the input', async () => {
    expect(await startedRequest({})).toEqual({ agent: 'guide', input: 'Where?', stream: false });
    const input = [
      { role: 'user', content: 'Hello' },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'private' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.', annotations: [] }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Where?' }] },
    ];
    expect(await startedRequest({ input })).toEqual({
      agent: 'guide',
      input: 'Where?',
      history: before,
      stream: false,
    });
  });

  test('continues from an earlier answer with the whole dialog before it', async () => {
    const said = { [run]: before };
    expect(await startedRequest({ previous_response_id: `resp_${run}` }, { dialogs: said })).toMatchObject({
      input: 'Where?',
      history: before,
    });
    const body = bodyOf(await respond({ previous_response_id: `resp_${run}` }, { dialogs: said }).reply);
    expect(body['previous_response_id']).toBe(`resp_${run}`);
  });

  test.each([{ type: 'item_reference' }, { type: null }, {}])('an answer can be referred to as %j', async (typed) => {
    const input = [
      { role: 'user', content: 'Good day' },
      { type: 'item_reference', id: `rs_${run}_0` },
      { ...typed, id: `msg_${run}` },
      { role: 'user', content: 'Where?' },
    ];
    expect(await startedRequest({ input }, { dialogs: { [run]: before } })).toMatchObject({
      input: 'Where?',
      history: [
        { by: 'person', text: 'Good day' },
        { by: 'agent', text: 'Hello.' },
      ],
    });
  });

  test('a response that was never completed cannot be referred to', async () => {
    const input = [{ type: 'item_reference', id: `msg_${run}` }];
    const said = { [run]: [{ by: 'person', text: 'Hello' } as const] };
    expect(await codeOf(startedRequest({ input }, { dialogs: said }))).toBe('request_invalid');
    await expect(startedRequest({ previous_response_id: `resp_${run}` }, { dialogs: said })).rejects.toThrow(
      'previous_response_id: it',
    );
  });

  test('instructions and system messages are passed on as system text if that is allowed, else refused', async () => {
    const input = [
      { role: 'developer', content: 'In French.' },
      { role: 'user', content: 'Where?' },
    ];
    const body = { instructions: 'Be brief.', input };
    expect(await startedRequest(body, { clients: { system: true } })).toMatchObject({
      system: ['Be brief.', 'In French.'],
    });
    expect(await codeOf(startedRequest({ input }))).toBe('request_unsupported');
    await expect(startedRequest({ instructions: 'Be brief.' })).rejects.toThrow(' instructions: ');
    expect(await startedRequest({ instructions: '' })).not.toHaveProperty('system');
  });

  test('text.format requests a schema, and is repeated in the response', async () => {
    const format = { type: 'json_schema', name: 'place', strict: true, schema: { type: 'object' } };
    expect(await startedRequest({ text: { format } })).toMatchObject({ format: 'json', schema: { type: 'object' } });
    expect(bodyOf(await respond({ text: { format } }).reply)['text']).toEqual({ format });
    expect(bodyOf(await respond({ text: { verbosity: 'low' } }).reply)['text']).toEqual({ format: { type: 'text' } });
  });

  test.each<readonly [JsonObject, string]>([
    [{ background: true }, 'background'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ moderation: { model: 'm' } }, 'moderation'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, 'input[0].type'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
      'input[0].content[0].image_url',
    ],
    [{ input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] }, 'input[0].content[0].file_id'],
    [{ input: [{ role: 'assistant', content: 'So I' }] }, 'input'],
  ])('%j is refused by its name', async (body, field) => {
    const { served, reply } = respond(body);
    expect(await codeOf(reply)).toBe('request_unsupported');
    await expect(reply).rejects.toThrow(` ${field}: `);
    expect(served.started).toEqual([]);
  });

  test('fields that an agent decides for itself have no effect', async () => {
    const plain = await startedRequest({});
    const along: JsonObject = {
      temperature: 0.2,
      top_p: 1,
      max_output_tokens: 5,
      max_tool_calls: 2,
      metadata: { a: 'b' },
      store: false,
      parallel_tool_calls: true,
      reasoning: { effort: 'low', summary: 'auto' },
      service_tier: 'auto',
      user: 'u',
      include: ['reasoning.encrypted_content'],
      truncation: 'auto',
      prompt_cache_key: 'k',
      background: false,
      tools: [],
      tool_choice: 'auto',
      stream: false,
      text: null,
      instructions: null,
      previous_response_id: null,
      safety_identifier: 's',
      context_management: [],
      stream_options: { include_obfuscation: false },
    };
    for (const [name, value] of Object.entries(along))
      expect(await startedRequest({ [name]: value }), name).toEqual(plain);
  });
});

describe('a complete answer', () => {
  test('has the id of its run, one message and the usage of the whole run', async () => {
    expect(bodyOf(await respond({}).reply)).toMatchObject({
      id: `resp_${run}`,
      object: 'response',
      created_at: 1_700_000_000,
      status: 'completed',
      error: null,
      incomplete_details: null,
      model: 'guide',
      output: [message('Paris.')],
      usage,
    });
  });

  test('that is partial is incomplete', async () => {
    const outcome = makeOutcome('budget', 'Par', { code: 'budget_refused' });
    expect(bodyOf(await respond({}, { outcome }).reply)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [message('Par', 'incomplete')],
    });
  });

  test('that is missing is the error of the run', async () => {
    const outcome = makeOutcome('failed', '', { code: 'model_auth', detail: 'sk-1' });
    expect(await codeOf(respond({}, { outcome }).reply)).toBe('model_auth');
  });

  test('includes activity only if it is shown', async () => {
    const pieces: readonly AnswerPiece[] = [{ type: 'activity', text: 'guide asks map\n' }, ...text('Paris.')];
    const open = respond({}, { pieces, clients: { activity: true } });
    const shown = bodyOf(await open.reply);
    expect(open.served.started[0]?.stream).toBe(true);
    const summary = [{ type: 'summary_text', text: 'guide asks map\n' }];
    expect(shown['output']).toEqual([{ id: `rs_${run}_0`, type: 'reasoning', summary }, message('Paris.')]);
    expect(bodyOf(await respond({}, { pieces }).reply)['output']).toEqual([message('Paris.')]);
  });
});

describe('a stream', () => {
  const piece = fc.record({ type: fc.constantFrom('text', 'activity'), text: fc.string({ minLength: 1 }) });

  // invariants: response-items-end, response-first-and-last-event, response-events-numbered
  test('numbers its events, ends every item that it starts, and ends with exactly what it sent in pieces', () =>
    fc.assert(
      fc.asyncProperty(fc.array(piece), fc.boolean(), async (list, activity) => {
        const pieces = list as readonly AnswerPiece[];
        const events = await streamedEvents({}, { pieces, clients: { activity } });
        expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, number) => number));
        expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
        const last = events.at(-1);
        expect(last).toMatchObject({ type: 'response.completed', response: { status: 'completed', usage } });

        const joined = (type: string): string =>
          events
            .filter((event) => event.type === type)
            .map(({ delta }) => delta)
            .join('');
        const said = (type: string): string =>
          pieces
            .filter((each) => each.type === type)
            .map((each) => each.text)
            .join('');
        expect(joined('response.output_text.delta')).toBe(said('text'));
        expect(joined('response.reasoning_summary_text.delta')).toBe(activity ? said('activity') : '');

        const added = events.filter(({ type }) => type === 'response.output_item.added');
        const done = events.filter(({ type }) => type === 'response.output_item.done');
        expect(added.map(({ output_index }) => output_index)).toEqual(added.map((_, place) => place));
        const byPlace = done.toSorted((one, other) => one.output_index - other.output_index);
        expect(byPlace.map(({ item }) => item)).toEqual(last.response.output);
        expect(byPlace.map(({ item }) => item.id)).toEqual(added.map(({ item }) => item.id));
        expect(new Set(added.map(({ item }) => item.id)).size).toBe(added.length);

        // No event mentions an item before it starts or after it has ended.
        const open = new Set<number>();
        for (const { type, output_index: place } of events) {
          if (place === undefined) continue;
          if (type === 'response.output_item.added') open.add(place);
          else expect(open.has(place)).toBe(true);
          if (type === 'response.output_item.done') open.delete(place);
        }
        expect(open.size).toBe(0);
      }),
      { numRuns: 300 },
    ));

  test('is the sequence that clients expect', async () => {
    const events = await streamedEvents({}, { pieces: text('Par', 'is.') });
    const at = { item_id: `msg_${run}`, output_index: 0, content_index: 0 };
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    expect(events.slice(2, -1)).toEqual(
      [
        { type: 'response.output_item.added', output_index: 0, item: { ...message('', 'in_progress'), content: [] } },
        { type: 'response.content_part.added', ...at, part },
        { type: 'response.output_text.delta', ...at, delta: 'Par', logprobs: [] },
        { type: 'response.output_text.delta', ...at, delta: 'is.', logprobs: [] },
        { type: 'response.output_text.done', ...at, text: 'Paris.', logprobs: [] },
        { type: 'response.content_part.done', ...at, part: { ...part, text: 'Paris.' } },
        { type: 'response.output_item.done', output_index: 0, item: message('Paris.') },
      ].map((event, place) => ({ ...event, sequence_number: place + 2 })),
    );
  });

  // invariant: response-one-message
  test('ends a reasoning item when the answer continues, and starts a new one later', async () => {
    const activity = (words: string): AnswerPiece => ({ type: 'activity', text: words });
    const pieces = [activity('a'), activity('b'), ...text('Par'), activity('c'), ...text('is.')];
    const events = await streamedEvents({}, { pieces, clients: { activity: true } });
    const items = events.flatMap(({ type, output_index: place }) =>
      type.startsWith('response.output_item') ? [`${type.split('.').at(-1)} ${place}`] : [],
    );
    expect(items).toEqual(['added 0', 'done 0', 'added 1', 'added 2', 'done 2', 'done 1']);
    const thought = (place: number, words: string): JsonObject => ({
      id: `rs_${run}_${place}`,
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: words }],
    });
    expect(events.at(-1).response.output).toEqual([thought(0, 'ab'), message('Paris.'), thought(2, 'c')]);
  });

  // invariant: response-first-and-last-event
  test('that is partial ends incomplete', async () => {
    const events = await streamedEvents({}, { outcome: makeOutcome('limit', 'Par', { code: 'agent_limit' }) });
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', output: [message('Par', 'incomplete')], usage },
    });
  });

  // invariant: response-first-and-last-event
  test('that fails ends with its error and its usage', async () => {
    const outcome = makeOutcome('failed', '', { code: 'model_server', detail: 'secret words' });
    const last = (await streamedEvents({}, { pieces: text('Par'), outcome })).at(-1);
    expect(last).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: {
          code: 'server_error',
          message: expect.stringContaining('The model provider returned an error or an invalid response.'),
        },
        output: [message('Par', 'incomplete')],
        usage,
      },
    });
    expect(JSON.stringify(last)).not.toContain('secret');
  });

  test.each([new CloisterError('store_failed', '/var/secret'), new Error('secret')])(
    'whose run cannot be recorded says nothing of why: %s',
    async (rejects) => {
      const last = (await streamedEvents({}, { pieces: text('Par'), rejects })).at(-1);
      expect(last).toMatchObject({
        type: 'response.failed',
        response: { error: { code: 'server_error' }, usage: null },
      });
      expect(JSON.stringify(last)).not.toContain('secret');
    },
  );
});

describe('an earlier response', () => {
  const kept = async (report: Partial<RunReport>): Promise<JsonObject> => {
    const served = serve({
      dialogs: { [run]: before },
      report: { run: run as RunId, agent: 'guide', startedAt, endedAt: 1, output: '', spent, cells: [], ...report },
    });
    return bodyOf(await call(served, `GET /v1/responses/resp_${run}`));
  };
  const failedWith = (code: 'model_auth' | 'turns_used'): readonly CellReport[] => [
    { parent: null, outcome: makeOutcome('failed', '', { code, detail: 'sk-1' }) } as unknown as CellReport,
  ];

  test('is read again as it ended', async () => {
    expect(await kept({ status: 'completed', output: 'Paris.' })).toMatchObject({
      id: `resp_${run}`,
      status: 'completed',
      output: [message('Paris.')],
      usage,
    });
    expect(await kept({ status: 'timeout', output: 'Par' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [message('Par', 'incomplete')],
    });
    expect(await kept({ status: 'cancelled' })).toMatchObject({ status: 'cancelled', output: [], error: null });
  });

  test('is in progress while it runs, and incomplete when it was interrupted', async () => {
    expect(await kept({ status: 'running', endedAt: null })).toMatchObject({ status: 'in_progress', usage: null });
    expect(await kept({ status: 'interrupted', endedAt: null })).toMatchObject({
      status: 'incomplete',
      incomplete_details: null,
    });
  });

  test('that failed has its error code, without its detail', async () => {
    const failed = await kept({ status: 'failed', cells: failedWith('model_auth') });
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(JSON.stringify(failed)).not.toContain('sk-1');
    expect(await kept({ status: 'limit', cells: failedWith('turns_used') })).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_prompt', message: expect.stringContaining('no turns left') },
    });
  });

  test('of a client with tools that is no longer stored is known only if the run made no call, since it then has only one response', async () => {
    const cell = 'guide-1' as CellId;
    const cells = [{ parent: null, cell, outcome: null } as unknown as CellReport];
    const read = (id: string, calls: readonly string[]): Promise<RouteReply> => {
      const events = calls.map((caller) => ({ type: 'tool-start', cell: caller }) as DurableEvent);
      const report = {
        run: run as RunId,
        agent: 'guide',
        startedAt,
        endedAt: 1,
        output: 'Paris.',
        spent,
        cells,
        events,
      };
      const served = serve({ dialogs: { [run]: before }, report: { ...report, status: 'completed' } });
      return call(served, `GET /v1/responses/${id}`);
    };
    expect(bodyOf(await read(`resp_${run}_1`, ['helper-1']))).toMatchObject({
      id: `resp_${run}_1`,
      output: [{ ...message('Paris.'), id: `msg_${run}_1` }],
    });
    expect(bodyOf(await read(`resp_${run}`, [cell]))).toMatchObject({ id: `resp_${run}` });
    for (const [part, calls] of [
      ['_1', [cell]],
      ['_2', [cell]],
      ['_2', []],
    ] as const)
      expect(await codeOf(read(`resp_${run}${part}`, calls))).toBe('run_unknown');
  });

  test('of a client with tools is returned unchanged, also while the run continues', async () => {
    const calls = [{ id: 'call_1', name: 'weather', args: { text: 'Oslo' } }];
    const part = { inputTokens: 7, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 2 };
    const read = (nth: number, report: Partial<RunReport>): Promise<RouteReply> => {
      const served = serve({
        dialogs: { [run]: before },
        report: {
          run: run as RunId,
          agent: 'guide',
          startedAt,
          endedAt: null,
          output: '',
          spent,
          cells: [],
          ...report,
        },
        requestStates: [
          { state: 'calls', text: 'Wait.', calls, spent: part },
          { state: 'calls', text: '', calls, spent: part },
          report.endedAt === undefined ? { state: 'running' } : { state: 'ended', spent: part },
        ],
      });
      return call(served, `GET /v1/responses/resp_${run}_${nth}`);
    };
    const item = {
      id: 'fc_call_1',
      type: 'function_call',
      call_id: 'call_1',
      name: 'weather',
      arguments: '{"text":"Oslo"}',
      status: 'completed',
    };
    const ended = { status: 'completed', endedAt: 1, output: 'Rain.' } as const;
    for (const report of [{ status: 'running' }, ended] as const) {
      expect(bodyOf(await read(1, report))).toMatchObject({
        id: `resp_${run}_1`,
        status: 'completed',
        output: [{ ...message('Wait.'), id: `msg_${run}_1` }, item],
        usage: { input_tokens: 7, output_tokens: 2 },
      });
      expect(bodyOf(await read(2, report))).toMatchObject({ status: 'completed', output: [item] });
    }
    expect(bodyOf(await read(3, { status: 'running' }))).toMatchObject({
      status: 'in_progress',
      output: [],
      usage: null,
    });
    expect(bodyOf(await read(3, ended))).toMatchObject({
      status: 'completed',
      output: [{ ...message('Rain.'), id: `msg_${run}_3` }],
      usage: { input_tokens: 7, output_tokens: 2 },
    });
    expect(bodyOf(await read(3, { status: 'cancelled', endedAt: 1, output: '' }))).toMatchObject({
      status: 'cancelled',
    });
  });

  test('is not streamed again', async () => {
    const served = serve({ dialogs: { [run]: before } });
    expect(await codeOf(call(served, `GET /v1/responses/resp_${run}`, { query: 'stream=true' }))).toBe(
      'request_unsupported',
    );
  });
});
