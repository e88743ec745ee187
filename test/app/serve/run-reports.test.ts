// What a caller reads of the record of its runs over HTTP.
// invariants: record-texts-by-token, run-belongs-to-caller
import { describe, expect, test } from 'vitest';
import { validate } from '#adapters/schemas';
import type { Json, JsonObject, RunId } from '#base';
import type { RunArchive } from '#contracts';
import { defineAgent, defineTeam, hashToken } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import { serveAgents } from '../../headends/http/driver.ts';
import { callerRunReports } from '../../../src/app/serve/caller-run-reports.ts';

const tokens = [
  { name: 'ana', sha256: hashToken('ana'), sees: 'contents' },
  { name: 'bob', sha256: hashToken('bob'), sees: 'contents' },
  { name: 'cyn', sha256: hashToken('cyn'), sees: 'causes' },
  { name: 'dan', sha256: hashToken('dan') },
] as const;

const secret = 'The tide turns at noon';

/** An agent that looks something up and asks another one, and a team with one member. */
const serve = async () => {
  const look = {
    name: 'look',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } } as JsonObject,
    execute: ({ text }: JsonObject) => `${secret}: ${JSON.stringify(text)}`,
  };
  const reply = ({ agent, goal, turn }: RequestView): ScriptedReply => {
    if (agent === 'aide') return { text: 'Aided.' };
    if (turn === 2) return { text: 'Done.' };
    return {
      calls: [
        { tool: 'look', args: { text: goal } },
        { tool: 'aide', args: { prompt: 'Help.' } },
      ],
    };
  };
  const common = { description: 'Works.', prompt: 'Work.', models: [rehearse([{ reply }])] };
  const aide = defineAgent({ ...common, name: 'aide' });
  const lead = defineAgent({ ...common, name: 'lead', tools: [look], agents: [aide] });
  const plan = JSON.stringify({ tasks: [{ id: 'one', title: 'One', description: 'Do one.', assignee: 'aide' }] });
  const planner = rehearse([
    { reply: ({ turn, goal }) => (turn === 1 && !goal.includes('Aided') ? plan : 'All done.') },
  ]);
  const coordinator = defineAgent({ name: 'chief', description: 'Plans.', prompt: 'Plan.', models: [planner] });
  const crew = defineTeam({ name: 'crew', description: 'Works together.', agents: [aide], coordinator });
  const served = await serveAgents({ agents: [lead, crew], tokens });
  const send = async (token: string, path: string, body?: object) => {
    const response = await served.ask(path, {
      ...(body === undefined ? {} : { json: body }),
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: response.status, body: (await response.json()) as JsonObject };
  };
  const run = async (token: string, input: string, more: object = {}): Promise<string> =>
    (await send(token, `/v1/${'agent' in more ? String(more.agent) : 'lead'}`, { input, ...withoutAgent(more) })).body[
      'run'
    ] as string;
  return { ...served, send, run };
};

const withoutAgent = (options: object): object =>
  Object.fromEntries(Object.entries(options).filter(([name]) => name !== 'agent'));

type Served = Awaited<ReturnType<typeof serve>>;

/** The reply, which must fit what the server's own OpenAPI document says. */
const read = async ({ send }: Served, token: string, route: string, run: string, query = '', body?: object) => {
  const path = `/v1/runs/${run}/${route}${query}`;
  const { status, body: got } = await send(token, path, body);
  const { body: document } = await send(token, '/openapi.json');
  const described = (document['paths'] as Record<string, JsonObject>)[
    `/v1/runs/{run}/${route.replace(/s\/[\da-f]+$/u, 's/{sha256}')}`
  ]!;
  const { responses } = described[body === undefined ? 'get' : 'post'] as JsonObject & {
    responses: Record<string, { content: { 'application/json': { schema: JsonObject } } }>;
  };
  const { schema } = responses[status]!.content['application/json'];
  expect(validate({ ...schema, components: document['components']! }, got)).toEqual([]);
  return { status, body: got };
};

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

