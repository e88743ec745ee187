import { clientError, clientFailure, httpStatus } from '#headends/shared';
import { describe, expect, test } from 'vitest';
import { CloisterError, errorCatalogue } from '#base';
import type { CellId, ErrorCode, JsonObject, RunId } from '#base';
import type { Answer, RunSession, ServerEvent } from '#contracts';
import { restError } from '#headends/rest';
import { cliOutcomeJson as cliValue } from '../../../src/headends/cli/shared/answer.ts';
import {
  ana,
  ben,
  eventsOf,
  json,
  outcome,
  FakeService,
  refusal,
  rootCell,
  send,
  spent,
  streamed,
  writer,
} from './fake-service.ts';
import type { Behaviour, SendOptions } from './fake-service.ts';

const ask = (behaviour: Behaviour, body: JsonObject, sent: SendOptions = {}) =>
  send(new FakeService(behaviour).routes, 'POST', '/v1/writer', { body: { input: 'Write.', ...body }, ...sent });

describe('agents', () => {
  test('each caller sees its own agents, with their input, output and paths', async () => {
    const { routes } = new FakeService();
    const { status, body } = json(await send(routes, 'GET', '/v1'));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      version: '1.2.3',
      agents: [
        {
          name: 'writer',
          description: 'Writes texts.',
          usage: 'Write about tea.',
          input: { format: 'text' },
          output: writer.signature.output,
          addresses: { get: '/v1/writer?q={q}', post: '/v1/writer' },
        },
        { name: 'counter', input: { format: 'json', schema: { required: ['of'] } }, output: { format: 'json' } },
      ],
    });
    const others = json(await send(routes, 'GET', '/v1', { caller: ben })).body['agents'];
    expect(others).toMatchObject([{ name: 'writer' }]);
    expect(others).toHaveLength(1);
  });

  test('an agent of another caller is unknown, like one that does not exist', async () => {
    const { routes } = new FakeService();
    const tell = async (name: string) =>
      restError(clientError(await refusal(send(routes, 'GET', `/v1/${name}?q=x`, { caller: ben }))), 'q1');
    // Except for the requested name.
    const [of, none] = [JSON.stringify(await tell('counter')), JSON.stringify(await tell('nobody'))];
    expect(of.replace('counter', 'nobody')).toBe(none);
    expect(await tell('writre')).toMatchObject({
      error: { message: expect.stringContaining('Did you mean "writer"?') as string },
    });
    for (const sent of [send(routes, 'GET', '/v1/nobody'), send(routes, 'POST', '/v1/nobody', { body: 5 })])
      expect((await refusal(sent)).code).toBe('agent_unknown');
  });

  test('secrets are removed from their descriptions', async () => {
    const { restRoutes } = await import('#headends/rest');
    const routes = restRoutes(new FakeService(), { version: '1', redact: (text) => text.replaceAll('tea', '•') });
    expect(JSON.stringify(json(await send(routes, 'GET', '/v1')).body)).toContain('Write about •.');
  });
});

