// Operators: tokens that read, steer and answer for all runs of a workspace, and are callers of their own for what they start.
// invariants: run-belongs-to-caller, service-others-unknown, service-answers-by-right, checkpoint-belongs-to-caller, account-of-caller
import { describe, expect, onTestFinished, test } from 'vitest';
import { hashToken, openCloister, openServer } from 'cloister';
import type { Agent, TokenEntry } from 'cloister';
import { newWorkspace } from '../conversations-driver.ts';
import { askingAgent } from './asking-agent.ts';
import { gatedAgent } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const entry = (name: string, more: Partial<TokenEntry> = {}): TokenEntry => ({
  name,
  sha256: hashToken(name),
  ...more,
});

const tokens: readonly TokenEntry[] = [
  entry('ann', { budget: { tokens: 50_000 }, allowance: { per: 'day', tokens: 100_000 }, agents: ['lead'] }),
  entry('ben'),
  entry('boss', { operator: true }),
  entry('board', { operator: true, may: ['watch'] }),
];

type Reply = { readonly status: number; readonly body: any };

const serve = async (agent: Agent, workspace?: string, entries = tokens) => {
  const storage = workspace === undefined ? ({ store: 'memory' } as const) : { workspace };
  const cloister = await openCloister({ agents: [agent], ...storage });
  const server = await openServer(cloister, { tokens: entries });
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await server.stop(0);
    await cloister.close();
  };
  onTestFinished(close);
  const get = async (token: string, path: string): Promise<Reply> => {
    const response = await server.fetch(getRequest(path, token));
    return { status: response.status, body: await response.json() };
  };
  const post = async (token: string, path: string, body: object = {}): Promise<Reply> => {
    const response = await server.fetch(postRequest(path, token, body));
    return { status: response.status, body: await response.json() };
  };
  const runs = async (token: string) => (await get(token, '/v1/runs')).body.runs as any[];
  const ended = async (run: string) => {
    await expect.poll(async () => (await get('boss', `/v1/runs/${run}`)).body.endedAt).not.toBe(null);
    return (await get('boss', `/v1/runs/${run}`)).body;
  };
  return { cloister, server, get, post, runs, ended, close };
};

const readPaths = ['', '/events', '/messages', '/transcript', '/ledger', '/windows', '/tasks', '/audit', '/questions'];

