// Teams in files: how they are found and linked, what holds for their members, and how they run.
import { describe, expect, test } from 'vitest';
import { ai, check, ground, load, open, refusal, told } from './driver.ts';
import type { Files } from './driver.ts';
import { loadTasks, teamTasks } from '../../src/app/agents/load-tasks.ts';
import { launchEnvironment } from '../../src/app/resolve-resources.ts';

const crew = 'agents: [./ann.ai, bob]\n';
const both: Files = { 'ann.ai': ai(), 'bob.ai': ai() };

const plan = {
  tasks: [
    { id: 'a', title: 'A', description: 'Do a.', assignee: 'ann' },
    { id: 'b', title: 'B', description: 'Do b.', dependsOn: ['a'] },
  ],
};

describe('a team file', () => {
  test('is a team of the agents that it names, by path or by name, wherever agents are found', async () => {
    const place = ground({
      'teams/crew.yaml': 'name: writers\nagents: [../ann.ai, bob, cid, dora]\ncoordinator: lead\n',
      'ann.ai': ai(),
      'teams/bob.ai': ai(),
      'shared/deep/cid.ai': ai(),
      '~/.ai-agent/agents/dora.ai': ai(),
      'given/lead.ai': ai(),
      '.ai-agent.json': { agents: ['shared'] },
    });
    const { agents, problems } = await load(place, 'teams/crew.yaml', 'given/lead.ai');
    expect(told({ problems })).toEqual([]);
    expect(agents.map(({ name, file }) => [name, file])).toEqual([
      ['writers', place.path('teams/crew.yaml')],
      ['lead', place.path('given/lead.ai')],
    ]);
    expect(Object.keys(agents[0]!.team!.members)).toEqual(['ann', 'bob', 'cid', 'dora']);
    expect(agents[0]!.coordinator!.plans.name).toBe('lead');
  });

  test('counts only when it is named: a folder may hold any other YAML', async () => {
    const place = ground({ ...both, 'crew.yaml': crew, 'ci.yml': 'on: push' });
    const { agents, problems } = await load(place, '.');
    expect(told({ problems })).toEqual([]);
    expect(agents.map(({ name }) => name)).toEqual(['ann', 'bob']);
    expect((await load(place, '.', 'crew.yaml')).agents.map(({ name }) => name)).toEqual(['ann', 'bob', 'crew']);
  });

  test('says how the team works; what it leaves out is as for teams in code', async () => {
    const place = ground({
      ...both,
      'crew.yaml': `${crew}parallel: 2\nretries: 1\nmessages: { ann: [bob] }\nbudget: { usd: 2 }`,
    });
    const [team] = (await load(place, 'crew.yaml')).agents;
    expect(team!.team).toMatchObject({
      parallel: 2,
      retries: 1,
      messages: { ann: ['bob'] },
      planTasksMax: 200,
      planDepthMax: 20,
      memoryScope: 'dependencies',
    });
    expect(team!.budget).toEqual({ usd: 2 });
  });

  test('whose coordinator is made of models has one with these, with what the config says for all agents', async () => {
    const place = ground({
      ...both,
      'crew.yaml': `${crew}coordinator: { models: [ollama/large], prompt: Be brief. }`,
      'other.yaml': `${crew}coordinator: {}`,
      '.ai-agent.json': { defaults: { models: ['ollama/small'], temperature: 0 } },
    });
    const { agents, problems } = await load(place, 'crew.yaml', 'other.yaml');
    expect(told({ problems })).toEqual([]);
    const [crewed, other] = agents.map(({ coordinator }) => coordinator!.answers);
    expect(crewed).toMatchObject({ models: ['ollama/large'], prompt: 'Be brief.', settings: { temperature: 0 } });
    expect(other).toMatchObject({ models: ['ollama/small'], settings: { temperature: 0 } });
    expect(other!.prompt).not.toBe('');
  });

  test('runs: its coordinator plans, its members work, its coordinator answers', async () => {
    const place = ground({ ...both, 'crew.yaml': `${crew}coordinator: {}` });
    const { cloister } = await open(place, ['crew.yaml'], {
      says: [
        { when: { agent: 'coordinator', text: '# The team' }, reply: JSON.stringify(plan) },
        { when: { agent: 'coordinator' }, reply: 'All of it.' },
        { when: { agent: 'ann' }, reply: 'From ann.' },
        { when: { agent: 'bob' }, reply: 'From bob.' },
        { reply: 'From whom?' },
      ],
    });
    const session = cloister.runTeam('crew', 'Reach it');
    expect(await session.outcome).toMatchObject({ status: 'completed', output: 'All of it.' });
    const tasks = await cloister.tasks(session.run);
    expect(tasks.map(({ id, status, result }) => [id, status, result])).toEqual([
      ['a', 'completed', 'From ann.'],
      ['b', 'completed', expect.stringMatching(/^From (?:ann|bob)\.$/u)],
    ]);
    expect(await cloister.audit(session.run)).toMatchObject({ ok: true });
    expect((await cloister.replay(session.run)).differences).toEqual([]);
  });

  test('may be told how many tasks are worked on at once', async () => {
    const place = ground({ ...both, 'crew.yaml': `${crew}parallel: 9` });
    const { cloister } = await open(place, ['crew.yaml'], { parallel: 2 });
    expect(cloister.agents[0]!.team!.parallel).toBe(2);
    await expect(open(place, ['crew.yaml'], { parallel: 0 })).rejects.toMatchObject({ code: 'options_invalid' });
  });
});