describe('a requested run', () => {
  const failures: readonly (ErrorCode | null)[] = [null, 'model_rate', 'cancelled', 'goal_empty'];
  const cell = 'scout-1' as CellId;
  const spawned = [{ agent: 'scout', cell, status: 'failed', why: 'It failed.', output: 'Half.' }] as const;

  test.each(failures)('has the shape of run --json when it ends with %s', async (code) => {
    const statuses =
      code === null ? (['completed'] as const) : (['partial', 'limit', 'budget', 'timeout', 'failed'] as const);
    for (const [output, status] of ['Tea.', ''].flatMap((text) => statuses.map((each) => [text, each] as const))) {
      const ended = outcome({ output, failure: code === null ? null : { code }, status, missing: ['scout'], spawned });
      const reply = json(await ask({ outcome: ended }, {}));
      expect(reply.body).toEqual(JSON.parse(JSON.stringify(cliValue(ended))));
      expect(reply.status).toBe(code === null || (output !== '' && status !== 'failed') ? 200 : httpStatus(code));
    }
  });

  test('reports a failure without the detail that only its cell may know', async () => {
    const secret = 'key sk-1 at db.internal';
    const failure = { code: 'model_rate', detail: secret, retryAfterMs: 1_500 } as const;
    // Details come from the report, which the service has already made for this caller.
    for (const extra of [{}, { stream: true }]) {
      const reply = await ask({ outcome: { output: '', status: 'failed', failure } }, extra);
      const told = 'events' in reply ? JSON.stringify(await streamed(reply)) : JSON.stringify(reply);
      expect(told).not.toContain('internal');
      expect(told).toContain(clientFailure(failure).message);
    }
    const reply = await ask({ outcome: { output: '', status: 'failed', failure } }, {});
    expect(reply).toMatchObject({ headers: { 'retry-after': '2', 'x-should-retry': 'true' } });
    expect(await ask({}, {})).not.toHaveProperty('headers');
  });

  test('includes cells and events with details, and the name of its conversation', async () => {
    const { body } = json(await ask({}, { details: true, conversation: 'trip' }));
    expect(body).toMatchObject({
      conversation: 'trip',
      cells: [{ cell: rootCell, outcome: { output: 'Tea is a drink.' } }],
    });
    expect(body['events']).toEqual(eventsOf('r1' as RunId));
    expect(json(await ask({}, {})).body).not.toHaveProperty('conversation');
  });

  test('by query is the same as by body', async () => {
    const [byQuery, byBody] = [new FakeService(), new FakeService()];
    const query =
      'q=Write.&format=json&schema={"type":"object"}&conversation=trip&budget_tokens=5&budget_usd=0.5&budget_ms=9';
    const first = await send(byQuery.routes, 'GET', `/v1/writer?${query}&details=true`);
    const second = await send(byBody.routes, 'POST', '/v1/writer', {
      body: {
        input: 'Write.',
        format: 'json',
        schema: { type: 'object' },
        conversation: 'trip',
        budget: { tokens: 5, usd: 0.5, ms: 9 },
        details: true,
      },
    });
    expect(first).toEqual(second);
    expect(byQuery.storedRuns.get('r1')!.request).toEqual(byBody.storedRuns.get('r1')!.request);
  });

  test('an agent with JSON input gets the object, whether it is sent as text or as an object', async () => {
    for (const [method, address, body] of [
      ['GET', '/v1/counter?q={"of":"x"}', undefined],
      ['POST', '/v1/counter', { input: '{"of":"x"}' }],
      ['POST', '/v1/counter', { input: { of: 'x' } }],
    ] as const) {
      const service = new FakeService();
      await send(service.routes, method, address, body === undefined ? {} : { body });
      expect(service.storedRuns.get('r1')!.request.input).toEqual({ of: 'x' });
    }
  });

  test('ends with its connection, unless it was asked to keep running', async () => {
    for (const [body, endsWith] of [
      [{}, true],
      [{ stream: true }, true],
      [{ wait: false }, false],
      [{ resident: true }, false],
    ] as const) {
      const client = new AbortController();
      const service = new FakeService();
      await send(service.routes, 'POST', '/v1/writer', { body: { input: 'x', ...body }, signal: client.signal });
      client.abort();
      expect(service.storedRuns.get('r1')!.signal!.aborted).toBe(endsWith);
    }
  });

  test('that is not waited for leaves the queue when its client disconnects', async () => {
    const client = new AbortController();
    const service = new FakeService();
    let left = false;
    service.startRun = (_caller, _asked, signal) =>
      new Promise((_resolve, reject) => {
        signal!.addEventListener('abort', () => {
          left = true;
          reject(new CloisterError('cancelled'));
        });
      });
    const reply = send(service.routes, 'POST', '/v1/writer', {
      body: { input: 'x', wait: false },
      signal: client.signal,
    });
    client.abort();
    expect((await refusal(reply)).code).toBe('cancelled');
    expect(left).toBe(true);

    const waited: boolean[] = [];
    service.startRun = async (_caller, _asked, signal) => {
      waited.push(signal!.aborted);
      throw new CloisterError('cancelled');
    };
    const gone = { body: { input: 'x', wait: false }, signal: AbortSignal.abort() };
    await refusal(send(service.routes, 'POST', '/v1/writer', gone));
    expect(waited).toEqual([true]);
  });

  test.each([{ wait: false }, { resident: true }])(
    'with %o answers immediately with the path of its events',
    async (body) => {
      expect(await ask({}, body, { headers: { accept: 'text/event-stream' } })).toEqual({
        status: 202,
        body: { run: 'r1', agent: 'writer', events: '/v1/runs/r1/events' },
      });
    },
  );

  test('that is resident can wait for the answer to its first message', async () => {
    const asked: unknown[] = [];
    const answer: RunSession['answer'] = async (message) => {
      asked.push(message);
      return answered();
    };
    const { status, body } = json(await ask({ session: { answer } }, { resident: true, wait: true }));
    expect([status, body['output'], asked]).toEqual([200, 'Yes.', [undefined]]);
    const over = await ask(
      { outcome: { output: '', status: 'failed', failure: { code: 'model_rate' } } },
      { resident: true, wait: true },
    );
    expect(json(over)).toMatchObject({
      status: httpStatus('model_rate'),
      body: { run: 'r1', error: { code: 'model_rate' } },
    });
  });

  test('streams if that is requested, or if only events are accepted', async () => {
    const cases: readonly (readonly [JsonObject, string, boolean])[] = [
      [{ stream: true }, 'application/json', true],
      [{}, 'text/event-stream', true],
      [{}, 'Text/Event-Stream; q=1', true],
      [{}, 'application/json, text/event-stream', false],
      [{ stream: false }, 'text/event-stream', false],
      [{}, '*/*', false],
    ];
    for (const [body, accept, streams] of cases) {
      const service = new FakeService();
      const reply = await send(service.routes, 'POST', '/v1/writer', {
        body: { input: 'x', ...body },
        headers: { accept },
      });
      expect('events' in reply).toBe(streams);
      expect(service.storedRuns.get('r1')!.request.stream).toBe(streams ? true : undefined);
    }
  });
});

