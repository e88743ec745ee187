// Agents in files: how they are found, linked and configured, and what each may use.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openCloister } from 'cloister';
import type { Agent } from 'cloister';
import { checkAgents } from '../../src/app/agents/check-agents.ts';
import { Configs } from '../../src/app/agents/configs.ts';
import { findAgent, suggestAgent } from '../../src/app/agents/read-agent-files.ts';
import type { LaunchEnvironment } from '../../src/app/agents/launch-environment.ts';
import { initFolder, listTemplates } from '../../src/app/agents/init-folder.ts';
import { ai, check, createFolders, load, open, openError, problemLines } from './driver.ts';

const names = (agents: readonly Agent[]): readonly string[] => agents.map(({ name }) => name);

describe('a folder', () => {
  test('stands for every agent file below it; hidden folders, packages and other files are skipped', async () => {
    const folders = createFolders({
      'agents/lead.ai': ai(),
      'agents/deep/down/worker.ai': ai(),
      'agents/.hidden/no.ai': ai(),
      'agents/node_modules/pack/no.ai': ai(),
      'agents/readme.md': 'no',
      'elsewhere.ai': ai(),
    });
    const { agents, problems } = await load(folders, 'agents');
    expect(problemLines({ problems })).toEqual([]);
    expect(names(agents)).toEqual(['worker', 'lead']);
  });

  test('does not stand for files of the skills below it, unless it is a skill itself', async () => {
    const skill = '---\nname: reports\ndescription: Writes reports.\n---\nWrite.';
    const files = { 'SKILL.md': skill, 'example.ai': ai(), 'agents/deep.ai': ai(), 'agents/reviewer.md': ai() };
    const folders = createFolders({
      'lead.ai': ai('skills: ./skills'),
      ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`skills/reports/${name}`, text])),
    });
    expect(names((await load(folders, '.')).agents)).toEqual(['lead']);
    const { warnings } = await check(folders, ['.']);
    expect(warnings.filter(({ message }) => message.includes('reviewer'))).toEqual([]);
    expect(names((await load(folders, 'skills')).agents)).toEqual([]);
    expect(names((await load(folders, 'skills/reports')).agents)).toEqual(['deep', 'example']);
    expect(names((await load(folders, 'skills/reports/example.ai')).agents)).toEqual(['example']);
  });

  test('and one of its files, given both, are one agent', async () => {
    const folders = createFolders({ 'agents/lead.ai': ai() });
    expect(names((await load(folders, 'agents', 'agents/lead.ai', './agents/../agents/lead.ai')).agents)).toEqual([
      'lead',
    ]);
  });

  test('whose links form a cycle is read once', async () => {
    const folders = createFolders({ 'agents/lead.ai': ai() });
    symlinkSync(folders.path('agents'), folders.path('agents/again'));
    expect(names((await load(folders, 'agents')).agents)).toEqual(['lead']);
  });

  test('two agents with the same name are refused', async () => {
    const folders = createFolders({ 'a/lead.ai': ai(), 'b/lead.ai': ai() });
    await expect(open(folders, ['a', 'b'])).rejects.toThrow(/two agents named "lead"/u);
  });
});