describe('what is wrong', () => {
  test('with a team file and with the agents that it names is told in one report', async () => {
    const place = ground({
      'crew.yaml': 'agents:\n  - ./ann.ai\n  - bbo\nretries: many\ncoordinator: leed\n',
      'ann.ai': ai('maxRetry: 3'),
      'bob.ai': ai(),
      'lead.ai': ai(),
    });
    expect(told(await check(place, ['crew.yaml']))).toEqual([
      expect.stringMatching(/^ann\.ai:5 maxRetry: .*maxRetries/u),
      expect.stringMatching(/^crew\.yaml:3 agents: There is no agent "bbo".*\(bob\?\)$/u),
      expect.stringMatching(/^crew\.yaml:4 retries: Expected a whole number/u),
      expect.stringMatching(/^crew\.yaml:5 coordinator: There is no agent "leed".*\(lead\?\)$/u),
    ]);
    expect(await refusal(place, ['crew.yaml'])).toMatchObject({ code: 'agent_file_invalid' });
  });

  test('with its tasks is told with the line of the task', async () => {
    const tasks = [
      'tasks:',
      '  - { id: a, title: A, description: x, assignee: anna }',
      '  - { id: b, title: B, description: x, dependsOn: [b, zz] }',
      '  - { id: c, title: C, description: x, dependsOn: [d] }',
      '  - { id: d, title: D, description: x, dependsOn: [c] }',
    ].join('\n');
    const place = ground({ ...both, 'crew.yaml': `${crew}${tasks}` });
    const lines = told(await check(place, ['crew.yaml']));
    expect(lines).toEqual(
      [
        /^crew\.yaml tasks: .*circle.*(?:c → d → c|d → c → d)/u,
        /^crew\.yaml:3 tasks: Task 1 \(a\): there is no member "anna"/u,
        /^crew\.yaml:4 tasks: Task 2 \(b\): it depends on itself/u,
        /^crew\.yaml:4 tasks: Task 2 \(b\): it depends on "zz"/u,
      ].map((expected) => expect.stringMatching(expected)),
    );
  });

  test.each([
    ['nobody in it', { 'crew.yaml': 'agents: []' }, /crew\.yaml:1 agents: A team needs somebody/u],
    [
      'a team of teams',
      { 'crew.yaml': 'agents: [other.yaml]', 'other.yaml': crew },
      /crew\.yaml:1 agents: There is no agent "other\.yaml"/u,
    ],
    ['a member of its own name', { 'ann.yaml': crew }, /ann\.yaml:1 name: .*"ann" is one of its agents/u],
    [
      'two of one name',
      { 'crew.yaml': 'agents: [ann, x/ann.ai]', 'x/ann.ai': ai() },
      /crew\.yaml:1 agents: .*"ann" is there twice/u,
    ],
    [
      'one that takes JSON',
      { 'crew.yaml': 'agents: json', 'json.ai': ai('input: { format: json, schema: { type: object } }') },
      /crew\.yaml:1 agents: .*"json" takes JSON/u,
    ],
    [
      'a model that nobody defines',
      { 'crew.yaml': `${crew}coordinator: { models: nobody/x }` },
      /crew\.yaml:2 models: No provider "nobody"/u,
    ],
    [
      'too much',
      { 'crew.yaml': `${crew}description: ${'x'.repeat(1_000_001)}` },
      /crew\.yaml: It has \d+ bytes; a team file may have 1000000/u,
    ],
  ])('with %s is told with its place', async (_what, files, expected) => {
    const place = ground({ ...both, ...files });
    expect(told(await check(place, [Object.keys(files)[0]!]))).toEqual([expect.stringMatching(expected)]);
  });

  test('a coordinator without a model is told by check, as of any agent', async () => {
    const place = ground({
      'crew.yaml': 'agents: [ann]\ncoordinator: {}',
      'ann.ai': ai('models: ollama/x'),
      '~/.ai-agent/.ai-agent.json': {},
    });
    expect(told(await check(place, ['crew.yaml']))).toEqual([
      expect.stringMatching(/^crew\.yaml:2 coordinator: It has no model/u),
    ]);
  });

  test('a secret in a team file is refused, and not repeated', async () => {
    const place = ground(
      { 'crew.yaml': `agents: [ann]\ndescription: Uses hunter2-hunter2.`, 'ann.ai': ai('models: openai/gpt-5') },
      { env: { OPENAI_API_KEY: 'hunter2-hunter2' } },
    );
    const lines = told(await check(place, ['crew.yaml']));
    expect(lines).toEqual([expect.stringMatching(/^crew\.yaml: It holds the value of a secret/u)]);
  });
});

