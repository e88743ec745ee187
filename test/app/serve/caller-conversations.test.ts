// Conversations over REST: who sees which, their turns, and turns that are tried again.
// invariants: conversation-belongs-to-caller, run-list-of-caller, run-list-reads-bounded, facts-read-bounded
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import type { TokenEntry } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { newWorkspace } from '../conversations-driver.ts';
import { gatedAgent } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const entry = (name: string, more: Partial<TokenEntry> = {}): TokenEntry => ({
  name,
  sha256: hashToken(name),
  ...more,
});

const tokens: readonly TokenEntry[] = [
  entry('ann'),
  entry('ben'),
  { ...entry('ann', { may: ['watch'] }), sha256: hashToken('glass') },
  entry('boss', { operator: true }),
];

/** Counts how often each goal was asked, so that another try says something else. */
const countingAgents = () => {
  const times = new Map<string, number>();
  const reply = ({ goal, messages }: { goal: string; messages: readonly unknown[] }) => {
    const last = goal.split('\n').at(-1)!;
    const nth = (times.get(last) ?? 0) + 1;
    times.set(last, nth);
    if (last.includes('fail')) return { error: 'model_refused' as never, text: '' };
    return { text: `${last} #${nth} after ${messages.length}` };
  };
  const models = [rehearse([{ reply }])];
  const common = { description: 'Counts.', prompt: 'Count.', models };
  return [
    defineAgent({ ...common, name: 'lead', grants: ['goal', 'result', 'history'] }),
    defineAgent({ ...common, name: 'aide', grants: ['goal', 'result', 'history'] }),
  ];
};

type Reply = { readonly status: number; readonly body: any };

const serve = async (workspace?: string) => {
  const storage = workspace === undefined ? ({ store: 'memory' } as const) : { workspace };
  const cloister = await openCloister({ agents: countingAgents(), ...storage });
  const server = await openServer(cloister, { tokens });
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  const send = async (request: Request): Promise<Reply> => {
    const response = await server.fetch(request);
    return { status: response.status, body: await response.json() };
  };
  const get = (token: string, path: string) => send(getRequest(path, token));
  const post = (token: string, path: string, body: object = {}) => send(postRequest(path, token, body));
  const remove = (token: string, path: string) => send(new Request(getRequest(path, token), { method: 'DELETE' }));
  const say = async (token: string, input: string, conversation?: string): Promise<string> =>
    (await post(token, '/v1/lead', { input, ...(conversation === undefined ? {} : { conversation }) })).body.run;
  const show = async (token: string, name: string) =>
    (await get(token, `/v1/conversations/lead/${encodeURIComponent(name)}`)).body;
  const ended = async (token: string, run: string) => {
    await expect.poll(async () => (await get(token, `/v1/runs/${run}`)).body.endedAt).not.toBe(null);
    return (await get(token, `/v1/runs/${run}`)).body;
  };
  return { cloister, get, post, remove, say, show, ended };
};