describe('a sub-agent is found by its name', () => {
  const described = (where: string): string => ai().replace('Does it.', `Found ${where}.`);
  const files = {
    'lead.ai': ai('agents: helper'),
    'helper.ai': described('beside'),
    'given/helper.ai': described('among those given'),
    'shared/deep/helper.ai': described('where the config says'),
    '~/.ai-agent/agents/helper.ai': described('at home'),
    '.ai-agent.json': { agents: ['shared'] },
  };
  const places = Object.keys(files).slice(1, 5);

  test.each([0, 1, 2, 3])('in the nearest location that has it (without the first %i)', async (without) => {
    const left = Object.fromEntries(Object.entries(files).filter(([name]) => !places.slice(0, without).includes(name)));
    const folders = createFolders(left);
    const given = without < 2 ? ['lead.ai', 'given'] : ['lead.ai'];
    const { agents, problems } = await load(folders, ...given);
    expect(problemLines({ problems })).toEqual([]);
    const words = ['beside', 'among those given', 'where the config says', 'at home'];
    expect(agents[0]!.children.agents.map(({ description }) => description)).toEqual([`Found ${words[without]}.`]);
  });

  test('and if it is nowhere, the message says where to put it and which name is similar', async () => {
    const folders = createFolders({
      'lead.ai': ai('agents: [writer, helpr]'),
      'writer.ai': ai(),
      'sub/helper.ai': ai(),
    });
    const [problem, ...more] = (await load(folders, 'lead.ai')).problems;
    expect(more).toEqual([]);
    expect(problem).toMatchObject({ file: 'lead.ai', line: 5, key: 'agents', nearest: 'helper' });
    expect(problem!.message).toMatch(/No agent "helpr".*path.*beside.*\.ai-agent\.json.*home/u);
  });

  test('or by a path from the file that names it, with or without its extension', async () => {
    const folders = createFolders({
      'a/lead.ai': ai('agents:\n  - ./sub/one.ai\n  - ../b/two'),
      'a/sub/one.ai': ai('agents: ../../b/three.ai'),
      'b/two.ai': ai(),
      'b/three.ai': ai(),
    });
    const { agents, problems } = await load(folders, 'a/lead.ai');
    expect(problemLines({ problems })).toEqual([]);
    expect(names(agents[0]!.children.agents)).toEqual(['one', 'two']);
    expect(names(agents[0]!.children.agents[0]!.children.agents)).toEqual(['three']);
  });

  test('and so is the agent that is run: here, where the config says, at home', async () => {
    const find = (name: string, place: LaunchEnvironment) => findAgent(name, new Configs(place));
    const folders = createFolders({ ...files, 'lead.ai': '' });
    expect(await find('helper', folders)).toBe(folders.path('helper.ai'));
    const { cwd, home, env } = folders;
    const elsewhere = { cwd: join(cwd, 'given/..', 'shared'), home, env };
    expect(await find('helper', elsewhere)).toBe(folders.path('~/.ai-agent/agents/helper.ai'));
    expect(await find('nobody', folders)).toBeNull();
    folders.write({ 'agents/deep/imported.ai': ai(), 'other/far.ai': ai() });
    expect(await find('imported', folders)).toBe(folders.path('agents/deep/imported.ai'));
    expect(await find('far', folders)).toBeNull();
    expect(await find('../helper', elsewhere)).toBeNull();
  });

  test('a typo in its name is answered with the nearest one of those places', async () => {
    const suggest = (name: string, place: LaunchEnvironment) => suggestAgent(name, new Configs(place));
    const folders = createFolders({ ...files, 'sollo.ai': '' });
    expect(await suggest('solo', folders)).toBe(' Did you mean "sollo"?');
    const { cwd, home, env } = folders;
    expect(await suggest('helpr', { cwd: join(cwd, 'shared'), home, env })).toBe(' Did you mean "helper"?');
    expect(await suggest('nobody', folders)).toBe('');
  });
});

test('a sub-agent named by several agents is one agent, and a caller may ask it for JSON without changing it for the others', async () => {
  const folders = createFolders({
    'lead.ai': ai(
      'agents:\n  - agent: expert\n    output: { format: json, schema: { type: object, required: [city] } }',
    ),
    'other.ai': ai('agents: expert'),
    'expert.ai': ai('', 'Answer with ${FORMAT}.'),
  });
  const says = [
    { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'expert', args: { prompt: 'Where?' } }] } },
    { when: { agent: 'other', turn: 1 }, reply: { calls: [{ tool: 'expert', args: { prompt: 'Where?' } }] } },
    { when: { agent: 'expert', turn: 1, text: 'Where?' }, times: 1, reply: 'Graz' },
    { when: { agent: 'expert', turn: 2 }, reply: '{"city":"Graz"}' },
    { when: { agent: 'expert' }, reply: 'Graz, plainly' },
    { reply: '{{results}}' },
  ];
  const { cloister, model } = await open(folders, ['.'], { says });
  const outcome = await cloister.run('lead', 'Go').outcome;
  expect(outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('{"city":"Graz"}') });
  const plain = cloister.run('other', 'Go');
  expect(await plain.outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('Graz, plainly') });
  const systems = model.requests
    .map(({ prompt }) => JSON.stringify(prompt[0]))
    .filter((text) => text.includes('"expert'));
  expect(systems.map((text) => text.includes('matching this JSON Schema'))).toEqual([true, true, false]);
  expect(await cloister.audit(plain.run)).toMatchObject({ ok: true });
});