describe('a caller reads of its own run', () => {
  test('what code reads: audit, windows, ledger, replay', async () => {
    const served = await serve();
    const { cloister } = served;
    const run = await served.run('ana', 'Go.');
    const audit = await read(served, 'ana', 'audit', run);
    expect(audit.body).toEqual(plain(await cloister.audit(run)));
    expect(audit.body).toMatchObject({ ok: true, cells: 2, unattributedBytes: 0, problems: [] });
    const windows = plain(await cloister.windows(run));
    expect((await read(served, 'ana', 'windows', run)).body).toEqual({ run, windows });
    const { events: _events, ...replay } = await cloister.replay(run);
    expect((await read(served, 'ana', 'replay', run, '', {})).body).toEqual(plain(replay));
    expect(replay.ok).toBe(true);
    const cells = plain(await cloister.ledger(run));
    expect((await read(served, 'ana', 'ledger', run)).body).toEqual({ run, cells });
  });

  test('every crossing of its events in the ledger, once on each side, in an unbroken chain', async () => {
    const served = await serve();
    const run = await served.run('dan', 'Go.');
    const { events } = await served.cloister.show(run);
    const ledger = await served.cloister.ledger(run);
    const entries = ledger.flatMap(({ cell, links }) =>
      links.flatMap((link) => link.entries.map((entry) => ({ cell, ...entry }))),
    );
    const crossings = events.flatMap((event) => (event.type === 'crossing' ? [event] : []));
    expect(crossings.map(({ kind }) => kind)).toEqual(['goal', 'goal', 'result', 'result']);
    for (const { from, to, kind, sha256: hash } of crossings)
      for (const [way, cell, other] of [
        ['out', from, to],
        ['in', to, from],
      ])
        if (cell !== 'outside')
          expect(
            entries.filter(
              (one) =>
                one.way === way && one.cell === cell && one.other === other && one.kind === kind && one.sha256 === hash,
            ),
          ).toHaveLength(1);
    expect(entries).toHaveLength(2 * crossings.length - 2);
    for (const { links } of ledger)
      for (const [nth, { previous }] of links.entries()) if (nth > 0) expect(previous).toBe(links[nth - 1]!.hash);
    expect(ledger.map(({ agent, parent }) => [agent, parent])).toEqual([
      ['lead', null],
      ['aide', ledger[0]!.cell],
    ]);
  });

  test('the tasks of a team, and none of another agent', async () => {
    const served = await serve();
    const run = await served.run('dan', 'Go.', { agent: 'crew' });
    const tasks = plain(await served.cloister.tasks(run));
    const { body } = await read(served, 'dan', 'tasks', run);
    expect(body).toEqual({ run, tasks });
    expect(body['tasks']).toMatchObject([{ id: 'one', status: 'completed', result: 'Aided.' }]);
    const other = await served.run('dan', 'Go.');
    expect((await read(served, 'dan', 'tasks', other)).body).toEqual({ run: other, tasks: [] });
  });
});

describe('texts of the record', () => {
  test('are explained to a caller who sees contents, and to no other', async () => {
    const served = await serve();
    const run = await served.run('ana', 'Go.');
    const { cell } = (await served.cloister.show(run)).cells[0]!;
    const query = `?cell=${cell}&find=${encodeURIComponent(secret)}`;
    const { body } = await read(served, 'ana', 'explain', run, query);
    expect(body).toEqual(plain(await served.cloister.explain(run, cell, { find: secret })));
    expect(JSON.stringify(body)).toContain(secret);
    for (const token of ['cyn', 'dan']) {
      const own = await served.run(token, 'Go.');
      const [root] = (await served.cloister.show(own)).cells;
      const { status, body: refused } = await served.send(token, `/v1/runs/${own}/explain?cell=${root!.cell}`);
      expect([status, JSON.stringify(refused)]).toEqual([
        400,
        expect.stringContaining('your token does not show the contents of runs'),
      ]);
    }
    const unknown = await served.send('ana', `/v1/runs/${run}/explain?cell=nobody`);
    expect([unknown.status, unknown.body]).toMatchObject([404, { error: { code: 'cell_unknown' } }]);
    expect((await served.send('ana', `/v1/runs/${run}/explain`)).status).toBe(400);
  });

  test('in a comparison are told to a caller who sees contents; others learn where the cells diverge', async () => {
    const served = await serve();
    const compare = async (token: string) => {
      const [one, other] = [await served.run(token, 'Go.'), await served.run(token, 'Stay.')];
      const { body } = await read(served, token, 'diff', one, `?with=${other}`);
      return { one, other, body };
    };
    const { one, other, body } = await compare('ana');
    expect(body).toEqual(plain(await served.cloister.diff(one, other)));
    expect(JSON.stringify(body)).toContain('{\\"text\\":\\"Stay.\\"}');
    for (const token of ['cyn', 'dan']) {
      const { body: withheld } = await compare(token);
      expect(withheld).toMatchObject({ same: false, cells: [{ parts: { op: expect.any(Number) } }, {}] });
      const [first] = withheld['cells'] as [{ parts: { one: string; other: string } }];
      expect([first.parts.one, first.parts.other]).toEqual(Array(2).fill('Only shown to tokens that see contents.'));
    }
  });
});

test.each(['answers', 'causes', 'contents'] as const)(
  'what an audit says about a problem, to a caller who sees %s',
  async (sees) => {
    const problem = { code: 'output-changed', where: 'lead-1/3', message: secret };
    const archive = { audit: async () => ({ ok: false, problems: [problem] }) } as unknown as RunArchive;
    const ports = { sees, report: () => Promise.reject(new Error()), findOwn: () => Promise.reject(new Error()) };
    const { problems } = await callerRunReports(archive, 'r1' as RunId, ports).audit();
    const message = sees === 'contents' ? secret : 'Only shown to tokens that see contents.';
    expect(problems).toEqual([{ ...problem, message }]);
  },
);

test('a run is compared only with runs of the same caller: any other is as unknown as one that never existed', async () => {
  const served = await serve();
  const [mine, foreign] = [await served.run('ana', 'Go.'), await served.run('bob', 'Go.')];
  const of = async (one: string, other: string) => {
    const { status, body } = await served.send('ana', `/v1/runs/${one}/diff?with=${other}`);
    return [status, { ...(body['error'] as JsonObject) }];
  };
  const unknown = await of(mine, 'ffffffffffff');
  expect(unknown).toMatchObject([404, { code: 'run_unknown' }]);
  expect(await of(mine, foreign)).toEqual(unknown);
  expect(await of(foreign, mine)).toEqual(unknown);
  expect((await served.send('ana', `/v1/runs/${mine}/diff?with=${mine}`)).body).toMatchObject({ same: true });
});