describe('conversations', () => {
  test('are listed and shown to their caller, whoever watches it, and the operator', async () => {
    const { cloister, get, say, show } = await serve();
    const runs = [await say('ann', 'One.', 'trip'), await say('ann', 'Two.', 'trip')];
    await say('ben', 'Three.', 'trip');
    await (
      await cloister.runTurn('lead', 'Four.', { conversation: 'trip' })
    ).outcome;
    // Not hers, although it has her name.
    await (
      await cloister.runTurn('lead', 'Five.', { conversation: 'ann/secret' })
    ).outcome;
    const names = async (token: string, query = '') =>
      ((await get(token, `/v1/conversations${query}`)).body.conversations as any[])
        .map(({ agent, name, turns }) => `${agent} ${name} ${turns}`)
        .sort((one, other) => (one < other ? -1 : 1));
    expect(await names('ann')).toEqual(['lead trip 2']);
    expect(await names('glass')).toEqual(['lead trip 2']);
    expect(await names('ben')).toEqual(['lead trip 1']);
    expect(await names('boss')).toEqual(['lead ann/secret 1', 'lead ann/trip 2', 'lead ben/trip 1', 'lead trip 1']);
    expect(await names('boss', '?agent=aide')).toEqual([]);
    const shown = await show('ann', 'trip');
    expect(shown).toMatchObject({
      agent: 'lead',
      name: 'trip',
      more: false,
      turns: [
        { run: runs[0], goal: 'One.', output: 'One. #1 after 2', status: 'completed', versions: [runs[0]] },
        { run: runs[1], goal: 'Two.', status: 'completed', versions: [runs[1]] },
      ],
      branches: [],
    });
    expect(await show('glass', 'trip')).toEqual(shown);
    expect((await show('boss', 'ann/trip')).turns).toEqual(shown.turns);
    expect((await get('ann', '/v1/conversations/lead/trip?limit=1')).body).toMatchObject({
      more: true,
      turns: [{ run: runs[1] }],
    });
  });

  test('of others are as unknown as those that nobody has', async () => {
    const { cloister, get, remove, say } = await serve();
    await say('ann', 'One.', 'trip');
    await (
      await cloister.runTurn('lead', 'Five.', { conversation: 'ben/secret' })
    ).outcome;
    const told = async (name: string) => {
      const path = `/v1/conversations/lead/${encodeURIComponent(name)}`;
      const all = [await get('ben', path), await remove('ben', path), await remove('ben', `${path}?force=true`)];
      return JSON.stringify(all).replaceAll(name, '');
    };
    const nothing = await told('nothing');
    expect(nothing).toContain('404');
    for (const name of ['trip', 'ann/trip', 'secret', 'ben/secret']) expect(await told(name)).toBe(nothing);
    expect((await get('ben', '/v1/conversations')).body).toEqual({ conversations: [] });
    expect((await get('ann', '/v1/conversations')).body.conversations).toHaveLength(1);
  });

  test('are deleted by their caller, and not by whoever watches', async () => {
    const { get, remove, say } = await serve();
    await say('ann', 'One.', 'trip');
    expect((await remove('glass', '/v1/conversations/lead/trip')).body.error.code).toBe('watch_only');
    expect(await remove('ann', '/v1/conversations/lead/trip')).toEqual({
      status: 200,
      body: { agent: 'lead', name: 'trip' },
    });
    expect((await get('ann', '/v1/conversations')).body).toEqual({ conversations: [] });
    expect((await get('ann', '/v1/conversations/lead/trip')).status).toBe(404);
  });

  test('that their caller has branched are deleted only with force; what others have branched shows nowhere', async () => {
    const { get, post, remove, say, show } = await serve();
    const path = '/v1/conversations/lead/trip';
    const { id } = (await post('ann', `/v1/runs/${await say('ann', 'One.', 'trip')}/checkpoints`)).body;
    await post('boss', `/v1/checkpoints/${id}/branch`, { name: 'About ann' });
    await post('ann', `/v1/checkpoints/${id}/branch`, { name: 'detour' });
    const refused = await remove('ann', path);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conversation_shared']);
    expect(refused.body.error.message).toContain('branches: "detour" of "lead".');
    expect(refused.body.error.message).not.toMatch(/boss|About|ann\//u);
    expect((await remove('boss', '/v1/conversations/lead/ann%2Ftrip')).body.error.message).toContain('boss/About ann');
    expect((await remove('ann', `${path}?force=true`)).status).toBe(200);
    // The same without a branch of her own: she is told nothing about that of the operator.
    const other = (await post('ann', `/v1/runs/${await say('ann', 'One.', 'walk')}/checkpoints`)).body.id;
    await post('boss', `/v1/checkpoints/${other}/branch`, { name: 'More about ann' });
    expect((await show('ann', 'walk')).branches).toEqual([]);
    expect((await remove('ann', '/v1/conversations/lead/walk')).status).toBe(200);
    expect((await get('boss', '/v1/conversations')).body.conversations.map(({ name }: any) => name)).toContain(
      'About ann',
    );
  });

  test('name no versions of a turn that are runs of somebody else', async () => {
    const { cloister, post, say, show, ended } = await serve();
    const run = await say('ann', 'One.', 'trip');
    const { id } = await cloister.checkpoints.create(run, { atStart: true });
    const local = await cloister.checkpoints.restore(id);
    await local!.outcome;
    const again = (await post('ann', `/v1/runs/${run}/retry`)).body.run as string;
    await ended('ann', again);
    expect((await show('ann', 'trip')).turns).toMatchObject([{ run: again, versions: [run, again] }]);
    expect((await show('boss', 'ann/trip')).turns[0].versions).toEqual([run, local!.run, again]);
  });

  test('name their checkpoints and branches', async () => {
    const { post, say, show, get } = await serve();
    const run = await say('ann', 'One.', 'trip');
    const { id } = (await post('ann', `/v1/runs/${run}/checkpoints`)).body;
    await post('ann', `/v1/checkpoints/${id}/branch`, { name: 'detour' });
    expect(await show('ann', 'trip')).toMatchObject({
      checkpoints: expect.arrayContaining([expect.objectContaining({ id, run })]),
      branches: [{ agent: 'lead', name: 'detour', checkpoint: id }],
    });
    expect((await get('ann', '/v1/conversations')).body.conversations.map(({ name }: any) => name)).toContain('detour');
  });
});

test('a branch begins with the turns of its conversation up to the checkpoint, and a branch of it with those too', async () => {
  const { post, say, show } = await serve();
  const branch = async (run: string, name: string): Promise<void> => {
    const { id } = (await post('ann', `/v1/runs/${run}/checkpoints`)).body;
    await post('ann', `/v1/checkpoints/${id}/branch`, { name });
  };
  const turnsOf = async (name: string) =>
    ((await show('ann', name)).turns as any[]).map(
      ({ goal, inherited = false }) => `${goal}${inherited ? ' inherited' : ''}`,
    );
  const first = await say('ann', 'One.', 'trip');
  await say('ann', 'Two.', 'trip');
  await branch(first, 'detour');
  expect(await turnsOf('detour')).toEqual(['One. inherited']);
  await branch(await say('ann', 'Three.', 'detour'), 'again');
  await say('ann', 'Four.', 'again');
  expect(await turnsOf('trip')).toEqual(['One.', 'Two.']);
  expect(await turnsOf('detour')).toEqual(['One. inherited', 'Three.']);
  expect(await turnsOf('again')).toEqual(['One. inherited', 'Three. inherited', 'Four.']);
});

describe('a run that is tried again', () => {
  test('as a turn of a conversation is another version of it; the conversation continues with the new one, and the old one is kept', async () => {
    const { cloister, post, say, show, ended, get } = await serve(newWorkspace());
    const first = await say('ann', 'One.', 'trip');
    const second = await say('ann', 'Two.', 'trip');
    const again = (await post('ann', `/v1/runs/${second}/retry`)).body.run as string;
    expect(await ended('ann', again)).toMatchObject({
      status: 'completed',
      output: 'Two. #2 after 4',
      conversation: { agent: 'lead', name: 'trip' },
      fork: { run: second },
    });
    expect((await show('ann', 'trip')).turns).toMatchObject([
      { run: first, versions: [first] },
      { run: again, goal: 'Two.', versions: [second, again] },
    ]);
    // The old version is readable, tells its conversation, and can be tried again as well.
    expect(await ended('ann', second)).toMatchObject({ output: 'Two. #1 after 4', conversation: { name: 'trip' } });
    const third = (await post('ann', `/v1/runs/${second}/retry`)).body.run as string;
    await ended('ann', third);
    expect((await show('ann', 'trip')).turns.at(-1)).toMatchObject({ run: third, versions: [second, again, third] });
    const next = await say('ann', 'Three.', 'trip');
    const { messages } = (await get('ann', `/v1/runs/${next}/messages`)).body;
    expect(messages.map(({ text }: any) => text)).toEqual([
      'One.',
      'One. #1 after 2',
      'Two.',
      'Two. #3 after 4',
      'Three.',
      expect.any(String),
    ]);
    // An earlier turn: later turns no longer count.
    const restart = (await post('ann', `/v1/runs/${first}/retry`)).body.run as string;
    await ended('ann', restart);
    expect((await show('ann', 'trip')).turns.map(({ run }: any) => run)).toEqual([restart]);
    for (const run of [again, third, restart]) expect((await cloister.audit(run)).problems).toEqual([]);
  });

  test('leaves no more checkpoints than are kept, although every try is refused', async () => {
    const { agent, gate } = gatedAgent('lead');
    const cloister = await openCloister({ agents: [agent], store: 'memory', retention: { most: 2 } });
    const server = await openServer(cloister, { tokens });
    onTestFinished(async () => {
      await server.stop(0);
      await cloister.close();
    });
    const post = async (path: string, body: object): Promise<any> =>
      (await server.fetch(postRequest(path, 'ann', body))).json();
    const first = post('/v1/lead', { input: 'One.', conversation: 'trip' });
    await gate.arrived(1);
    gate.open({ stay: true });
    const { run } = await first;
    await post('/v1/lead', { input: 'Two.', conversation: 'trip', wait: false });
    await gate.arrived(1);
    for (let nth = 0; nth < 5; nth++)
      expect((await post(`/v1/runs/${run}/retry`, {})).error.code).toBe('conversation_busy');
    expect((await cloister.checkpoints.list()).length).toBeLessThanOrEqual(2);
  });

  test('outside a conversation is a fork of it', async () => {
    const { post, say, ended } = await serve();
    const run = await say('ann', 'One.');
    const again = (await post('ann', `/v1/runs/${run}/retry`)).body.run as string;
    expect(await ended('ann', again)).toMatchObject({ output: 'One. #2 after 2', fork: { run }, conversation: null });
  });

  test('is unknown to others, and whoever watches tries nothing', async () => {
    const { post, say } = await serve();
    const run = await say('ann', 'One.', 'trip');
    expect(await post('ben', `/v1/runs/${run}/retry`)).toEqual(await post('ben', '/v1/runs/ffffffffffff/retry'));
    expect((await post('glass', `/v1/runs/${run}/retry`)).body.error.code).toBe('watch_only');
  });

  test('by the operator stays in the conversation of its caller', async () => {
    const { post, say, show, ended } = await serve();
    const run = await say('ann', 'One.', 'trip');
    const again = (await post('boss', `/v1/runs/${run}/retry`)).body.run as string;
    expect(await ended('ann', again)).toMatchObject({ output: 'One. #2 after 2' });
    expect((await show('ann', 'trip')).turns).toMatchObject([{ run: again, versions: [run, again] }]);
  });
});

describe('the list of runs', () => {
  test('is filtered by agent, state, text and refusals, over the caller’s own runs', async () => {
    const { get, post, say } = await serve();
    const one = await say('ann', 'The first goal.', 'trip');
    const two = (await post('ann', '/v1/aide', { input: 'The SECOND goal.' })).body.run;
    await say('ben', 'The first goal of ben.');
    const list = async (token: string, query: string) =>
      ((await get(token, `/v1/runs?${query}`)).body.runs as any[]).map(({ run }) => run);
    expect(await list('ann', '')).toEqual([two, one]);
    expect(await list('ann', 'agent=aide')).toEqual([two]);
    expect(await list('ann', 'text=second')).toEqual([two]);
    expect(await list('ann', `text=${one}`)).toEqual([one]);
    expect(await list('ann', 'text=ben')).toEqual([]);
    expect(await list('ann', 'state=completed')).toEqual([two, one]);
    expect(await list('ann', 'state=failed')).toEqual([]);
    expect(await list('ann', 'refused=true')).toEqual([]);
    expect(await list('ann', 'refused=false&text=first')).toEqual([one]);
    expect(await list('boss', 'text=first')).toHaveLength(2);
    expect((await get('ann', '/v1/runs?state=nowhere')).status).toBe(400);
    const [row] = (await get('ann', '/v1/runs?text=first')).body.runs;
    expect(row).toMatchObject({ crossings: 2, refused: 0, fork: null, conversation: { agent: 'lead', name: 'trip' } });
    expect(Object.keys(row)).not.toContain('caller');
    expect((await get('boss', `/v1/runs/${one}`)).body).toMatchObject({ caller: 'ann', budget: null });
    expect(Object.keys((await get('ann', `/v1/runs/${one}`)).body)).not.toContain('caller');
  });

  test('has pages, each after the last run of the one before; a run of another caller is no place in it', async () => {
    const { get, say } = await serve();
    const own: string[] = [];
    for (let nth = 0; nth < 5; nth++) own.unshift(await say('ann', `Goal ${nth}.`));
    const other = await say('ben', 'Goal.');
    const pages: string[][] = [];
    let query = 'limit=2';
    for (;;) {
      const { runs, more, next } = (await get('ann', `/v1/runs?${query}`)).body;
      pages.push(runs.map(({ run }: any) => run));
      expect(more).toBe(next !== null);
      if (!more) break;
      expect(next).toBe(runs.at(-1).run);
      query = `limit=2&before=${next}`;
    }
    expect(pages).toEqual([own.slice(0, 2), own.slice(2, 4), own.slice(4)]);
    const foreign = await get('ann', `/v1/runs?before=${other}`);
    expect(foreign.status).toBe(400);
    expect(JSON.stringify(foreign.body)).toBe(JSON.stringify((await get('ann', '/v1/runs?before=ffffffffffff')).body));
  });
});

test('mail and dead letters are those of the caller’s own runs', async () => {
  const { get, say } = await serve();
  const run = await say('ann', 'One.');
  expect((await get('ann', `/v1/runs/${run}/mail`)).body).toEqual({ run, mail: [] });
  expect(await get('ben', `/v1/runs/${run}/mail`)).toEqual(await get('ben', '/v1/runs/ffffffffffff/mail'));
  expect((await get('ann', '/v1/dead-letters')).body).toEqual({
    letters: [],
    more: false,
    read: 1,
    damaged: [],
  });
  expect((await get('ben', '/v1/dead-letters')).body).toMatchObject({ read: 0, more: false });
  expect((await get('boss', '/v1/dead-letters?runs=1')).body).toMatchObject({ read: 1 });
});
