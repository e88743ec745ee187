// The REST interface as its clients see it: over real HTTP, with scripted models.
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { validate } from '#adapters/schemas';
import { reservedNames } from '#headends/rest';
import { cliOutcomeJson as cliValue } from '../../../src/headends/cli/shared/answer.ts';
import { collect, serveTwoCallers } from './client.ts';
import type { Client, StreamedEvent } from './client.ts';

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const durable = (events: readonly StreamedEvent[]) => events.filter(({ id }) => id !== null).map(({ data }) => data);

/** An order to call a sub-agent. */
const callScout = (words: string) => `scout ${JSON.stringify({ prompt: words, reason: 'To know.' })}`;
const spawnScout = `spawn_agent ${JSON.stringify({ agent_id: 'scout' })}`;

describe('a run', () => {
  test('is answered in the form of run --json', async () => {
    const { ana, cloister } = await serveTwoCallers();
    for (const agent of ['echo', 'judge', 'lead', 'broken']) {
      const input = agent === 'lead' ? callScout('look') : 'look';
      const { status, body, headers } = await ana.post(`/v1/${agent}`, { input, details: true });
      const { cells, events } = await cloister.show(body.run, { sees: 'answers' });
      const { outcome, cell } = cells[0]!;
      const { error, ...told } = cliValue({ ...outcome!, run: body.run, cell });
      expect(body).toMatchObject(plain(told));
      expect(Object.keys(body)).toEqual([
        ...Object.keys(cliValue({ ...outcome!, run: body.run, cell })),
        'cells',
        'events',
      ]);
      expect(body.error?.code).toBe(error?.code);
      expect(body.events).toEqual(plain(events));
      expect(body.cells.map((one: any) => one.cell)).toEqual(cells.map((one) => one.cell));
      expect([agent, status]).toEqual([agent, agent === 'broken' ? 502 : 200]);
      expect(headers.get('x-should-retry')).toBe(agent === 'broken' ? 'false' : null);
      const { body: short } = await ana.get(`/v1/${agent}?q=${encodeURIComponent(input)}`);
      expect([short.status, short.output, short.data]).toEqual([body.status, body.output, body.data]);
    }
  });

  test('of a team without a usable plan is answered with what was wrong with the plan, not to be retried', async () => {
    const { ana } = await serveTwoCallers();
    const { status, body, headers } = await ana.post('/v1/crew', { input: 'look' });
    expect(body.error).toMatchObject({
      code: 'plan_invalid',
      message: 'The coordinator did not produce a usable plan. The answer is not JSON.',
    });
    expect([status, headers.get('x-should-retry')]).toEqual([422, 'false']);
    expect((await ana.get(`/v1/runs/${body.run}`)).body.error).toEqual(body.error);
  });

  test('can have a format that its agent does not define', async () => {
    const { ana } = await serveTwoCallers();
    const schema = { type: 'object', properties: { points: { type: 'integer' } } };
    const { body } = await ana.post('/v1/judge', { input: 'look', schema });
    expect(body).toMatchObject({ status: 'completed', data: { points: 3 } });
    const wrong = await ana.post('/v1/echo', { input: 'x', format: 'json' });
    expect([wrong.status, wrong.body.error.class]).toEqual([400, 'config']);
    const none = await ana.post('/v1/echo', { input: 'x', schema: { type: 'nonsense' } });
    expect([none.status, none.body.error.class]).toEqual([400, 'config']);
    const negative = await ana.get('/v1/echo?q=x&budget_tokens=-5');
    expect([negative.status, negative.body.error.code]).toEqual([400, 'request_invalid']);
  });

  test('streams every event once, then the same value', async () => {
    const { ana, cloister } = await serveTwoCallers();
    const events = await collect(
      ana.events('/v1/lead', { body: { input: callScout('data: x\n\nevent: y'), stream: true } }),
    );
    const { run, ...rest } = events.at(-1)!.data;
    expect(events.filter(({ event }) => event === 'outcome')).toHaveLength(1);
    expect(durable(events)).toEqual(plain((await cloister.show(run)).events));
    for (const { event, id, data } of events.slice(0, -1)) expect([data.type, data.id ?? null]).toEqual([event, id]);
    expect(events.some(({ event }) => event === 'text-delta')).toBe(true);
    const { body } = await ana.get(`/v1/runs/${run}`);
    expect(body).toMatchObject(rest);
  });

  test('can be continued after every single event', async () => {
    const { ana } = await serveTwoCallers();
    const { body } = await ana.post('/v1/lead', { input: callScout('look'), details: true });
    const { run, events, cells: _cells, ...outcome } = body;
    expect(events.length).toBeGreaterThan(10);
    for (const [place, { id }] of events.entries()) {
      const rest = await collect(ana.events(`/v1/runs/${run}/events`, { after: id }));
      expect(durable(rest)).toEqual(events.slice(place + 1));
      expect(rest.slice(-1)).toMatchObject([{ event: 'outcome', data: { run, ...outcome } }]);
    }
    const unknown = await ana.get(`/v1/runs/${run}/events?after=${events[0].cell}/99999`);
    expect([unknown.status, unknown.body.error.code]).toEqual([400, 'request_invalid']);
  });

  test.each(['memory', 'disk'])(
    'is told whole to a client whose connection breaks at every event (%s)',
    async (store) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'rest-'));
      const { ana, cloister, close } = await serveTwoCallers(store === 'disk' ? { workspace: folder.path } : {});
      const started = await ana.post('/v1/lead', { input: callScout('look'), wait: false });
      expect(started).toMatchObject({
        status: 202,
        body: { agent: 'lead', events: `/v1/runs/${started.body.run}/events` },
      });
      const seen: any[] = [];
      let outcome: StreamedEvent | undefined;
      while (outcome === undefined) {
        for await (const event of ana.events(started.body.events, { after: seen.at(-1)?.id })) {
          expect(event.event).not.toBe('error');
          if (event.event === 'outcome') outcome = event;
          if (event.id === null) continue;
          seen.push(event.data);
          break;
        }
      }
      expect(seen).toEqual(plain((await cloister.show(started.body.run)).events));
      expect(outcome.data.output).toContain('scout heard look');
      await close();
    },
  );

  // invariant: served-run-ends-with-client
  test('ends when its client disconnects, unless it was asked to keep running', async () => {
    const { ana, ben } = await serveTwoCallers();
    const leaving = new AbortController();
    const left = ana.post('/v1/echo', { input: 'wait' }, { signal: leaving.signal });
    const { run } = (await firstOf(ana, 1)).at(-1)!;
    leaving.abort();
    await expect(left).rejects.toThrow(/abort/u);
    expect((await collect(ana.events(`/v1/runs/${run}/events`))).at(-1)).toMatchObject({
      data: { status: 'cancelled' },
    });

    const apart = await ben.post('/v1/echo', { input: 'wait', wait: false });
    for await (const _event of ben.events(apart.body.events)) break;
    expect((await ben.get(`/v1/runs/${apart.body.run}`)).body.status).toBe('running');
    expect((await ben.post(`/v1/runs/${apart.body.run}/cancel`, {})).status).toBe(202);
  });

  test('can be cancelled once', async () => {
    const { ana, ben } = await serveTwoCallers();
    const { body } = await ana.post('/v1/lead', { input: callScout('wait'), wait: false });
    const watching = collect(ana.events(body.events));
    expect((await ben.post(`/v1/runs/${body.run}/cancel`, {})).status).toBe(404);
    expect(await ana.post(`/v1/runs/${body.run}/cancel`, {})).toMatchObject({ status: 202, body });
    expect((await watching).at(-1)).toMatchObject({ event: 'outcome', data: { status: 'cancelled' } });
    expect((await ana.get(`/v1/runs/${body.run}`)).body).toMatchObject({
      status: 'cancelled',
      error: { code: 'cancelled' },
    });
    expect(await ana.post(`/v1/runs/${body.run}/cancel`, {})).toMatchObject({
      status: 409,
      body: { error: { code: 'cell_ended' } },
    });
  });
});