describe('an operator', () => {
  test('reads the runs of all callers and of the command line; everybody else only their own', async () => {
    const { agent } = askingAgent();
    const { cloister, get, post, runs } = await serve(agent);
    for (const name of ['ann', 'ben', 'boss']) await post(name, '/v1/lead', { input: `Say ${name}.` });
    await cloister.run('lead', 'Say nobody.').outcome;
    const all = await runs('boss');
    expect(new Map(all.map(({ goal, caller }) => [goal, caller]))).toEqual(
      new Map([
        ['Say ann.', 'ann'],
        ['Say ben.', 'ben'],
        ['Say boss.', 'boss'],
        ['Say nobody.', null],
      ]),
    );
    for (const name of ['ann', 'ben'])
      expect((await runs(name)).map(({ goal, caller }) => [goal, caller])).toEqual([[`Say ${name}.`, undefined]]);
    const unknown = await get('ben', '/v1/runs/ffffffffffff');
    for (const { run, caller } of all)
      for (const path of readPaths) {
        if (path !== '/events')
          expect([path, (await get('boss', `/v1/runs/${run}${path}`)).status]).toEqual([path, 200]);
        if (caller !== 'ben') expect(await get('ben', `/v1/runs/${run}${path}`)).toEqual(unknown);
      }
  });

  test('cancels, continues and forks runs of others; a fork is its own, a continued run is not', async () => {
    const { agent, gate } = gatedAgent('lead');
    const workspace = newWorkspace();
    const first = await serve(agent, workspace);
    const { run } = (await first.post('ann', '/v1/lead', { input: 'One.', wait: false })).body;
    const second = (await first.post('ann', '/v1/lead', { input: 'Two.', wait: false })).body.run as string;
    await gate.arrived(2);
    expect((await first.post('ben', `/v1/runs/${run}/cancel`)).status).toBe(404);
    expect((await first.post('boss', `/v1/runs/${run}/cancel`)).status).toBe(202);
    expect(await first.ended(run)).toMatchObject({ status: 'cancelled' });
    gate.open();
    await first.ended(second);
    const [root] = (await first.get('boss', `/v1/runs/${second}`)).body.cells;
    const forked = (await first.post('boss', `/v1/runs/${second}/fork`, { at: root.cell })).body.run as string;
    await first.ended(forked);
    const lessGranted = { at: root.cell, goal: 'Other.', withoutGrants: ['history'] };
    expect((await first.post('ann', `/v1/runs/${second}/fork`, lessGranted)).body.error.code).toBe(
      'request_unsupported',
    );
    const changed = (await first.post('boss', `/v1/runs/${second}/fork`, lessGranted)).body;
    expect(changed.error?.code ?? (await first.ended(changed.run)).goal).toMatch(/Other\.|fork_invalid/u);
    expect((await first.runs('boss')).find((one) => one.run === forked)).toMatchObject({ caller: 'boss' });
    expect(new Set((await first.runs('ann')).map((one) => one.run))).toEqual(new Set([run, second]));
  });

  test('answers questions of all runs, also of the command line, unless the rule says that the asker may not', async () => {
    const { agent, sent } = askingAgent();
    const { cloister, get, post, ended } = await serve(agent);
    const { run } = (await post('ann', '/v1/lead', { input: 'x', wait: false })).body;
    const local = cloister.run('lead', 'y');
    const list = async (token: string) => (await get(token, '/v1/questions')).body.questions as any[];
    await expect.poll(() => list('boss')).toHaveLength(2);
    expect(await list('ben')).toEqual([]);
    expect((await list('board')).map(({ mayAnswer }) => mayAnswer)).toEqual([false, false]);
    for (const question of await list('boss')) {
      const caller = question.run === run ? 'ann' : null;
      expect(question).toMatchObject({ mayAnswer: true, caller, path: ['lead'] });
      const answer = { allow: true, sha256: question.sha256 };
      expect((await post('ben', `/v1/questions/${question.id}`, answer)).status).toBe(404);
      expect((await post('board', `/v1/questions/${question.id}`, answer)).status).toBe(403);
      expect((await post('boss', `/v1/questions/${question.id}`, answer)).body).toMatchObject({ state: 'allowed' });
    }
    await ended(run);
    await local.outcome;
    expect(sent.sort()).toEqual(['x', 'y']);
    for (const one of [run, local.run])
      expect((await get('boss', `/v1/runs/${one}/audit`)).body).toMatchObject({ ok: true, problems: [] });
  });

  test.each([
    [{ not: 'asker' as const }, [true, false, false]],
    [{ by: ['ann'] }, [false, false, false]],
    [{ by: ['boss'] }, [true, true, true]],
  ])('answers as the rule %o allows: for ann, for itself, for the command line', async (mark, expected) => {
    const { cloister, get, post } = await serve(askingAgent(mark).agent);
    for (const name of ['ann', 'boss']) await post(name, '/v1/lead', { input: 'x', wait: false });
    cloister.run('lead', 'x');
    const list = async () => (await get('boss', '/v1/questions')).body.questions as any[];
    await expect.poll(list).toHaveLength(3);
    const asked = await list();
    const runs = (await get('boss', '/v1/runs')).body.runs as any[];
    const may = (caller: string | null) =>
      asked.find(({ run }) => run === runs.find((one) => one.caller === caller).run).mayAnswer as boolean;
    expect([may('ann'), may('boss'), may(null)]).toEqual(expected);
  });

  test('continues with its answer what nobody runs any more: of the command line, and of a caller without a token', async () => {
    const { agent, sent } = askingAgent();
    const workspace = newWorkspace();
    const before = await openCloister({ agents: [agent], workspace });
    for (const options of [{}, { caller: 'ann' }, { caller: 'gone' }]) {
      const session = before.run('lead', options.caller ?? 'nobody', options);
      session.outcome.catch(() => undefined);
      await expect.poll(() => session.waitsForPeople).toBe(true);
      expect(session.leave()).toBe(true);
    }
    await before.close();
    const { get, post, ended } = await serve(agent, workspace);
    const asked = (await get('boss', '/v1/questions')).body.questions as any[];
    expect(asked.map(({ caller, mayAnswer }) => [caller, mayAnswer])).toEqual([
      [null, true],
      ['ann', true],
      ['gone', true],
    ]);
    for (const { id, sha256, run } of asked) {
      const told = await post('boss', `/v1/questions/${id}`, { allow: true, sha256 });
      expect([told.status, told.body.state]).toEqual([200, 'allowed']);
      expect((await ended(run)).status).toBe('completed');
    }
    expect(sent).toEqual(['nobody', 'ann', 'gone']);
  });

  test('takes no message away from the caller that it is for', async () => {
    const { agent, gate } = gatedAgent('lead');
    const { get, post } = await serve(agent);
    gate.open();
    const { run } = (await post('ann', '/v1/lead', { input: 'Live.', resident: true, wait: false })).body;
    const answer = async (token: string, after = '') =>
      ((await get(token, `/v1/runs/${run}/messages${after}`)).body.messages as any[]).find(({ by }) => by === 'agent');
    await expect.poll(() => answer('ann')).toMatchObject({ delivered: false });
    const { message } = await answer('boss');
    await get('boss', `/v1/runs/${run}/messages?after=${message}`);
    const { events } = (await get('boss', `/v1/runs/${run}/events?limit=1000`)).body;
    await get('boss', `/v1/runs/${run}/events?limit=10&after=${events.at(-1).id}`);
    expect(await answer('ann')).toMatchObject({ delivered: false });
    await get('ann', `/v1/runs/${run}/messages?after=${message}`);
    await expect.poll(() => answer('boss')).toMatchObject({ delivered: true });
    expect((await post('boss', `/v1/runs/${run}/finish`)).status).toBe(202);
  });
});