const answered = (over: Partial<Answer> = {}): Answer => ({
  id: 'm-2',
  correlation_id: 'm-1',
  agent_id: 'writer',
  status: 'completed',
  text: 'Yes.',
  error: null,
  at: 5,
  ...over,
});

const ids = (events: readonly ServerEvent[]) => events.flatMap(({ id }) => (id === undefined ? [] : [id]));

describe('events', () => {
  test('arrive once each, recorded ones with their id, and the outcome last', async () => {
    const events = await streamed(await ask({}, { stream: true, conversation: 'trip' }));
    expect(events.map(({ event }) => event)).toEqual([
      'session-start',
      'text-delta',
      'session-end',
      'text-delta',
      'outcome',
    ]);
    expect(ids(events)).toEqual(eventsOf('r1' as RunId).map(({ id }) => id));
    expect(JSON.parse(events[0]!.data)).toEqual(eventsOf('r1' as RunId)[0]);
    expect(JSON.parse(events.at(-1)!.data)).toEqual({ ...json(await ask({}, {})).body, conversation: 'trip' });
  });

  test('a failure is the last event, without its detail', async () => {
    for (const behaviour of [
      { eventsThrow: new CloisterError('store_failed', 'disk 7') },
      { outcomeRejects: new TypeError('disk 7') },
    ]) {
      const last = (await streamed(await ask(behaviour, { stream: true }))).at(-1)!;
      expect(last.event).toBe('error');
      expect(JSON.parse(last.data)).toHaveProperty('error.suggestion');
      expect(last.data).not.toContain('disk 7');
    }
  });

  const watch = async (behaviour: Behaviour, query = '', headers = {}) => {
    const { routes } = new FakeService(behaviour);
    await send(routes, 'POST', '/v1/writer', { body: { input: 'x', wait: false } });
    return send(routes, 'GET', `/v1/runs/r1/events${query}`, { headers });
  };

  test('continue after the last id, for which the header takes precedence over the parameter', async () => {
    const [first, second] = eventsOf('r1' as RunId).map(({ id }) => id);
    expect(ids(await streamed(await watch({})))).toEqual([first, second]);
    expect(ids(await streamed(await watch({}, `?after=${first}`)))).toEqual([second]);
    expect(ids(await streamed(await watch({}, '', { 'last-event-id': first })))).toEqual([second]);
    expect(ids(await streamed(await watch({}, `?after=${first}`, { 'last-event-id': second })))).toEqual([]);
  });

  test.each(['nonsense', 'writer-1/', 'writer-9/0', '/1', 'a/b/1'])('an id like %s is refused', async (id) => {
    const told = async (query: string, headers: object) => (await refusal(watch({}, query, headers))).failure;
    const because = (where: string) => ({
      code: 'request_invalid',
      detail: expect.stringMatching(`^${where}: the run`),
    });
    expect(await told('', { 'last-event-id': id })).toEqual(because('last-event-id'));
    expect(await told(`?after=${encodeURIComponent(id)}`, {})).toEqual(because('after'));
  });

  test('an impossible id is refused for a running run, too', async () => {
    for (const id of ['nonsense', 'writer-1/', '/1', 'a/b/1', 'writer-1/1\u00ff', 'writer-9/0'])
      expect((await refusal(watch({ session: {} }, '', { 'last-event-id': id }))).code).toBe('request_invalid');
  });

  test('end with the outcome of an ended or interrupted run, and without one if the run continues elsewhere', async () => {
    const last = async (behaviour: Behaviour) => {
      const { event, data } = (await streamed(await watch(behaviour))).at(-1)!;
      return [event, event === 'outcome' ? (JSON.parse(data) as JsonObject)['status'] : null];
    };
    expect(await last({})).toEqual(['outcome', 'completed']);
    expect(await last({ session: {}, outcome: { status: 'partial' } })).toEqual(['outcome', 'partial']);
    expect(await last({ state: 'interrupted' })).toEqual(['outcome', 'interrupted']);
    expect(await last({ state: 'running' })).toEqual(['text-delta', null]);
  });
});