// invariant: resources-checked-first
test('all problems of all files are reported together, with file and line, and nothing is opened', async () => {
  const folders = createFolders({
    'lead.ai': ai('agents: [writer, nobody]\nmodels: opnai/gpt-5\nmaxTurns: many'),
    'writer.ai': ai('tols: read_file\ntools: [browser/fetch]'),
    'broken.ai': '---\ndescription: [\n---\n',
    'empty.ai': '',
    '.ai-agent.json': '{\n  "providrs": {}\n}',
  });
  const { problems } = await load(folders, '.', 'gone.ai');
  const lines = problems
    .map(({ file, line, key }) => `${file.replace(`${folders.cwd}/`, '')}:${line} ${key}`)
    .toSorted();
  expect(lines).toEqual([
    '.ai-agent.json:2 providrs',
    'broken.ai:3 null',
    'empty.ai:1 null',
    'gone.ai:null null',
    'lead.ai:5 agents',
    'lead.ai:7 maxTurns',
    'writer.ai:5 tols',
  ]);
  const error = await openError(folders, ['.', 'gone.ai']);
  expect(error.code).toBe('agent_file_invalid');
  for (const line of ['lead.ai:7 maxTurns: ', 'writer.ai:5 tols: ', 'broken.ai:3 ', 'gone.ai No such'])
    expect(error.message).toContain(`\n  ${line}`);
  expect(error.message).toContain('Did you mean "tools"?');
});

test('names in a file are looked up even if another key, an include or an agent is wrong', async () => {
  const folders = createFolders({
    'typo.ai': ai('tols: x\nagents: nobody\nmodels: opnai/gpt-5\ntools: [browser/fetch]'),
    'include.ai': ai('models: opnai/gpt-5', '${include:none.md}'),
  });
  const lines = (await load(folders, '.')).problems.map(({ file, line, key }) => `${file}:${line} ${key}`);
  expect(lines.toSorted()).toEqual([
    'include.ai:5 models',
    'include.ai:null null',
    'typo.ai:5 tols',
    'typo.ai:6 agents',
    'typo.ai:7 models',
    'typo.ai:8 tools',
  ]);
});

test('check refuses what no run could start: no model, a model without a price under a money budget, no such command', async () => {
  const folders = createFolders({
    'none.ai': ai(),
    'unpriced.ai': ai('models: ollama/x\nbudget: { usd: 1 }'),
    'command.ai': ai('models: ollama/x\ntools: gone'),
    '.ai-agent.json': { mcpServers: { gone: { command: 'no-such-program-anywhere' } } },
  });
  const { ok, problems } = await checkAgents(['.'], { launch: folders });
  expect(ok).toBe(false);
  expect(problems.map(({ file, line, key, message }) => `${file}:${line} ${key} ${message}`)).toEqual([
    expect.stringMatching(/^command\.ai:6 tools .*"no-such-program-anywhere" was not found on its PATH/u),
    expect.stringMatching(/^none\.ai:null models No model is set. Set one/u),
    expect.stringMatching(/^unpriced\.ai:6 budget .*whose price is unknown.*set the price in the config/u),
  ]);
});