/** Waits until a caller has so many runs. */
const firstOf = async (client: Client, many: number): Promise<any[]> => {
  for (;;) {
    const { body } = await client.get('/v1/runs');
    if (body.runs.length >= many) return body.runs;
  }
};

describe('a resident run', () => {
  test('stays alive over many messages, and so do the agents it starts', async () => {
    const { ana } = await serveTwoCallers();
    const { status, body: started } = await ana.post('/v1/host', { input: 'hello', resident: true });
    expect(status).toBe(202);
    const path = `/v1/runs/${started.run}`;
    const tell = (text: string, more: object = {}) => ana.post(`${path}/messages`, { text, answer: true, ...more });
    const names = async () => (await ana.get(`${path}/agents`)).body.agents.map((one: any) => one.sub_agent_id);

    expect(await tell('again')).toMatchObject({
      status: 200,
      body: { run: started.run, agent: 'host', output: 'host heard again, 1 before' },
    });
    expect((await tell(spawnScout)).body.output).toContain('done:');
    expect(await names()).toEqual(['host', 'scout']);
    expect(await tell('look', { to: 'scout' })).toMatchObject({
      body: { agent: 'scout', output: 'scout heard look, 0 before' },
    });
    expect(await tell('look', { to: 'nobody' })).toMatchObject({
      status: 404,
      body: { error: { code: 'mail_unknown' } },
    });

    const events = ana.events(started.events);
    expect(await ana.remove(`${path}/agents/scout`)).toMatchObject({ status: 202 });
    for await (const { data } of events) if (data.type === 'session-end' && data.agent === 'scout') break;
    expect(await names()).toEqual(['host']);
    expect((await ana.remove(`${path}/agents/scout`)).status).toBe(404);

    expect(await ana.post(`${path}/finish`, {})).toMatchObject({ status: 202 });
    expect((await collect(ana.events(started.events))).at(-1)).toMatchObject({
      event: 'outcome',
      data: { status: 'completed' },
    });
    for (const gone of [
      ana.get(`${path}/agents`),
      tell('more'),
      ana.post(`${path}/finish`, {}),
      ana.remove(`${path}/agents/host`),
    ])
      expect(await gone).toMatchObject({ status: 409, body: { error: { code: 'cell_ended' } } });
  });

  test('returns the answer to its first message to a client that waits for it', async () => {
    const { ana } = await serveTwoCallers();
    const { status, body } = await ana.post('/v1/host', { input: 'hello', resident: true, wait: true });
    expect([status, body.output, body.answers]).toEqual([200, 'host heard hello, 0 before', null]);
    const sent = await ana.post(`/v1/runs/${body.run}/messages`, { text: 'no hurry' });
    expect(sent).toMatchObject({
      status: 202,
      body: { run: body.run, message: expect.stringMatching(/^m-/u) as string },
    });
    const failed = await ana.post('/v1/broken', { input: 'hello', resident: true, wait: true });
    expect(failed).toMatchObject({ status: 502, body: { error: { class: 'auth' } } });
  });
});