describe('runs', () => {
  test('are listed newest first, to their own caller, without their owner', async () => {
    const { routes } = new FakeService();
    for (const caller of [ana, ben, ana, ana])
      await send(routes, 'POST', '/v1/writer', { body: { input: 'x' }, caller });
    const list = async (query: string, caller = ana) =>
      json(await send(routes, 'GET', `/v1/runs${query}`, { caller })).body;
    const all = await list('');
    expect(all).toMatchObject({
      runs: [{ run: 'r4' }, { run: 'r3' }, { run: 'r1', state: 'ended', spent }],
      more: false,
    });
    expect(JSON.stringify(all)).not.toContain('some-host');
    expect(await list('?limit=1')).toMatchObject({ runs: [{ run: 'r4' }], more: true });
    expect(await list('', ben)).toMatchObject({ runs: [{ run: 'r2' }], more: false });
    for (const limit of ['0', '-1', '1.5', '1001', 'x', ''])
      expect((await refusal(send(routes, 'GET', `/v1/runs?limit=${limit}`))).code).toBe('request_invalid');
  });

  test('a report is the outcome and more', async () => {
    const { routes } = new FakeService({ outcome: { data: { a: 1 }, missing: ['scout'] } });
    const answer = json(await send(routes, 'POST', '/v1/writer', { body: { input: 'x' } })).body;
    const report = json(await send(routes, 'GET', '/v1/runs/r1')).body;
    expect(report).toMatchObject(answer);
    expect(report).toMatchObject({ agent: 'writer', goal: 'x', startedAt: 1, endedAt: 2, cells: [{ cell: rootCell }] });
  });

  const ofRun: readonly (readonly ['GET' | 'POST' | 'DELETE', string, JsonObject | undefined])[] = [
    ['GET', '', undefined],
    ['GET', '/events', undefined],
    ['GET', '/messages', undefined],
    ['POST', '/cancel', undefined],
    ['GET', '/agents', undefined],
    ['POST', '/messages', { text: 'x' }],
    ['DELETE', '/agents/scout', undefined],
    ['POST', '/finish', undefined],
    ['POST', '/resume', undefined],
  ];

  test.each(ofRun)(
    '%s /v1/runs/:run%s: one of another caller is unknown, like one that is not there',
    async (method, path, body) => {
      const { routes } = new FakeService({ session: {} });
      await send(routes, 'POST', '/v1/writer', { body: { input: 'x', wait: false } });
      const sent = { caller: ben, ...(body === undefined ? {} : { body }) };
      const tell = async (run: string) =>
        restError(clientError(await refusal(send(routes, method, `/v1/runs/${run}${path}`, sent))), 'q1');
      expect(await tell('r1')).toEqual(await tell('r9'));
    },
  );

  test.each(ofRun.slice(3, -1))(
    '%s /v1/runs/:run%s: 409 if the run is not running on this server',
    async (method, path, body) => {
      const { routes } = new FakeService();
      await send(routes, 'POST', '/v1/writer', { body: { input: 'x' } });
      const { code } = await refusal(send(routes, method, `/v1/runs/r1${path}`, body === undefined ? {} : { body }));
      expect([code, httpStatus(code)]).toEqual(['cell_ended', 409]);
    },
  );

  test('an interrupted run is resumed; one that has ended or is running is refused with 409', async () => {
    const resumed = async (behaviour: ConstructorParameters<typeof FakeService>[0]) => {
      const { routes } = new FakeService(behaviour);
      await send(routes, 'POST', '/v1/writer', { body: { input: 'x', wait: false } });
      return send(routes, 'POST', '/v1/runs/r1/resume');
    };
    expect(json(await resumed({ state: 'interrupted' }))).toEqual({
      status: 202,
      body: { run: 'r1', agent: 'writer', events: '/v1/runs/r1/events' },
    });
    for (const [behaviour, refused] of [
      [{}, 'run_ended'],
      [{ session: {} }, 'run_owned'],
    ] as const) {
      const { code } = await refusal(resumed(behaviour));
      expect([code, httpStatus(code)]).toEqual([refused, 409]);
    }
  });

  test('cancelling and finishing reach the session', async () => {
    const told: unknown[] = [];
    const session = {
      cancel: () => void told.push('cancel'),
      finish: (name?: string) => void told.push(['finish', name]),
    };
    const { routes } = new FakeService({ session });
    await send(routes, 'POST', '/v1/writer', { body: { input: 'x', resident: true } });
    for (const [method, path] of [
      ['POST', '/cancel'],
      ['POST', '/finish'],
      ['DELETE', '/agents/scout%2F1'],
    ] as const)
      expect(json(await send(routes, method, `/v1/runs/r1${path}`))).toMatchObject({
        status: 202,
        body: { run: 'r1' },
      });
    expect(told).toEqual(['cancel', ['finish', undefined], ['finish', 'scout/1']]);
  });
});

