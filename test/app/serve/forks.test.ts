// Forks that callers start over HTTP: what they may change, and what they may spend.
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#base';
import { defineAgent, hashToken, openServer } from 'cloister';
import type { TokenEntry } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import { serveAgents } from '../../headends/http/driver.ts';
import { Gate } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const caller = (name: string, more: Partial<TokenEntry> = {}): TokenEntry => ({
  name,
  sha256: hashToken(name),
  ...more,
});

type Reply = { readonly status: number; readonly body: JsonObject };

/** An agent that counts, asks another one, and answers with what it was told. Goals with `wait` wait for the gate. */
const serve = async (tokens: readonly TokenEntry[] = [caller('ana'), caller('bob')]) => {
  let counted = 0;
  const gate = new Gate();
  const count = { name: 'count', inputSchema: { type: 'object' }, execute: () => `Count ${(counted += 1)}.` };
  const wait = {
    name: 'wait',
    inputSchema: { type: 'object' },
    execute: () => new Promise<string>((resolve) => void gate.hold(() => resolve('Waited.'))),
  };
  const reply = ({ agent, goal, turn, lastText }: RequestView): ScriptedReply => {
    if (agent === 'aide') return { text: `Aided: ${goal}` };
    if (turn === 1) return { calls: [{ tool: goal.includes('wait') ? 'wait' : 'count' }] };
    if (turn === 2) return { calls: [{ tool: 'aide', args: { prompt: 'Help.' } }] };
    return { text: `${goal} ${lastText}` };
  };
  const model = rehearse([{ reply }]);
  const common = { description: 'Works.', prompt: 'Work.', models: [model] };
  const aide = defineAgent({ ...common, name: 'aide' });
  const lead = defineAgent({ ...common, name: 'lead', tools: [count, wait], agents: [aide] });
  const served = await serveAgents({ agents: [lead], tokens });
  const via =
    ({ fetch }: Pick<typeof served.server, 'fetch'>) =>
    async (token: string, path: string, body?: object): Promise<Reply> => {
      const response = await fetch(body === undefined ? getRequest(path, token) : postRequest(path, token, body));
      return { status: response.status, body: (await response.json()) as JsonObject };
    };
  const send = via(served.server);
  const start = async (token: string, input = 'Go.'): Promise<{ run: string; root: string; child: string }> => {
    const run = (await send(token, '/v1/lead', { input })).body['run'] as string;
    const [root, child] = (await served.cloister.show(run)).cells;
    return { run, root: root!.cell, child: child!.cell };
  };
  /** Waits for the fork's end. */
  const fork = async (token: string, run: string, body: object): Promise<Reply> => {
    const { status, body: begun } = await send(token, `/v1/runs/${run}/fork`, body);
    if (status !== 202) return { status, body: begun };
    await served.server.fetch(getRequest(`/v1/runs/${begun['run'] as string}/events`, token)).then((one) => one.text());
    return send(token, `/v1/runs/${begun['run'] as string}`);
  };
  return { ...served, gate, model, via, send, start, fork, counted: () => counted };
};

const codeOf = ({ status, body }: Reply): readonly unknown[] => [
  status,
  (body['error'] as JsonObject | null)?.['code'],
];

describe('a caller', () => {
  test('forks its run with another goal, and the fork is a run of its own', async () => {
    const { send, start, fork, cloister, counted } = await serve();
    const { run, root } = await start('ana');
    const { body } = await fork('ana', run, { at: root, goal: 'Stay.' });
    expect(body).toMatchObject({ status: 'completed', agent: 'lead', output: expect.stringContaining('Stay.') });
    const id = body['run'] as string;
    expect(id).not.toBe(run);
    expect(counted()).toBe(2);
    const { runs } = (await send('ana', '/v1/runs')).body as { runs: readonly { run: string }[] };
    expect(runs.map((one) => one.run).sort()).toEqual([run, id].sort());
    expect((await send('bob', '/v1/runs')).body).toEqual({ runs: [], more: false, next: null });
    expect(codeOf(await send('bob', `/v1/runs/${id}`))).toEqual([404, 'run_unknown']);
    expect((await send('ana', `/v1/runs/${run}/diff?with=${id}`)).body).toMatchObject({
      fork: { run: id, from: { run }, amendment: { agent: 'lead', goal: 'Stay.' } },
    });
    expect(await cloister.audit(id)).toMatchObject({ ok: true });
  });

  test('forks its run at an operation, and what was done before is not done again', async () => {
    const { start, fork, cloister, counted, model } = await serve();
    const { run, child, root } = await start('ana');
    const asked = model.requests.length;
    const { body } = await fork('ana', run, { at: child });
    expect(body).toMatchObject({ status: 'completed', output: expect.stringContaining('Aided: Help.') });
    expect(counted()).toBe(1);
    expect(model.requests.length - asked).toBe(2);
    expect((await cloister.show(body['run'] as string)).cells[0]!.cell).toBe(root);
  });

  test('gives no goal to an agent below the one that it may use', async () => {
    const { start, fork, cloister, model } = await serve();
    const { run, child, root } = await start('ana');
    const asked = model.requests.length;
    for (const at of [child, `${root}/0`, 'nobody']) {
      const refused = await fork('ana', run, { at, goal: 'Tell me everything.' });
      expect([...codeOf(refused), JSON.stringify(refused.body)]).toEqual([
        400,
        'fork_invalid',
        expect.stringContaining(`at ${root}`),
      ]);
    }
    expect(model.requests.length).toBe(asked);
    expect(await cloister.runs()).toHaveLength(1);
  });

  test.each([
    [{ model: 'openai/gpt-5' }, 'request_unsupported'],
    [{ withoutGrants: ['result'] }, 'request_unsupported'],
    [{ withoutGrants: ['everything'] }, 'request_invalid'],
    [{ env: { KEY: 'x' } }, 'request_invalid'],
    [{ budgetMax: { tokens: 9 } }, 'request_invalid'],
  ])('cannot change what is the operator’s: %j', async (more, code) => {
    const { start, fork, cloister } = await serve();
    const { run, root } = await start('ana');
    expect(codeOf(await fork('ana', run, { at: root, ...more }))).toEqual([400, code]);
    expect(await cloister.runs()).toHaveLength(1);
  });

  test.each([{}, { at: 7 }, { at: 'nobody' }, { at: '' }, { at: '__proto__/1' }])(
    'is told what is wrong with %j',
    async (body) => {
      const { start, fork, cloister } = await serve();
      const { run } = await start('ana');
      expect((await fork('ana', run, body)).status).toBe(400);
      expect(await cloister.runs()).toHaveLength(1);
    },
  );

  test('tries its run again with another budget, at most what its token allows', async () => {
    const { start, fork, cloister } = await serve([caller('ana', { budget: { tokens: 50_000 } })]);
    const { run, root, child } = await start('ana');
    const forked = await fork('ana', run, { at: root, budget: { tokens: 40_000, ms: 60_000 } });
    expect(forked.body).toMatchObject({ status: 'completed', budget: { tokens: 40_000, ms: 60_000 } });
    const clamped = await fork('ana', run, { at: root, budget: { tokens: 90_000 } });
    expect(clamped.body).toMatchObject({ status: 'completed', budget: { tokens: 50_000 } });
    expect(codeOf(await fork('ana', run, { at: child, budget: { tokens: 9 } }))).toEqual([400, 'fork_invalid']);
    expect(codeOf(await fork('ana', run, { at: root, budget: { tokens: -9 } }))[0]).toBe(400);
    expect(await cloister.runs()).toHaveLength(3);
  });

  test('is told that a fork has no key', async () => {
    const { start, server, cloister } = await serve();
    const { run, root } = await start('ana');
    const request = postRequest(`/v1/runs/${run}/fork`, 'ana', { at: root });
    request.headers.set('idempotency-key', 'once');
    const response = await server.fetch(request);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('request_unsupported')]);
    expect(await cloister.runs()).toHaveLength(1);
  });
});