describe('the operator’s config', () => {
  const turns = (agent: Agent | undefined): unknown => agent?.caps.limits.maxToolTurns;

  test('has layers: given, working folder, beside the file, home; the first that has a key wins, key by key', async () => {
    const layer = (maxToolTurns: number, more: object = {}) => ({ defaults: { maxToolTurns, ...more } });
    const files = {
      'given.json': layer(1),
      '.ai-agent.json': layer(2),
      'sub/.ai-agent.json': layer(3, { topP: 0.3 }),
      '~/.ai-agent/.ai-agent.json': layer(4, { topP: 0.4, temperature: 0.4 }),
      'sub/lead.ai': ai(),
      'sub/own.ai': ai('maxToolTurns: 9'),
    };
    const order = ['given.json', '.ai-agent.json', 'sub/.ai-agent.json', '~/.ai-agent/.ai-agent.json'];
    for (const without of [0, 1, 2, 3]) {
      const left = Object.fromEntries(
        Object.entries(files).filter(([name]) => !order.slice(0, without).includes(name)),
      );
      const folders = createFolders(left, without === 0 ? { config: 'given.json' } : {});
      const { agents, problems } = await load(folders, 'sub');
      expect(problemLines({ problems })).toEqual([]);
      expect(agents.map(turns)).toEqual([without + 1, 9]);
      expect(agents[0]!.resources.settings).toEqual({ topP: without === 3 ? 0.4 : 0.3, temperature: 0.4 });
    }
  });

  test('is read for each file from its own location: siblings in other folders have other defaults', async () => {
    const folders = createFolders({
      'a/.ai-agent.json': { defaults: { maxToolTurns: 1 } },
      'a/one.ai': ai('agents: ../b/two.ai'),
      'b/.ai-agent.json': { defaults: { maxToolTurns: 2 } },
      'b/two.ai': ai(),
    });
    const { agents } = await load(folders, 'a/one.ai');
    expect([turns(agents[0]), turns(agents[0]!.children.agents[0])]).toEqual([1, 2]);
  });

  test('and its keys come from the shell, from .ai-agent.env beside it, or from its env block, which wins', async () => {
    const folders = createFolders(
      {
        'lead.ai': ai('models: mine/small'),
        '.ai-agent.json': {
          providers: {
            mine: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/${A}/${B}/${C}', apiKey: '${A}-${B}-${C}' },
          },
          env: { A: 'from-the-block' },
        },
        '.ai-agent.env': 'A=no\nB="from-the-file"\n',
      },
      { env: { A: 'no', B: 'no', C: 'from-the-shell' } },
    );
    const { problems, resolver, agents } = await load(folders, 'lead.ai');
    expect(problemLines({ problems })).toEqual([]);
    expect(resolver.redactFor(agents[0]!)?.text('from-the-block-from-the-file-from-the-shell')).not.toMatch(
      /from-the/u,
    );
    expect(resolver.resourcesFor(agents[0]!).models[0]!.language).toMatchObject({ provider: 'mine', modelId: 'small' });
  });

  test('redacts for each agent the weak values of its own providers and servers', async () => {
    const folders = createFolders(
      {
        'lead.ai': ai('models: mine/small\ntools: [shop]'),
        'other.ai': ai('models: other/small'),
        '.ai-agent.json': {
          providers: {
            mine: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9', apiKey: '${MINE}' },
            other: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9', apiKey: '${OTHER}' },
          },
          mcpServers: { shop: { url: 'http://127.0.0.1:9', headers: { 'x-pass': '${SHOP}' } } },
        },
      },
      { env: { MINE: 'Summer2026!', SHOP: 'Winter2026!', OTHER: 'Autumn2026!' } },
    );
    const { resolver, agents } = await load(folders, '.');
    const lead = agents.find(({ name }) => name === 'lead')!;
    const shown = (...of: Parameters<typeof resolver.redactFor>) =>
      resolver.redactFor(...of)?.text('Summer2026! Winter2026! Autumn2026!') ?? 'all of it';
    expect(shown(lead)).toBe('[redacted] [redacted] Autumn2026!');
    // An agent that a model defined from it, without the server; and a fork of it with another model.
    expect(shown({ ...lead, resources: { ...lead.resources, servers: [] } })).toBe(
      '[redacted] Winter2026! Autumn2026!',
    );
    expect(shown(lead, ['other/small'])).toBe('[redacted] [redacted] Autumn2026!');
    await resolver.prepare(
      [
        {
          ...lead,
          resources: { ...lead.resources, models: ['other/small'] },
          children: { ...lead.children, agents: [] },
        },
      ],
      () => undefined,
    );
    expect(shown(lead, ['other/small'])).toBe('[redacted] [redacted] [redacted]');
    expect(shown(lead)).toBe('[redacted] [redacted] Autumn2026!');
    expect(shown(null)).toBe('all of it');
    expect(resolver.redactFor({ ...lead })).toBe(resolver.redactFor(lead));
  });

  test('that is named but missing is a problem, and so are defaults that no file could have', async () => {
    const folders = createFolders(
      { 'lead.ai': ai(), '.ai-agent.json': '{ "defaults": { "maxToolTurn": 3 } }' },
      { config: 'no.json' },
    );
    const problems = problemLines(await load(folders, 'lead.ai'));
    expect(problems.join('\n')).toMatch(/no\.json: The file does not exist; fix the path after --config/u);
    expect(problems.join('\n')).toMatch(/\.ai-agent\.json defaults\.maxToolTurn: .*\(maxToolTurns\?\)/u);
    expect(problems).toHaveLength(2);
  });
});

