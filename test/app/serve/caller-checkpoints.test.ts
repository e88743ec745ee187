// Checkpoints that callers take, read and continue from over HTTP.
// invariants: checkpoint-belongs-to-caller, checkpoint-id-no-path, branch-stays-with-caller
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { validate } from '#adapters/schemas';
import type { JsonObject } from '#base';
import { defineAgent, hashToken, openServer } from 'cloister';
import type { TokenEntry } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import { serveAgents } from '../../headends/http/driver.ts';
import { newWorkspace } from '../conversations-driver.ts';
import { Gate } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const caller = (name: string, more: Partial<TokenEntry> = {}): TokenEntry => ({
  name,
  sha256: hashToken(name),
  ...more,
});

const callers: readonly TokenEntry[] = [
  caller('ana', { agents: ['lead', 'aide'] }),
  caller('bob'),
  { ...caller('ana', { may: ['watch'] }), sha256: hashToken('glass') },
  caller('board', { may: ['watch'], operator: true }),
];

type Operation = readonly [name: string, path: (id: string, own: string) => string, body?: object];

type Reply = { readonly status: number; readonly body: JsonObject };

/** `lead` answers with what it was asked before; a goal with `wait` waits for the gate. `aide` takes histories, `vault` does not. */
const serve = async ({ tokens = callers, workspace }: { tokens?: readonly TokenEntry[]; workspace?: string } = {}) => {
  const gate = new Gate();
  const wait = {
    name: 'wait',
    inputSchema: { type: 'object' },
    repeat: 'free' as const,
    execute: () => new Promise<string>((done) => void gate.hold(() => done('Waited.'))),
  };
  const reply = ({ goal, toolResults, messages }: RequestView): ScriptedReply => {
    if (goal.includes('wait') && toolResults.length === 0) return { calls: [{ tool: 'wait' }] };
    const heard = new Set(JSON.stringify(messages).match(/Goal \d/gu) ?? []);
    return { text: `Heard: ${[...heard].join(', ')}` };
  };
  const common = { description: 'Works.', prompt: 'Work.', models: [rehearse([{ reply }])] };
  const grants = ['goal', 'result', 'history'] as const;
  const agents = [
    defineAgent({ ...common, name: 'lead', tools: [wait] }),
    defineAgent({ ...common, name: 'aide', grants }),
    defineAgent({ ...common, name: 'vault', grants }),
  ];
  const served = await serveAgents({ agents, tokens, ...(workspace === undefined ? {} : { workspace }) });
  const via =
    ({ fetch }: Pick<typeof served.server, 'fetch'>) =>
    async (token: string, path: string, body?: object): Promise<Reply> => {
      const response = await fetch(body === undefined ? getRequest(path, token) : postRequest(path, token, body));
      return { status: response.status, body: (await response.json()) as JsonObject };
    };
  const send = via(served.server);
  const ask = async (token: string, input: string, more: object = {}): Promise<string> =>
    (await send(token, '/v1/lead', { input, ...more })).body['run'] as string;
  const take = async (token: string, run: string, label?: string): Promise<string> =>
    (await send(token, `/v1/runs/${run}/checkpoints`, label === undefined ? {} : { label })).body['id'] as string;
  /** A checkpoint of a run in the middle of its work, which has ended since. */
  const inTheMiddle = async (token: string, more: object = {}) => {
    const run = await ask(token, 'Goal 2: wait.', { ...more, wait: false });
    await gate.arrived(1);
    const id = await take(token, run, 'in the middle');
    gate.open({ stay: true });
    await ended(token, run);
    return { run, id };
  };
  const ended = async (token: string, run: string): Promise<JsonObject> => {
    await served.server.fetch(getRequest(`/v1/runs/${run}/events`, token)).then((one) => one.text());
    return (await send(token, `/v1/runs/${run}`)).body;
  };
  return { ...served, gate, via, send, ask, take, inTheMiddle, ended };
};

const codeOf = ({ status, body }: Reply): readonly unknown[] => [
  status,
  (body['error'] as JsonObject | null)?.['code'],
];

/** The words of a refusal, without what differs between two requests. */
const wordsOf = ({ status, body }: Reply, ...names: readonly string[]): string =>
  names.reduce(
    (text, name) => text.replaceAll(name, '…'),
    JSON.stringify([status, { ...(body['error'] as JsonObject), request_id: null }]),
  );