describe('what belongs to one caller:', () => {
  test('a conversation continues over several requests, and is separate from another caller’s of the same name', async () => {
    const { ana, ben } = await serveTwoCallers();
    const say = async (client: Client, input: string) =>
      (await client.post('/v1/echo', { input, conversation: 'trip' })).body;
    expect(await say(ana, 'one')).toMatchObject({ output: 'echo heard one, 0 before', conversation: 'trip' });
    expect(await say(ana, 'two')).toMatchObject({ output: 'echo heard two, 1 before' });
    expect(await say(ben, 'three')).toMatchObject({ output: 'echo heard three, 0 before' });
    expect((await ana.get('/v1/echo?q=four&conversation=trip')).body.output).toBe('echo heard four, 2 before');
    const told = [
      { by: 'person', text: 'a' },
      { by: 'agent', text: 'b' },
    ];
    expect((await ana.post('/v1/echo', { input: 'five', history: told })).body.output).toBe(
      'echo heard five, 1 before',
    );
  });

  test('a run is unknown to another caller, at every path', async () => {
    const { ana, ben } = await serveTwoCallers();
    const { body } = await ana.post('/v1/host', { input: 'secret words', resident: true });
    const tell = async (run: string) => {
      const path = `/v1/runs/${run}`;
      const answers = await Promise.all([
        ...['', '/events', '/agents', '/messages'].map((end) => ben.get(path + end)),
        ...['/cancel', '/finish', '/resume'].map((end) => ben.post(path + end, {})),
        ben.post(`${path}/messages`, { text: 'x' }),
        ben.remove(`${path}/agents/host`),
      ]);
      return answers.map(({ status, body: told }) => ({ status, told: JSON.stringify(told).replaceAll(run, '') }));
    };
    const answers = await tell(body.run);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    expect(answers).toEqual(await tell('nothing-of-that-name'));
    expect((await ben.get('/v1/runs')).body.runs).toEqual([]);
    expect((await ana.get('/v1/runs')).body.runs).toMatchObject([{ run: body.run, state: 'running' }]);
  });
});