test('an operator that answers for a run of a caller, and stops reading it, does not end it', async () => {
  const gate = Promise.withResolvers<string>();
  const { agent, sent } = askingAgent(
    {},
    {
      tools: [{ name: 'send', description: 'Sends.', inputSchema: { type: 'object' }, execute: () => gate.promise }],
    },
  );
  const { server, get, post, ended } = await serve(agent);
  const runs: string[] = [];
  for (const path of ['/ag-ui/lead', '/ui/lead']) {
    const { run } = (await post('ann', '/v1/lead', { input: 'x', wait: false })).body;
    runs.push(run);
    const asked = async () =>
      ((await get('boss', '/v1/questions')).body.questions as any[]).filter((one) => one.run === run);
    await expect.poll(asked).toHaveLength(1);
    const [{ id }] = await asked();
    const approval = { type: 'dynamic-tool', toolName: 'send', toolCallId: id, state: 'approval-responded' };
    const body = {
      '/ag-ui/lead': {
        threadId: 't',
        runId: 'r',
        messages: [],
        resume: [{ interruptId: id, status: 'resolved', payload: { approved: true } }],
      },
      '/ui/lead': {
        id: 'c',
        messages: [{ role: 'assistant', parts: [{ ...approval, input: {}, approval: { id, approved: true } }] }],
      },
    }[path]!;
    const reader = new AbortController();
    const response = await server.fetch(postRequest(path, 'boss', body, reader.signal));
    expect(response.status).toBe(200);
    await expect.poll(async () => (await get('ann', `/v1/runs/${run}`)).body.status).toBe('running');
    reader.abort();
    await response.body?.cancel().catch(() => undefined);
  }
  gate.resolve('sent');
  for (const run of runs) expect((await ended(run)).status).toBe('completed');
  expect(sent).toEqual([]);
});

test('a key of the operator is not a key of the caller, although both write to one run', async () => {
  const { agent, gate } = gatedAgent('lead');
  const { server, post, get } = await serve(agent);
  gate.open();
  const { run } = (await post('ann', '/v1/lead', { input: 'Live.', resident: true, wait: false })).body;
  const write = async (token: string, text: string): Promise<Reply> => {
    const request = postRequest(`/v1/runs/${run}/messages`, token, { text });
    request.headers.set('idempotency-key', 'k1');
    const response = await server.fetch(request);
    return { status: response.status, body: await response.json() };
  };
  const [first, second, again] = [await write('boss', 'Hi.'), await write('ann', 'Hi.'), await write('ann', 'Hi.')];
  expect([first.status, second.status, again]).toEqual([202, 202, second]);
  expect(second.body.message).not.toBe(first.body.message);
  expect(await write('boss', 'Ho.')).toMatchObject({ status: 422, body: { error: { code: 'key_reused' } } });
  const written = async () =>
    ((await get('ann', `/v1/runs/${run}/messages`)).body.messages as any[]).filter(({ text }) => text === 'Hi.').length;
  await expect.poll(written).toBe(2);
  await post('ann', `/v1/runs/${run}/finish`);
});