describe('a module', () => {
  const module = (body: string): string => `import { defineAgent } from 'cloister';\n${body}`;
  const lead = `defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models: ['rehearsal/x'] })`;

  test('exports agents that can be used beside those of files, and that name what the config defines', async () => {
    const folders = createFolders({
      'helper.ai': ai('models: rehearsal/x'),
      '.ai-agent.json': { providers: { rehearsal: { type: 'rehearsal', script: 'script.yaml' } } },
      'script.yaml': '- reply: From the script.',
    });
    folders.write({ 'team.ts': module(`export default [${lead}];`) });
    mkdirSync(folders.path('node_modules'));
    symlinkSync(join(import.meta.dirname, '../..'), folders.path('node_modules/cloister'));
    const { cloister } = await open(folders, ['team.ts', 'helper.ai']);
    expect(names(cloister.agents).toSorted()).toEqual(['helper', 'lead']);
    for (const name of ['lead', 'helper'])
      expect(await cloister.run(name, 'Go').outcome).toMatchObject({ output: 'From the script.' });
  });

  test.each([
    ['nothing', 'export default [];', /list is empty/u],
    [
      'something other than agents',
      'export default [{ name: "x" }];',
      /item 1 is not an agent; create it with defineAgent/u,
    ],
    ['an error', 'throw new Error("Out of luck.");', /Out of luck\./u],
  ])('that exports %s is refused, by its name', async (_, body, words) => {
    const error = await open(createFolders({ 'team.mjs': body }), ['team.mjs']).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'module_invalid', message: expect.stringMatching(/team\.mjs: /u) });
    expect((error as Error).message).toMatch(words);
  });
});

describe('tools', () => {
  const notes = `
    const tool = (name) => ({ name, description: name, inputSchema: { type: 'object' }, execute: () => name + ' was called' });
    export default ['find', 'write', 'erase'].map(tool);`;
  const files = {
    'notes.mjs': notes,
    '.ai-agent.json': {
      mcpServers: { notes: { module: './notes.mjs' }, safe: { module: './notes.mjs', tools: ['find'] } },
    },
  };
  const says = [
    { when: { turn: 1, text: 'Ask' }, reply: { calls: [{ tool: 'helper', args: { prompt: 'Go' } }] } },
    { when: { turn: 1 }, reply: { calls: [{ tool: 'notes__find' }, { tool: 'notes__erase' }] } },
    { reply: '{{results}}' },
  ];
  const toolsOf = async (keys: string, child = ''): Promise<readonly (readonly string[])[]> => {
    const folders = createFolders({ ...files, 'lead.ai': ai(keys), 'helper.ai': ai(child) });
    const { cloister, model } = await open(folders, ['lead.ai'], { says });
    const { outcome, run } = cloister.run('lead', keys.includes('agents') ? 'Ask' : 'Go');
    expect((await outcome).status).toBe('completed');
    expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
    return model.requests.map(({ tools }) => (tools ?? []).map(({ name }) => name));
  };

  test('an agent has only those that its file names', async () => {
    expect((await toolsOf(''))[0]).toEqual([]);
    expect((await toolsOf('tools: []'))[0]).toEqual([]);
    expect((await toolsOf('tools: read_file'))[0]).toEqual(['read_file', 'read_output']);
    expect((await toolsOf('tools: notes/find'))[0]).toEqual(['read_output', 'notes__find']);
    expect((await toolsOf('tools: [notes/erase, notes/find]'))[0]).toEqual([
      'read_output',
      'notes__find',
      'notes__erase',
    ]);
    expect((await toolsOf('tools: notes'))[0]).toEqual(['read_output', 'notes__find', 'notes__write', 'notes__erase']);
    expect((await toolsOf('tools: safe'))[0]).toEqual(['read_output', 'safe__find']);
  });

  test('nothing is inherited: a child has its own tools, even when its parent has more', async () => {
    expect(await toolsOf('tools: notes\nagents: helper', 'tools: notes/write')).toEqual([
      ['helper', 'read_output', 'notes__find', 'notes__write', 'notes__erase'],
      ['read_output', 'notes__write'],
      ['read_output', 'notes__write'],
      ['helper', 'read_output', 'notes__find', 'notes__write', 'notes__erase'],
    ]);
    expect((await toolsOf('tools: notes\nagents: helper'))[1]).toEqual([]);
  });

  test('a tool that is not named cannot be called', async () => {
    const folders = createFolders({ ...files, 'lead.ai': ai('tools: notes/find') });
    const { cloister } = await open(folders, ['lead.ai'], { says });
    const { output } = await cloister.run('lead', 'Go').outcome;
    expect(output).toContain('find was called');
    expect(output).toContain('"notes__erase" is not one of: read_output, notes__find');
    expect(output).not.toContain('erase was called');
  });

  test.each([
    ['notes/fnid', /notes has no tool "fnid"; did you mean "find"\?/u],
    ['safe/erase', /safe has no tool "erase"; it has find/u],
    ['nots', /No tool or server is named "nots"\. Add it to `mcpServers`.*\(notes\?\)/u],
  ])('%s is refused before anything runs', async (tool, words) => {
    const folders = createFolders({ ...files, 'lead.ai': ai(`tools: ${tool}`) });
    const problems = problemLines(await load(folders, 'lead.ai'));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^lead\.ai:5 tools: /u);
    expect(problems[0]).toMatch(words);
  });
});