const operations: readonly Operation[] = [
  ['show', (id) => `/v1/checkpoints/${id}`],
  ['diff', (id, own) => `/v1/checkpoints/${id}/diff?with=${own}`],
  ['diff with', (id, own) => `/v1/checkpoints/${own}/diff?with=${id}`],
  ['restore', (id) => `/v1/checkpoints/${id}/restore`, {}],
  ['branch', (id) => `/v1/checkpoints/${id}/branch`, {}],
];

describe('a caller', () => {
  test('takes, lists, shows and compares checkpoints of its runs, as the document describes', async () => {
    const { send, ask, take, inTheMiddle, cloister } = await serve();
    const first = await ask('ana', 'Goal 1.', { conversation: 'trip' });
    const one = await take('ana', first);
    const { id, run } = await inTheMiddle('ana', { conversation: 'trip' });
    const { body: document } = await send('ana', '/openapi.json');
    const paths = document['paths'] as Record<string, Record<string, { responses: Record<string, JsonObject> }>>;
    const read = async (path: string, described: string): Promise<JsonObject> => {
      const { status, body } = await send('ana', path);
      const { content } = paths[described]!['get']!.responses[status] as { content: Record<string, JsonObject> };
      const schema = content['application/json']!['schema'] as JsonObject;
      expect([status, validate({ ...schema, components: document['components']! }, body)]).toEqual([200, []]);
      return body;
    };
    const { checkpoints } = (await read('/v1/checkpoints', '/v1/checkpoints')) as { checkpoints: JsonObject[] };
    const asked = checkpoints.filter(({ why }) => why === 'asked');
    expect(asked).toMatchObject([
      { id, run, agent: 'lead', conversation: { agent: 'lead', name: 'trip' }, label: 'in the middle' },
      { id: one, run: first, label: '' },
    ]);
    expect(await read(`/v1/checkpoints?run=${run}&limit=1`, '/v1/checkpoints')).toMatchObject({
      checkpoints: [{ run, why: 'autosave' }],
      more: true,
    });
    expect((await send('ana', '/v1/checkpoints?agent=nobody')).body).toEqual({ checkpoints: [], more: false });
    expect(await read(`/v1/checkpoints/${id}`, '/v1/checkpoints/{checkpoint}')).toMatchObject({
      checkpoint: { id },
      continues: true,
      cells: [{ agent: 'lead', status: 'running', depth: 0 }],
      files: [],
    });
    expect((await send('ana', `/v1/checkpoints/${one}`)).body).toMatchObject({ continues: false });
    const diff = await read(`/v1/checkpoints/${one}/diff?with=${id}`, '/v1/checkpoints/{checkpoint}/diff');
    const { cells, files, tokens, crossings } = await cloister.checkpoints.diff(one, id);
    expect(diff).toMatchObject({ one: { id: one }, other: { id }, cells, files, tokens, crossings });
  });

  test('restores one: the run continues as a new run of its own, and the conversation with it', async () => {
    const { send, ask, inTheMiddle, ended, gate, cloister } = await serve();
    await ask('ana', 'Goal 1.', { conversation: 'trip' });
    const { id, run } = await inTheMiddle('ana', { conversation: 'trip' });
    await ask('ana', 'Goal 3.', { conversation: 'trip' });
    const { status, body } = await send('ana', `/v1/checkpoints/${id}/restore`, {});
    expect([status, body]).toMatchObject([
      202,
      {
        checkpoint: id,
        conversation: { agent: 'lead', name: 'trip' },
        events: `/v1/runs/${body['run'] as string}/events`,
      },
    ]);
    await gate.arrived(1);
    gate.open();
    const continued = body['run'] as string;
    expect(continued).not.toBe(run);
    expect(await ended('ana', continued)).toMatchObject({ status: 'completed', output: 'Heard: Goal 1, Goal 2' });
    expect(await cloister.runs({ run: continued })).toMatchObject([{ caller: 'ana' }]);
    expect(await cloister.audit(continued)).toMatchObject({ ok: true });
    const { output } = (await send('ana', '/v1/lead', { input: 'Goal 4.', conversation: 'trip' })).body;
    expect(output).toMatch(/^Heard: Goal 1, Goal 2.*Goal 4$/u);
    expect(output).not.toContain('Goal 3');
  });

  test('restores one where the run had ended: only the conversation is reset, and no slot is needed', async () => {
    const { send, ask, take, gate } = await serve({ tokens: [caller('ana', { running: 1 })] });
    const run = await ask('ana', 'Goal 1.', { conversation: 'trip' });
    const id = await take('ana', run);
    await ask('ana', 'Goal 2.', { conversation: 'trip' });
    await ask('ana', 'Goal 9: wait.', { wait: false });
    await gate.arrived(1);
    expect(await send('ana', `/v1/checkpoints/${id}/restore`, {})).toEqual({
      status: 200,
      body: { checkpoint: id, conversation: { agent: 'lead', name: 'trip' }, run: null, events: null },
    });
    gate.open();
    expect((await send('ana', '/v1/lead', { input: 'Goal 3.', conversation: 'trip' })).body['output']).toMatch(
      /^Heard: Goal 1.*Goal 3$/u,
    );
  });

  test('branches one into a conversation of its own, whatever it is called', async () => {
    const { send, ask, take, cloister } = await serve();
    for (const token of ['ana', 'bob']) {
      const long = 'x'.repeat(50);
      const run = await ask(token, 'Goal 1.', { conversation: long });
      const alone = await ask(token, 'Goal 2.');
      const branches = [
        [await take(token, run), { name: 'other' }, 'other'],
        [await take(token, run), {}, `${'x'.repeat(36)}-branch`],
        [await take(token, run), {}, `${'x'.repeat(36)}-branch-2`],
        [await take(token, alone), {}, 'main-branch'],
        [await take(token, alone), { name: 'bob/main' }, 'bob/main'],
        [await take(token, alone), { name: '../ana' }, '../ana'],
        [await take(token, run), { name: 'for aide', agent: 'aide' }, 'for aide'],
      ] as const;
      for (const [id, body, name] of branches) {
        const agent = 'agent' in body ? body.agent : 'lead';
        expect(await send(token, `/v1/checkpoints/${id}/branch`, body)).toEqual({
          status: 200,
          body: { checkpoint: id, conversation: { agent, name }, run: null, events: null },
        });
        const { output } = (await send(token, `/v1/${agent}`, { input: 'Goal 5.', conversation: name })).body;
        expect(output).toMatch(/^Heard: Goal [12].*Goal 5$/u);
      }
    }
    const names = (await cloister.conversations.list()).map(({ name }) => name);
    expect(names.every((name) => /^(?:ana|bob)\//u.test(name))).toBe(true);
    expect(
      names
        .filter((name) => name.startsWith('ana/'))
        .map((name) => name.slice(4))
        .sort(),
    ).toEqual(
      names
        .filter((name) => name.startsWith('bob/'))
        .map((name) => name.slice(4))
        .sort(),
    );
  });

  test('branches a run that had not ended: it continues as a run, in a conversation if one is named', async () => {
    const { send, inTheMiddle, ended, gate, cloister } = await serve();
    const { id } = await inTheMiddle('ana');
    gate.open();
    for (const body of [{}, { name: 'aside' }]) {
      const reply = await send('ana', `/v1/checkpoints/${id}/branch`, body);
      const conversation = 'name' in body ? { agent: 'lead', name: 'aside' } : null;
      expect(reply).toMatchObject({ status: 202, body: { conversation } });
      expect(await ended('ana', reply.body['run'] as string)).toMatchObject({ status: 'completed' });
    }
    expect((await cloister.conversations.list()).map(({ name }) => name)).toEqual(['ana/aside']);
  });

  test.each([
    ['a name that exists', { name: 'trip' }, 'name_invalid'],
    ['a name that is too long', { name: 'x'.repeat(51) }, 'name_invalid'],
    ['an invisible name', { name: '\u200B' }, 'name_invalid'],
    ['a field that is not hers', { budgetMax: {} }, 'request_invalid'],
    ['another caller', { caller: 'bob' }, 'request_invalid'],
    ['an environment', { env: {} }, 'request_invalid'],
  ])('cannot branch to %s', async (_what, body, code) => {
    const { send, ask, take, cloister } = await serve();
    const id = await take('ana', await ask('ana', 'Goal 1.', { conversation: 'trip' }));
    expect(codeOf(await send('ana', `/v1/checkpoints/${id}/branch`, body))).toEqual([400, code]);
    expect(await cloister.conversations.list()).toHaveLength(1);
  });

  test('gives no conversation to an agent that it may not use: it is as unknown as one that does not exist', async () => {
    const { send, ask, take } = await serve();
    const id = await take('ana', await ask('ana', 'Goal 1.', { conversation: 'trip' }));
    const to = async (agent: string) =>
      wordsOf(await send('ana', `/v1/checkpoints/${id}/branch`, { agent, name: 'away' }), agent);
    expect(await to('vault')).toContain('agent_unknown');
    expect(await to('vault')).toBe(await to('nobody'));
  });

  test.each([
    [{ label: 'x'.repeat(201) }, 'name_invalid'],
    [{ label: 7 }, 'request_invalid'],
    [{ why: 'autosave' }, 'request_invalid'],
  ])('is told what is wrong with %j', async (body, code) => {
    const { send, ask, cloister } = await serve();
    const run = await ask('ana', 'Goal 1.');
    expect(codeOf(await send('ana', `/v1/runs/${run}/checkpoints`, body))).toEqual([400, code]);
    expect(await cloister.checkpoints.list()).toEqual([]);
  });

  test('is told that a continuation has no key', async () => {
    const { server, ask, take } = await serve();
    const id = await take('ana', await ask('ana', 'Goal 1.'));
    const request = postRequest(`/v1/checkpoints/${id}/branch`, 'ana', {});
    request.headers.set('idempotency-key', 'once');
    expect((await server.fetch(request)).status).toBe(400);
  });
});

describe('another caller’s checkpoint is as unknown as one that never existed', () => {
  test.each(operations.map((one) => ({ name: one[0], one })))('$name', async ({ one: [, path, body] }) => {
    const { send, ask, take, cloister } = await serve();
    const mine = await take('bob', await ask('bob', 'Goal 1.', { conversation: 'trip' }));
    const foreign = await take('ana', await ask('ana', 'Goal 1.', { conversation: 'trip' }));
    const before = [await cloister.runs(), await cloister.conversations.list(), await cloister.checkpoints.list()];
    const unknown = wordsOf(await send('bob', path('ffffffffffff', mine), body), 'ffffffffffff');
    expect(unknown).toContain('checkpoint_unknown');
    expect(wordsOf(await send('bob', path(foreign, mine), body), foreign)).toBe(unknown);
    expect([await cloister.runs(), await cloister.conversations.list(), await cloister.checkpoints.list()]).toEqual(
      before,
    );
  });

  test('take, and list', async () => {
    const { send, ask, take, cloister } = await serve();
    const run = await ask('ana', 'Goal 1.', { conversation: 'trip' });
    await take('ana', run);
    const [unknown, foreign] = [
      await send('bob', '/v1/runs/ffffffffffff/checkpoints', {}),
      await send('bob', `/v1/runs/${run}/checkpoints`, {}),
    ];
    expect(codeOf(unknown)).toEqual([404, 'run_unknown']);
    expect(wordsOf(foreign, run)).toBe(wordsOf(unknown, 'ffffffffffff'));
    for (const query of ['', `?run=${run}`, '?agent=lead'])
      expect((await send('bob', `/v1/checkpoints${query}`)).body).toEqual({ checkpoints: [], more: false });
    expect((await cloister.checkpoints.list()).filter(({ why }) => why === 'asked')).toHaveLength(1);
  });

  test('nor does a caller see what the operator keeps, even in a conversation that has its name', async () => {
    const { send, cloister } = await serve();
    const session = await cloister.runTurn('lead', 'Goal 1.', { conversation: 'ana/trip' });
    await session.outcome;
    const coded = await cloister.runTurn('lead', 'Goal 2.', { conversation: 'plans', caller: 'ana' });
    await coded.outcome;
    for (const { run } of [session, coded]) {
      const { id } = await cloister.checkpoints.create(run);
      for (const [, path, body] of operations)
        expect(codeOf(await send('ana', path(id, id), body))).toEqual([404, 'checkpoint_unknown']);
    }
    expect((await send('ana', '/v1/checkpoints')).body).toEqual({ checkpoints: [], more: false });
  });
});

test('an id is never a path, not even that of the caller’s own exported checkpoint', async () => {
  const workspace = newWorkspace();
  const { send, ask, take } = await serve({ workspace });
  const id = await take('ana', await ask('ana', 'Goal 1.', { conversation: 'trip' }));
  const files = globSync(`**/${id}.json`, { cwd: workspace }).map((file) => join(workspace, file));
  expect(files).toHaveLength(1);
  const hostile = [
    ...files,
    `${id}.json`,
    `./${id}`,
    `${id}/`,
    id.slice(0, 6),
    id.toUpperCase().replace(/^\d+$/u, 'A'),
    'last',
    '/etc/passwd',
    '../../../etc/passwd',
    '..\\x.json',
    '__proto__',
    'constructor',
    '\u0000',
    ' ',
    'x'.repeat(2_000),
  ];
  for (const one of hostile)
    for (const [, path, body] of operations) {
      const reply = await send('ana', path(encodeURIComponent(one), id), body);
      expect([400, 404]).toContain(reply.status);
      expect(JSON.stringify(reply.body)).not.toMatch(/no such file|is damaged|belongs to another/iu);
    }
});

describe('a token that only watches', () => {
  test('reads the checkpoints of its own name, or those of everybody for the operator, and does nothing with them', async () => {
    const { send, ask, take, cloister } = await serve();
    const ofAna = await take('ana', await ask('ana', 'Goal 1.', { conversation: 'trip' }));
    const ofBob = await take('bob', await ask('bob', 'Goal 1.', { conversation: 'trip' }));
    const list = async (token: string) =>
      (
        (await send(token, '/v1/checkpoints')).body['checkpoints'] as {
          id: string;
          why: string;
          conversation: object;
        }[]
      ).filter(({ why }) => why === 'asked');
    expect((await list('glass')).map(({ id }) => id)).toEqual([ofAna]);
    expect(await list('glass')).toEqual(await list('ana'));
    expect(await list('board')).toMatchObject([
      { id: ofBob, conversation: { name: 'bob/trip' } },
      { id: ofAna, conversation: { name: 'ana/trip' } },
    ]);
    expect(codeOf(await send('glass', `/v1/checkpoints/${ofBob}`))).toEqual([404, 'checkpoint_unknown']);
    const before = [await cloister.runs(), await cloister.conversations.list(), await cloister.checkpoints.list()];
    for (const token of ['glass', 'board']) {
      for (const [, path, body] of operations) {
        const reply = codeOf(await send(token, path(ofAna, ofAna), body));
        expect(reply).toEqual(body === undefined ? [200, undefined] : [403, 'watch_only']);
      }
      const { run } = (await cloister.checkpoints.list())[0]!;
      expect(codeOf(await send(token, `/v1/runs/${run}/checkpoints`, {}))).toEqual([403, 'watch_only']);
    }
    expect([await cloister.runs(), await cloister.conversations.list(), await cloister.checkpoints.list()]).toEqual(
      before,
    );
  });
});

// invariant: service-request-in-budget
describe('a run that continues from a checkpoint is a run like any other', () => {
  test.each(['restore', 'branch'])('for the budget of its token, as it is now: %s', async (act) => {
    const { inTheMiddle, cloister, via } = await serve({ tokens: [caller('ana', { budget: { tokens: 10_000 } })] });
    const { id } = await inTheMiddle('ana', { conversation: 'trip' });
    const later = await openServer(cloister, { tokens: [caller('ana', { budget: { tokens: 9_000 } })] });
    const refused = await via(later)('ana', `/v1/checkpoints/${id}/${act}`, {});
    expect([...codeOf(refused), JSON.stringify(refused.body)]).toEqual([
      400,
      'checkpoint_invalid',
      expect.stringContaining('which is above yours'),
    ]);
    expect([later.running, (await cloister.runs()).length]).toEqual([0, 1]);
    await later.stop(0);
  });

  test.each(['restore', 'branch'])('for the slots of its caller: %s', async (act) => {
    const { send, ask, inTheMiddle, gate, cloister } = await serve({ tokens: [caller('ana', { running: 1 })] });
    const { id } = await inTheMiddle('ana', { conversation: 'trip' });
    await ask('ana', 'Goal 9: wait.', { wait: false });
    await gate.arrived(1);
    const continued = send('ana', `/v1/checkpoints/${id}/${act}`, {});
    await new Promise((resolve) => void setImmediate(resolve));
    expect(await cloister.runs()).toHaveLength(2);
    gate.open();
    expect(await continued).toMatchObject({ status: 202 });
  });

  test.each(['restore', 'branch'])('for the agents of its token: %s', async (act) => {
    const { inTheMiddle, cloister, via } = await serve();
    const { id } = await inTheMiddle('ana', { conversation: 'trip' });
    const later = await openServer(cloister, { tokens: [caller('ana', { agents: ['aide'] })] });
    expect(codeOf(await via(later)('ana', `/v1/checkpoints/${id}/${act}`, {}))).toEqual([404, 'agent_unknown']);
    expect(await cloister.runs()).toHaveLength(1);
    await later.stop(0);
  });
});