describe('checkpoints of others', () => {
  test('and turns are continued within the budget of their caller, whoever asks for it', async () => {
    const workspace = newWorkspace();
    const { agent } = askingAgent();
    const ann = (tokenCount: number): readonly TokenEntry[] => [
      entry('ann', { budget: { tokens: tokenCount } }),
      entry('boss', { operator: true }),
    ];
    const before = await serve(agent, workspace, ann(50_000));
    const turn = (await before.post('ann', '/v1/lead', { input: 'Say one.', conversation: 'trip' })).body.run;
    const waiting = (await before.post('ann', '/v1/lead', { input: 'x', conversation: 'walk', wait: false })).body.run;
    await expect.poll(async () => (await before.get('ann', '/v1/questions')).body.questions).toHaveLength(1);
    const { id } = (await before.post('ann', `/v1/runs/${waiting}/checkpoints`)).body;
    await before.post('ann', `/v1/runs/${waiting}/cancel`);
    await before.ended(waiting);
    await before.close();
    const { post, runs } = await serve(agent, workspace, ann(20_000));
    for (const path of [`/v1/runs/${turn}/retry`, `/v1/checkpoints/${id}/restore`]) {
      expect(await post('ann', path)).toMatchObject({ status: 400, body: { error: { code: 'checkpoint_invalid' } } });
      expect(await post('boss', path)).toMatchObject({ status: 400, body: { error: { code: 'checkpoint_invalid' } } });
    }
    expect(await runs('ann')).toHaveLength(2);
  });

  test('are restored in the name of their caller, and branched in the operator’s own', async () => {
    const { agent } = askingAgent();
    const { get, post, ended, runs } = await serve(agent);
    const say = async (token: string, input: string) =>
      (await post(token, '/v1/lead', { input, conversation: 'trip' })).body.run as string;
    const one = await say('ann', 'Say one.');
    const { id } = (await post('boss', `/v1/runs/${one}/checkpoints`)).body;
    expect((await get('boss', `/v1/checkpoints/${id}`)).body.checkpoint.conversation.name).toBe('ann/trip');
    expect((await get('ann', `/v1/checkpoints/${id}`)).body.checkpoint.conversation.name).toBe('trip');
    expect((await post('ben', `/v1/checkpoints/${id}/restore`)).status).toBe(404);
    await say('ann', 'Say two.');
    expect((await post('boss', `/v1/checkpoints/${id}/restore`)).body.conversation.name).toBe('ann/trip');
    const branched = (await post('boss', `/v1/checkpoints/${id}/branch`, {})).body;
    expect(branched.conversation.name).toBe('ann/trip-branch');
    const next = (await post('boss', '/v1/lead', { input: 'Say three.', conversation: 'ann/trip-branch' })).body.run;
    expect((await ended(next)).status).toBe('completed');
    expect((await get('boss', `/v1/runs/${next}/messages`)).body.messages.map(({ text }: any) => text)).toEqual([
      'Say one.',
      'Said: Say one.',
      'Say three.',
      'Said: Say three.',
    ]);
    expect((await runs('ann')).map(({ run }) => run)).not.toContain(next);
  });
});

describe('accounts', () => {
  test('a caller reads about its own token', async () => {
    const { get, post } = await serve(askingAgent().agent);
    await post('ann', '/v1/lead', { input: 'Say one.' });
    const me = (await get('ann', '/v1/me')).body;
    expect(me).toMatchObject({
      name: 'ann',
      operator: false,
      sees: 'answers',
      watchOnly: false,
      agents: 1,
      workspace: null,
      budget: { tokens: 50_000 },
      allowance: { per: 'day', tokens: { limit: 100_000 }, usd: null },
    });
    expect(me.allowance.tokens.used).toBeGreaterThan(0);
    expect(me.allowance.resetsAt).toBeGreaterThan(Date.now() - 1);
    expect((await get('boss', '/v1/me')).body).toMatchObject({ operator: true, sees: 'contents', allowance: null });
    expect((await get('board', '/v1/me')).body).toMatchObject({ name: 'board', watchOnly: true, agents: 0 });
  });

  test('only an operator reads about the others', async () => {
    const { get } = await serve(askingAgent().agent);
    expect(await get('ann', '/v1/callers')).toEqual(await get('ben', '/v1/callers'));
    expect((await get('ann', '/v1/callers')).status).toBe(404);
    for (const token of ['boss', 'board']) {
      const { callers } = (await get(token, '/v1/callers')).body;
      expect(callers.map(({ name, may }: any) => [name, may])).toEqual([
        ['ann', null],
        ['ben', null],
        ['boss', null],
        ['board', ['watch']],
      ]);
      expect(callers[0]).toMatchObject({ agents: ['lead'], runningNow: 0, expiresAt: null });
      expect(JSON.stringify(callers)).not.toContain(hashToken('ann'));
    }
  });
});