describe('messages', () => {
  const write = async (session: Partial<RunSession>, body: JsonObject, signal?: AbortSignal) => {
    const { routes } = new FakeService({ session });
    await send(routes, 'POST', '/v1/writer', { body: { input: 'x', resident: true } });
    return send(routes, 'POST', '/v1/runs/r1/messages', { body, ...(signal === undefined ? {} : { signal }) });
  };

  test('are sent to their target, and identified by their id', async () => {
    const sent: unknown[] = [];
    const session: Partial<RunSession> = { send: (...all) => `m-${sent.push(all)}` };
    expect(json(await write(session, { text: 'a' }))).toEqual({ status: 202, body: { run: 'r1', message: 'm-1' } });
    await write(session, { text: 'b', to: 'scout' });
    await write(session, { text: 'c', topic: 'news', to: null });
    expect(sent).toEqual([
      ['a', {}],
      ['b', { to: 'scout' }],
      ['c', { topic: 'news' }],
    ]);
  });

  test('are answered if the client waits', async () => {
    const session = (answer: Answer) => ({ send: () => 'm-1', answer: async () => answer });
    expect(json(await write(session(answered()), { text: 'a', answer: true }))).toEqual({
      status: 200,
      body: {
        run: 'r1',
        message: 'm-2',
        answers: 'm-1',
        agent: 'writer',
        status: 'completed',
        output: 'Yes.',
        error: null,
      },
    });
    const failed = answered({ text: '', status: 'failed', error: 'model_rate' });
    expect(json(await write(session(failed), { text: 'a', answer: true }))).toMatchObject({
      status: httpStatus('model_rate'),
      body: { error: { code: 'model_rate' } },
    });
  });

  test('a client that disconnects stops waiting, and the session is told', async () => {
    const client = new AbortController();
    const session: Partial<RunSession> = {
      send: () => 'm-1',
      answer: (_message, { signal } = {}) =>
        new Promise((_resolve, reject) => {
          signal!.addEventListener('abort', () => reject(new CloisterError('cancelled')));
        }),
    };
    const reply = refusal(write(session, { text: 'a', answer: true }, client.signal));
    await new Promise((resolve) => setImmediate(resolve));
    client.abort();
    expect((await reply).code).toBe('cancelled');
  });

  test('a run that failed before it answered is reported without the detail', async () => {
    const session = {
      send: () => 'm-1',
      answer: async () => Promise.reject(new CloisterError('agent_invalid', 'line 7 of /etc')),
    };
    const error = await refusal(write(session, { text: 'a', answer: true }));
    expect(clientError(error)).toMatchObject({ code: 'agent_invalid', message: errorCatalogue.agent_invalid.summary });
  });
});