describe('check', () => {
  test('shows the team above its members, and its budget as what a run can cost', async () => {
    const place = ground({ ...both, 'crew.yaml': `${crew}coordinator: lead\nbudget: { usd: 3 }`, 'lead.ai': ai() });
    const { ok, agents, tree, worstCase } = await check(place, ['crew.yaml']);
    expect(ok).toBe(true);
    expect(agents.map(({ name }) => name)).toEqual(['ann', 'bob', 'crew', 'lead']);
    expect(tree).toMatchObject([
      { name: 'crew', file: 'crew.yaml', agents: [{ name: 'lead' }, { name: 'ann' }, { name: 'bob' }] },
    ]);
    expect(worstCase).toMatchObject({ agents: null, tokens: null, usd: 3 });
  });

  test('of the syntax alone follows nobody', async () => {
    const place = ground({ 'crew.yaml': crew });
    expect(await check(place, ['crew.yaml'], { syntaxOnly: true })).toMatchObject({
      ok: true,
      agents: [{ name: 'crew' }],
    });
  });
});

describe('a file of tasks', () => {
  const place = (files: Files) => launchEnvironment({ agents: [], cwd: ground(files).cwd });

  test('is read with its goal; those of a team file are its own', () => {
    const files = place({
      't.yaml': '- { title: A, description: x }',
      'p.json': { goal: 'Bees', ...plan },
      'crew.yaml': `${crew}tasks: [{ title: A, description: x }]`,
    });
    expect(loadTasks('t.yaml', ['ann'], files)).toEqual({ goal: null, tasks: [{ title: 'A', description: 'x' }] });
    expect(loadTasks('p.json', ['ann'], files)).toEqual({ goal: 'Bees', tasks: plan.tasks });
    expect(teamTasks('crew.yaml', files)).toEqual([{ title: 'A', description: 'x' }]);
    expect(teamTasks('crew.ts', files)).toBeNull();
  });

  test.each([
    ['missing.yaml', /missing\.yaml There is no such file/u],
    ['t.yaml', /t\.yaml:2 tasks: Task 1 \(a\): there is no member "eve"/u],
    ['many.yaml', /many\.yaml:1 This is too long: expected at most 128000/u],
    ['empty.json', /empty\.json tasks: The list of tasks is empty/u],
    ['.', /It is not a regular file/u],
  ])('that cannot be used is refused with its place: %s', (path, expected) => {
    const files = place({
      't.yaml': '# mine\n- { id: a, title: A, description: x, assignee: eve }',
      'many.yaml': Array.from({ length: 10_000 }, (_, at) => `- { title: T${at}, description: x }`).join('\n'),
      'empty.json': '[]',
    });
    expect(() => loadTasks(path, ['ann'], files)).toThrow(expected);
  });

  test('of ten thousand tasks is read as JSON', () => {
    const tasks = Array.from({ length: 10_000 }, (_, at) => ({ title: `T${at}`, description: 'x' }));
    expect(loadTasks('t.json', ['ann'], place({ 't.json': { tasks } })).tasks).toHaveLength(10_000);
  });
});