describe('the OpenAPI document', () => {
  test('is valid, and every path in it is answered', async () => {
    const { ana } = await serveTwoCallers();
    const { body: document } = await ana.get('/openapi.json');
    expect((await new Validator().validate(plain(document))).errors ?? []).toEqual([]);
    const paths = Object.entries<Record<string, any>>(document.paths);
    expect(paths.length).toBeGreaterThan(15);
    for (const [path, methods] of paths) {
      expect([path, reservedNames.includes(/^\/v1\/([^/{]+)/u.exec(path)?.[1] ?? 'runs')]).toEqual([path, true]);
      for (const method of Object.keys(methods)) {
        const address = path.replaceAll(/\{[^}]+\}/gu, 'x');
        const { status, body } = await (method === 'get'
          ? ana.get(address)
          : method === 'post'
            ? ana.post(address, {})
            : ana.remove(address));
        expect([path, status]).not.toEqual([path, 405]);
        // For everybody but operators, there is nothing there.
        const isOperators = String(methods[method].description).includes('Only for operators');
        expect([path, body.error?.code === 'route_unknown']).toEqual([path, isOperators]);
      }
    }
  });

  test('describes the answers', async () => {
    const { ana } = await serveTwoCallers();
    const { body: document } = await ana.get('/openapi.json');
    const fits = (path: string, method: string, { status, body }: { status: number; body: any }) => {
      const { responses } = document.paths[path][method];
      const { schema } = (responses[status] ?? responses.default).content['application/json'];
      expect([path, status, ...validate({ ...schema, components: document.components }, body)]).toEqual([path, status]);
    };
    fits('/v1', 'get', await ana.get('/v1'));
    fits('/v1/{agent}', 'get', await ana.get('/v1/echo?q=x&details=true'));
    fits('/v1/{agent}', 'get', await ana.get('/v1/echo?x=x'));
    fits('/v1/{agent}', 'post', await ana.post('/v1/broken', { input: 'x' }));
    const started = await ana.post('/v1/host', { input: 'x', resident: true });
    fits('/v1/{agent}', 'post', started);
    const path = `/v1/runs/${started.body.run}`;
    fits('/v1/runs', 'get', await ana.get('/v1/runs?limit=2'));
    fits('/v1/runs/{run}/messages', 'post', await ana.post(`${path}/messages`, { text: 'x' }));
    fits('/v1/runs/{run}/messages', 'post', await ana.post(`${path}/messages`, { text: 'x', answer: true }));
    const { body: asked } = await ana.get('/v1/echo?q=y&details=true');
    fits('/v1/runs/{run}/messages', 'get', await ana.get(`/v1/runs/${asked.run}/messages`));
    fits('/v1/runs/{run}/messages', 'get', await ana.get(`${path}/messages`));
    fits('/v1/runs/{run}/agents', 'get', await ana.get(`${path}/agents`));
    fits('/v1/runs/{run}', 'get', await ana.get(path));
    fits('/v1/runs/{run}/cancel', 'post', await ana.post(`${path}/cancel`, {}));
    fits('/v1/runs/{run}', 'get', await ana.get('/v1/runs/nothing'));
  });
});

describe('an agent under a live one', () => {
  test('is started by the caller of the run, within the `spawns` of the agent above, and by nobody else', async () => {
    const { ana, ben, cloister } = await serveTwoCallers();
    const { body: run } = await ana.post('/v1/host', { input: 'hello', resident: true });
    const path = `/v1/runs/${run.run}/agents`;
    const started = await ana.post(path, { agent: 'scout', goal: 'look', metadata: { role: 'eyes' } });
    expect(started).toMatchObject({
      status: 201,
      body: { run: run.run, sub_agent_id: 'scout', status: 'running', subscribed_topics: [] },
    });
    const { body: listed } = await ana.get(path);
    expect(listed.agents.map((one: any) => [one.agent, one.parent, one.metadata])).toEqual([
      ['host', null, {}],
      ['scout', listed.agents[0].cell, { role: 'eyes' }],
    ]);
    const refused = await ana.post(path, { agent: 'echo' });
    expect([refused.status, refused.body.error.code]).toEqual([403, 'spawn_refused']);
    expect(refused.body.error.message).toContain('AGENT_NOT_FOUND');
    const wrong = await ana.post(path, { agent: 'scout', share: ['system'] });
    expect([wrong.status, wrong.body.error.code]).toEqual([400, 'request_invalid']);
    const stranger = await ben.post(path, { agent: 'scout' });
    expect([stranger.status, stranger.body.error.code]).toEqual([404, 'run_unknown']);
    await ana.post(`/v1/runs/${run.run}/finish`, undefined);
    for (let left = 1_000; left > 0 && (await ana.get(`/v1/runs/${run.run}`)).body.endedAt === null; left--);
    expect(await cloister.audit(run.run)).toMatchObject({ ok: true, problems: [] });
    expect((await ana.post(path, { agent: 'scout' })).status).toBe(409);
  });
});
