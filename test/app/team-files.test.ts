// Teams in files: how they are found and linked, which settings apply to their members, and how they run.
import { describe, expect, test } from 'vitest';
import { ai, check, createFolders, load, open, openError, problemLines } from './driver.ts';
import type { Files } from './driver.ts';
import { loadTasks, teamTasks } from '../../src/app/agents/load-tasks.ts';
import { systemLaunchEnvironment } from '../../src/app/system-world.ts';

const memberLine = 'agents: [./ann.ai, bob]\n';
const memberFiles: Files = { 'ann.ai': ai(), 'bob.ai': ai() };

const plan = {
  tasks: [
    { id: 'a', title: 'A', description: 'Do a.', assignee: 'ann' },
    { id: 'b', title: 'B', description: 'Do b.', dependsOn: ['a'] },
  ],
};

describe('a team file', () => {
  test('is a team of the agents that it names, by path or by name, wherever agents are found', async () => {
    const folders = createFolders({
      'teams/crew.yaml': 'name: writers\nagents: [../ann.ai, bob, cid, dora]\ncoordinator: lead\n',
      'ann.ai': ai(),
      'teams/bob.ai': ai(),
      'shared/deep/cid.ai': ai(),
      '~/.ai-agent/agents/dora.ai': ai(),
      'given/lead.ai': ai(),
      '.ai-agent.json': { agents: ['shared'] },
    });
    const { agents, problems } = await load(folders, 'teams/crew.yaml', 'given/lead.ai');
    expect(problemLines({ problems })).toEqual([]);
    expect(agents.map(({ name, file }) => [name, file])).toEqual([
      ['writers', folders.path('teams/crew.yaml')],
      ['lead', folders.path('given/lead.ai')],
    ]);
    expect(Object.keys(agents[0]!.team!.rules.members)).toEqual(['ann', 'bob', 'cid', 'dora']);
    expect(agents[0]!.team!.coordinator!.plans.name).toBe('lead');
  });

  test('counts only when it is named: a folder may hold any other YAML', async () => {
    const folders = createFolders({ ...memberFiles, 'crew.yaml': memberLine, 'ci.yml': 'on: push' });
    const { agents, problems } = await load(folders, '.');
    expect(problemLines({ problems })).toEqual([]);
    expect(agents.map(({ name }) => name)).toEqual(['ann', 'bob']);
    expect((await load(folders, '.', 'crew.yaml')).agents.map(({ name }) => name)).toEqual(['ann', 'bob', 'crew']);
  });

  test('configures the team; omitted settings are the same as for teams in code', async () => {
    const folders = createFolders({
      ...memberFiles,
      'crew.yaml': `${memberLine}parallel: 2\nretries: 1\nmessages: { ann: [bob] }\nbudget: { usd: 2 }`,
    });
    const [team] = (await load(folders, 'crew.yaml')).agents;
    expect(team!.team!.rules).toMatchObject({
      parallel: 2,
      retries: 1,
      messages: { ann: ['bob'] },
      planTasksMax: 200,
      planDepthMax: 20,
      memoryScope: 'dependencies',
    });
    expect(team!.caps.budget).toEqual({ usd: 2 });
  });

  test('whose coordinator is given as models gets one with these, with the config’s defaults for all agents', async () => {
    const folders = createFolders({
      ...memberFiles,
      'crew.yaml': `${memberLine}coordinator: { models: [ollama/large], prompt: Be brief. }`,
      'other.yaml': `${memberLine}coordinator: {}`,
      '.ai-agent.json': { defaults: { models: ['ollama/small'], temperature: 0 } },
    });
    const { agents, problems } = await load(folders, 'crew.yaml', 'other.yaml');
    expect(problemLines({ problems })).toEqual([]);
    const [crewed, other] = agents.map(({ team }) => team!.coordinator!.answers);
    expect(crewed).toMatchObject({
      prompt: 'Be brief.',
      resources: { models: ['ollama/large'], settings: { temperature: 0 } },
    });
    expect(other).toMatchObject({ resources: { models: ['ollama/small'], settings: { temperature: 0 } } });
    expect(other!.prompt).not.toBe('');
  });

  test('runs: its coordinator plans, its members work, its coordinator answers', async () => {
    const folders = createFolders({ ...memberFiles, 'crew.yaml': `${memberLine}coordinator: {}` });
    const { cloister } = await open(folders, ['crew.yaml'], {
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

  test('can limit how many tasks run in parallel', async () => {
    const folders = createFolders({ ...memberFiles, 'crew.yaml': `${memberLine}parallel: 9` });
    const { cloister } = await open(folders, ['crew.yaml'], { parallel: 2 });
    expect(cloister.agents[0]!.team!.rules.parallel).toBe(2);
    await expect(open(folders, ['crew.yaml'], { parallel: 0 })).rejects.toMatchObject({ code: 'options_invalid' });
  });
});

describe('problems', () => {
  test('with a team file and with the agents that it names are in one report', async () => {
    const folders = createFolders({
      'crew.yaml': 'agents:\n  - ./ann.ai\n  - bbo\nretries: many\ncoordinator: leed\n',
      'ann.ai': ai('maxRetry: 3'),
      'bob.ai': ai(),
      'lead.ai': ai(),
    });
    expect(problemLines(await check(folders, ['crew.yaml']))).toEqual([
      expect.stringMatching(/^ann\.ai:5 maxRetry: .*maxRetries/u),
      expect.stringMatching(/^crew\.yaml:3 agents: No agent "bbo".*\(bob\?\)$/u),
      expect.stringMatching(/^crew\.yaml:4 retries: Expected a whole number/u),
      expect.stringMatching(/^crew\.yaml:5 coordinator: No agent "leed".*\(lead\?\)$/u),
    ]);
    expect(await openError(folders, ['crew.yaml'])).toMatchObject({ code: 'agent_file_invalid' });
  });

  test('with its tasks are reported with the line of the task', async () => {
    const tasks = [
      'tasks:',
      '  - { id: a, title: A, description: x, assignee: anna }',
      '  - { id: b, title: B, description: x, dependsOn: [b, zz] }',
      '  - { id: c, title: C, description: x, dependsOn: [d] }',
      '  - { id: d, title: D, description: x, dependsOn: [c] }',
    ].join('\n');
    const folders = createFolders({ ...memberFiles, 'crew.yaml': `${memberLine}${tasks}` });
    const lines = problemLines(await check(folders, ['crew.yaml']));
    expect(lines).toEqual(
      [
        /^crew\.yaml tasks: .*cycle.*(?:c → d → c|d → c → d)/u,
        /^crew\.yaml:3 tasks: Task 1 \(a\): there is no member "anna"/u,
        /^crew\.yaml:4 tasks: Task 2 \(b\): it depends on itself/u,
        /^crew\.yaml:4 tasks: Task 2 \(b\): it depends on "zz"/u,
      ].map((expected) => expect.stringMatching(expected)),
    );
  });

  test.each([
    ['no members', { 'crew.yaml': 'agents: []' }, /crew\.yaml:1 agents: A team needs at least one agent/u],
    [
      'a team of teams',
      { 'crew.yaml': 'agents: [other.yaml]', 'other.yaml': memberLine },
      /crew\.yaml:1 agents: No agent "other\.yaml"/u,
    ],
    ['a member with its own name', { 'ann.yaml': memberLine }, /ann\.yaml:1 name: .*"ann" is one of its agents/u],
    [
      'two members with the same name',
      { 'crew.yaml': 'agents: [ann, x/ann.ai]', 'x/ann.ai': ai() },
      /crew\.yaml:1 agents: .*"ann" is (?:used|listed) twice/u,
    ],
    [
      'a member that takes JSON',
      { 'crew.yaml': 'agents: json', 'json.ai': ai('input: { format: json, schema: { type: object } }') },
      /crew\.yaml:1 agents: .*"json" takes JSON/u,
    ],
    [
      'an undefined model',
      { 'crew.yaml': `${memberLine}coordinator: { models: nobody/x }` },
      /crew\.yaml:2 models: No provider "nobody"/u,
    ],
    [
      'too much',
      { 'crew.yaml': `${memberLine}description: ${'x'.repeat(1_000_001)}` },
      /crew\.yaml: The file has \d+ bytes; the limit for team files is 1000000/u,
    ],
  ])('with %s are reported with their location', async (_what, files, expected) => {
    const folders = createFolders({ ...memberFiles, ...files });
    expect(problemLines(await check(folders, [Object.keys(files)[0]!]))).toEqual([expect.stringMatching(expected)]);
  });

  test('a coordinator without a model is reported by check, as for any agent', async () => {
    const folders = createFolders({
      'crew.yaml': 'agents: [ann]\ncoordinator: {}',
      'ann.ai': ai('models: ollama/x'),
      '~/.ai-agent/.ai-agent.json': {},
    });
    expect(problemLines(await check(folders, ['crew.yaml']))).toEqual([
      expect.stringMatching(/^crew\.yaml:2 coordinator: No model is set/u),
    ]);
  });

  test('a secret in a team file is refused, and not repeated', async () => {
    const folders = createFolders(
      {
        'crew.yaml': `agents: [ann]\ndescription: Uses sk-q7Zr2Kx9Wm4Bv8Tn3Hs6.`,
        'ann.ai': ai('models: openai/gpt-5'),
      },
      { env: { OPENAI_API_KEY: 'sk-q7Zr2Kx9Wm4Bv8Tn3Hs6' } },
    );
    const lines = problemLines(await check(folders, ['crew.yaml']));
    expect(lines).toEqual([expect.stringMatching(/^crew\.yaml: The file contains the value of a secret/u)]);
  });
});

describe('check', () => {
  test('shows the team above its members, and its budget as what a run can cost', async () => {
    const folders = createFolders({
      ...memberFiles,
      'crew.yaml': `${memberLine}coordinator: lead\nbudget: { usd: 3 }`,
      'lead.ai': ai(),
    });
    const { ok, agents, tree, worstCase } = await check(folders, ['crew.yaml']);
    expect(ok).toBe(true);
    expect(agents.map(({ name }) => name)).toEqual(['ann', 'bob', 'crew', 'lead']);
    expect(tree).toMatchObject([
      { name: 'crew', file: 'crew.yaml', agents: [{ name: 'lead' }, { name: 'ann' }, { name: 'bob' }] },
    ]);
    expect(worstCase).toMatchObject({ agents: null, tokens: null, usd: 3 });
  });

  test('with --syntax-only looks up no agents', async () => {
    const folders = createFolders({ 'crew.yaml': memberLine });
    expect(await check(folders, ['crew.yaml'], { syntaxOnly: true })).toMatchObject({
      ok: true,
      agents: [{ name: 'crew' }],
    });
  });
});

describe('a file of tasks', () => {
  const folders = (files: Files) => ({ ...systemLaunchEnvironment(), cwd: createFolders(files).cwd });

  test('is read with its goal; the tasks of a team file are its own', () => {
    const files = folders({
      't.yaml': '- { title: A, description: x }',
      'p.json': { goal: 'Bees', ...plan },
      'crew.yaml': `${memberLine}tasks: [{ title: A, description: x }]`,
    });
    expect(loadTasks('t.yaml', ['ann'], files)).toEqual({ goal: null, tasks: [{ title: 'A', description: 'x' }] });
    expect(loadTasks('p.json', ['ann'], files)).toEqual({ goal: 'Bees', tasks: plan.tasks });
    expect(teamTasks('crew.yaml', files)).toEqual([{ title: 'A', description: 'x' }]);
    expect(teamTasks('crew.ts', files)).toBeNull();
  });

  test.each([
    ['missing.yaml', /missing\.yaml No such file/u],
    ['t.yaml', /t\.yaml:2 tasks: Task 1 \(a\): there is no member "eve"/u],
    ['many.yaml', /many\.yaml:1 Too long: the limit is 128000/u],
    ['empty.json', /empty\.json tasks: The list of tasks is empty/u],
    ['.', /Not a regular file/u],
  ])('that cannot be used is refused with the location: %s', (path, expected) => {
    const files = folders({
      't.yaml': '# mine\n- { id: a, title: A, description: x, assignee: eve }',
      'many.yaml': Array.from({ length: 10_000 }, (_, at) => `- { title: T${at}, description: x }`).join('\n'),
      'empty.json': '[]',
    });
    expect(() => loadTasks(path, ['ann'], files)).toThrow(expected);
  });

  test('of ten thousand tasks is read as JSON', () => {
    const tasks = Array.from({ length: 10_000 }, (_, at) => ({ title: `T${at}`, description: 'x' }));
    expect(loadTasks('t.json', ['ann'], folders({ 't.json': { tasks } })).tasks).toHaveLength(10_000);
  });
});