describe('errors name what is wrong with a request', () => {
  const cases: readonly (readonly [Parameters<typeof send>[1], string, JsonObject | undefined, string])[] = [
    ['GET', '/v1/writer', undefined, 'q: expected'],
    ['GET', '/v1/writer?q=x&fromat=json', undefined, 'fromat: unknown parameter. Did you mean format?'],
    ['GET', '/v1/writer?q=x&zebra=1', undefined, 'zebra: unknown parameter. Known: q, format,'],
    ['GET', '/v1/writer?q=x&q=y', undefined, 'q: given more than once'],
    ['GET', '/v1/writer?q=x&format=xml', undefined, 'format: expected text, markdown or json; got "xml"'],
    ['GET', '/v1/writer?q=x&schema=true', undefined, 'schema: expected a JSON object as text'],
    ['GET', '/v1/writer?q=x&schema={"a":1,"a":2}', undefined, 'Duplicate key "a"'],
    ['GET', '/v1/writer?q=x&schema={}&format=text', undefined, 'schema: only allowed with the format json, not text'],
    ['GET', '/v1/writer?q=x&budget_usd=-1', undefined, 'budget_usd: expected a number, 0 or more; got "-1"'],
    ['GET', '/v1/writer?q=x&budget_ms=', undefined, 'budget_ms: expected a whole number'],
    ['GET', '/v1/writer?q=x&stream=yes', undefined, 'stream: expected true or false'],
    ['GET', '/v1/counter?q=5', undefined, 'q: expected a JSON object as text'],
    ['GET', '/v1?verbose=1', undefined, 'verbose: unknown parameter. None is allowed here'],
    ['POST', '/v1/writer?q=x', { input: 'x' }, 'q: unknown parameter. None is allowed here'],
    ['POST', '/v1/writer', undefined, 'The body: expected a JSON object; got nothing'],
    ['POST', '/v1/writer', {}, 'input: expected a string, or an object'],
    [
      'POST',
      '/v1/writer',
      { input: 5 },
      'input: expected a string, or an object that matches the agent’s input schema; got 5',
    ],
    ['POST', '/v1/writer', { input: 'x', budgte: {} }, 'budgte: unknown field. Did you mean budget?'],
    ['POST', '/v1/writer', { input: 'x', env: { KEY: 'k' } }, 'env: unknown field.'],
    ['POST', '/v1/writer', { input: 'x', budget: { token: 1 } }, 'budget.token: unknown field. Did you mean tokens?'],
    [
      'POST',
      '/v1/writer',
      { input: 'x', budget: { tokens: -1 } },
      'budget.tokens: expected a whole number, 0 or more; got -1',
    ],
    ['POST', '/v1/writer', { input: 'x', schema: true }, 'schema: expected a JSON object; got true'],
    ['POST', '/v1/writer', { input: 'x', context: ['a', 1] }, 'context[1]: expected a string; got 1'],
    [
      'POST',
      '/v1/writer',
      { input: 'x', history: [{ by: 'me', text: 'x' }] },
      'history[0].by: expected person or agent',
    ],
    [
      'POST',
      '/v1/writer',
      { input: 'x', history: [{ by: 'agent', txt: 'x' }] },
      'history[0].txt: unknown field. Did you mean text?',
    ],
    [
      'POST',
      '/v1/writer',
      { input: 'x', history: [], conversation: 'c' },
      'history and conversation cannot be combined',
    ],
    ['POST', '/v1/writer', { input: 'x', wait: false, stream: true }, 'wait: false and stream cannot be combined'],
    ['POST', '/v1/writer', { input: 'x', resident: true, details: true }, 'resident and details cannot be combined'],
    ['POST', '/v1/writer', { input: 'x', resident: true, schema: {} }, 'resident and schema cannot be combined'],
    ['POST', '/v1/runs/r1/messages', { text: 'x', to: 'a', topic: 'b' }, 'set either `to` or `topic`, not both'],
    ['POST', '/v1/runs/r1/messages', { text: 'x', topic: 'b', answer: true }, 'topic and answer cannot be combined'],
    ['POST', '/v1/runs/r1/messages', { to: 'a' }, 'text: expected a string; got nothing'],
    ['POST', '/v1/runs/r1/cancel', { force: true }, 'force: unknown field. None is allowed here'],
    ['GET', '/v1/runs/r1/events?since=1', undefined, 'since: unknown parameter. Known: after'],
  ];

  test.each(cases)('%s %s %o: %s', async (method, address, body, words) => {
    const { routes } = new FakeService({ session: {} });
    await send(routes, 'POST', '/v1/writer', { body: { input: 'x', wait: false } });
    const error = await refusal(send(routes, method, address, body === undefined ? {} : { body }));
    const { status, message } = clientError(error);
    expect([status, error.code]).toEqual([400, 'request_invalid']);
    expect(message).toContain(words);
  });
});

test('an error has a code, a class, a message and a suggestion, and when to retry if that is known', () => {
  const { class: kind, summary, suggestion } = errorCatalogue.server_busy;
  const error = { code: 'server_busy', class: kind, message: summary, suggestion };
  expect(restError(clientFailure({ code: 'server_busy' }), 'q1')).toEqual({ error });
  expect(restError(clientFailure({ code: 'server_busy', retryAfterMs: 40 }), 'q1')).toEqual({
    error: { ...error, retryAfterMs: 40 },
  });
});