// invariant: service-others-unknown
test('another caller’s run is as unknown to a fork as one that never existed', async () => {
  const { start, fork, cloister } = await serve();
  const { run, root } = await start('ana');
  const unknown = await fork('bob', 'ffffffffffff', { at: root });
  expect(codeOf(unknown)).toEqual([404, 'run_unknown']);
  const { request_id: _id, ...error } = unknown.body['error'] as JsonObject;
  expect((await fork('bob', run, { at: root })).body['error']).toMatchObject(error);
  expect(await cloister.runs()).toHaveLength(1);
});

// invariant: service-request-in-budget
describe('a fork is a run like any other', () => {
  test('for the slots of its caller', async () => {
    const { send, start, gate, cloister } = await serve([caller('ana', { running: 1 })]);
    const { run, root } = await start('ana');
    const first = send('ana', '/v1/lead', { input: 'Go and wait.' });
    await gate.arrived(1);
    const forked = send('ana', `/v1/runs/${run}/fork`, { at: root });
    expect(await cloister.runs()).toHaveLength(2);
    gate.open();
    expect(await first).toMatchObject({ status: 200 });
    expect(await forked).toMatchObject({ status: 202 });
    expect(await cloister.runs()).toHaveLength(3);
  });

  test('for the allowance of its caller', async () => {
    const limits = { budget: { tokens: 20_000 }, allowance: { tokens: 20_100, per: 'month' } } as const;
    const { start, fork, cloister } = await serve([caller('ana', limits)]);
    const { run, root } = await start('ana');
    const { spent } = await cloister.show(run);
    expect(spent.inputTokens + spent.outputTokens).toBeGreaterThan(100);
    expect(codeOf(await fork('ana', run, { at: root }))).toEqual([429, 'allowance_used']);
    expect(await cloister.runs()).toHaveLength(1);
  });

  test.each([{ tokens: 9_000 }, { usd: 1 }, { ms: 1_000 }, { spawns: 1 }, { memory: 1_000_000 }])(
    'for the budget of its token, as it is now: %j',
    async (budget) => {
      const { start, cloister, via } = await serve([caller('ana', { budget: { tokens: 10_000 } })]);
      const { run, root } = await start('ana');
      const later = await openServer(cloister, { tokens: [caller('ana', { budget, running: 1 })] });
      const send = via(later);
      const refused = await send('ana', `/v1/runs/${run}/fork`, { at: root });
      expect([...codeOf(refused), JSON.stringify(refused.body)]).toEqual([
        400,
        'fork_invalid',
        expect.stringContaining('which is above yours'),
      ]);
      expect(await cloister.runs()).toHaveLength(1);
      expect(later.running).toBe(0);
      await later.stop(0);
    },
  );
});

test('a fork that the operator starts belongs to no caller', async () => {
  const { send, start, cloister } = await serve();
  const { run, root } = await start('ana');
  const forked = await (await cloister.fork(run, { at: root })).outcome;
  expect(codeOf(await send('ana', `/v1/runs/${forked.run}`))).toEqual([404, 'run_unknown']);
  expect((await cloister.show(forked.run)).caller).toBe(null);
  const own = await (await cloister.fork(run, { at: root, caller: 'bob' })).outcome;
  expect((await send('bob', `/v1/runs/${own.run}`)).status).toBe(200);
  expect(codeOf(await send('ana', `/v1/runs/${own.run}`))).toEqual([404, 'run_unknown']);
  expect((await cloister.show(own.run)).caller).toBe('bob');
});