describe('a folder created by `init`', () => {
  const templates = new URL('../../templates/', import.meta.url);
  const init = (folder: string, { cwd }: { readonly cwd: string }, template = 'start') =>
    initFolder(folder, { templates, template, cwd, version: '0.1.0' });
  const start = () => {
    const folders = createFolders();
    return { place: folders, started: init('team', folders) };
  };

  test('runs immediately, and check finds no problem', async () => {
    const { place: folders, started } = start();
    const inside = { ...folders, cwd: started.folder };
    const report = await check(inside, ['.']);
    expect(problemLines(report)).toEqual([]);
    expect(report).toMatchObject({ ok: true, cycles: [], worstCase: { agents: expect.any(Number) } });
    expect(names(report.agents as never)).toEqual(['lead', 'researcher']);
    const { cloister } = await open(inside, ['lead.ai']);
    const { outcome, run } = cloister.run('lead', 'What about backups?');
    expect(await outcome).toMatchObject({
      status: 'completed',
      output: expect.stringMatching(/^\*\*Test the restore/u),
    });
    expect((await cloister.show(run)).cells.map(({ agent }) => agent)).toEqual(['lead', 'researcher']);
    expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  });

  test('keeps keys and runs out of version control', () => {
    const { place: folders, started } = start();
    expect(readFileSync(join(started.folder, '.gitignore'), 'utf8')).toBe('.ai-agent.env\n.cloister/\nnode_modules/\n');
    expect(started.files.every((file) => existsSync(join(started.folder, file)))).toBe(true);
    folders.write({ 'old/.gitignore': 'dist\n.cloister/' });
    init('old', folders);
    expect(readFileSync(folders.path('old/.gitignore'), 'utf8')).toBe(
      'dist\n.cloister/\n.ai-agent.env\nnode_modules/\n',
    );
  });

  test('is not initialised again over existing files', () => {
    const { place: folders, started } = start();
    writeFileSync(join(started.folder, 'lead.ai'), 'mine');
    expect(() => init('team', folders)).toThrow(/team already contains lead\.ai, .*; nothing was changed/u);
    expect(readFileSync(join(started.folder, 'lead.ai'), 'utf8')).toBe('mine');
  });

  test('leaves a package.json and agents of Claude Code as they are', () => {
    const folders = createFolders();
    folders.write({ 'mine/package.json': '{}', 'mine/.claude/agents/own.md': 'mine' });
    const { files } = init('mine', folders, 'import');
    expect(files.filter((file) => file === 'package.json' || file.startsWith('.claude'))).toEqual([]);
    expect(files).toContain('.ai-agent.json');
    expect(readFileSync(folders.path('mine/package.json'), 'utf8')).toBe('{}');
    expect(existsSync(folders.path('mine/.claude/agents/reviewer.md'))).toBe(false);
  });

  test.each(listTemplates(templates).map(({ name }) => name))('%s has no placeholder and no dot- left', (name) => {
    const folders = createFolders();
    const { folder, files, next } = init(name, folders, name);
    expect(files).toEqual(expect.arrayContaining(['package.json', '.github/workflows/agents.yml', '.gitignore']));
    expect(files.filter((file) => file.includes('dot-') || file === 'template.json')).toEqual([]);
    for (const file of files)
      expect(readFileSync(join(folder, file), 'utf8')).not.toMatch(/\{\{(?!goal|results)\w+\}\}/u);
    const workflow = readFileSync(join(folder, '.github/workflows/agents.yml'), 'utf8');
    expect(workflow).toMatch(/npx cloister check(?: \S+)?\n.*npx cloister verify \S/u);
    expect(next.length).toBeGreaterThan(2);
  });

  /** What plumbing would look like in an answer: names of tools, frames of results, texts of prompts. */
  const plumbing = /Result from|\{\{|undefined|^\| |Your task|__/mu;

  test.each([
    ['start', 'lead.ai', 'lead', 'What about backups?', /^\*\*Test the restore/u],
    ['research', 'lead.ai', 'lead', 'How often should we test backups?', /^\*\*Once a month\*\*/u],
    ['desk', 'desk.ai', 'desk', 'Anna wants her bike repaired on Monday.', /^Yes: bring it on Monday at 10\. We know/u],
    ['team', 'team.yaml', 'editorial', 'A page on backups.', /^\*\*Backups\.\*\*/u],
    ['served', 'lead.ai', 'lead', 'What about backups?', /^\*\*Test the restore/u],
    ['import', '.claude/agents/reviewer.md', 'reviewer', 'Review: const total = a + b', /^\*\*One finding\.\*\*/u],
  ])('%s: check finds nothing, and the first answer is one', async (name, path, agent, question, answer) => {
    const folders = createFolders();
    const { folder, next } = init('made', folders, name);
    // Its tool server is a program.
    const inside = { ...folders, cwd: folder, env: { PATH: dirname(process.execPath) } };
    const report = await check(inside, [name === 'import' ? path : '.']);
    expect({ problems: problemLines(report), warnings: report.warnings }).toEqual({
      problems: [],
      warnings: name === 'import' ? expect.any(Array) : [],
    });
    expect(next.join('\n')).toContain(question);
    const { cloister } = await open(inside, [path]);
    const session = name === 'team' ? cloister.runTeam(agent, question) : cloister.run(agent, question);
    const { status, output } = await session.outcome;
    expect({ status, output }).toEqual({ status: 'completed', output: expect.stringMatching(answer) });
    expect(output).not.toMatch(plumbing);
  });

  test('an unknown template is refused, with those that there are', () => {
    expect(() => init('x', createFolders(), 'pyhton')).toThrow(/no template "pyhton".*start, research, typescript/u);
  });
});

// invariant: resources-not-shared
test('a model is created once to check its settings, and then for each session: not to look at prices', async () => {
  const helpers = ['one', 'two', 'three'];
  const folders = createFolders({
    'lead.ai': ai(`models: [played/it]\nbudget: { usd: 1 }\nagents: [${helpers.join(', ')}]`),
    ...Object.fromEntries(helpers.map((name) => [`${name}.ai`, ai('models: [played/it]')])),
    // Its lines are read whenever a model is made of it.
    'script.mjs': `
      const lines = [{ reply: 'Done.' }];
      globalThis.modelsMade = 0;
      export default { price: { input: 1, output: 1 }, get lines() { globalThis.modelsMade++; return lines; } };`,
    '.ai-agent.json': { providers: { played: { type: 'rehearsal', script: 'script.mjs' } } },
  });
  const made = (): number => (globalThis as unknown as { modelsMade: number }).modelsMade;
  await using cloister = await openCloister({ agents: ['lead.ai'], store: 'memory', cwd: folders.cwd, env: {} });
  const afterOpening = made();
  const perModel = afterOpening / 4;
  expect((await cloister.run('lead', 'Go').outcome).output).toBe('Done.');
  expect(made() - afterOpening).toBe(perModel);
  cloister.register(cloister.agents[0]!);
  expect(made() - afterOpening).toBe(perModel);
});

test('the config beside a file that only another file names says where the agents that it names are', async () => {
  const folders = createFolders({
    'lead.ai': ai('agents: [./sub/mid.ai]'),
    'sub/mid.ai': ai('agents: [deep]'),
    'sub/.ai-agent.json': { agents: ['../pool'] },
    'pool/deep.ai': ai(),
  });
  const { agents, problems } = await load(folders, 'lead.ai');
  expect(problemLines({ problems })).toEqual([]);
  expect(agents[0]!.children.agents[0]!.children.agents[0]!.name).toBe('deep');
});
