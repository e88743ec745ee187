// Agents in files: how they are found, linked, configured, and what each may use.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Agent } from 'cloister';
import { checkAgents } from '../../src/app/agents/check-agents.ts';
import { findAgent } from '../../src/app/agents/find-agent.ts';
import { startFolder } from '../../src/app/agents/init-folder.ts';
import { ai, check, ground, load, open, refusal, told } from './driver.ts';

const names = (agents: readonly Agent[]): readonly string[] => agents.map(({ name }) => name);

describe('a folder', () => {
  test('stands for every agent file below it; hidden folders, packages and other files are left out', async () => {
    const place = ground({
      'agents/lead.ai': ai(),
      'agents/deep/down/worker.ai': ai(),
      'agents/.hidden/no.ai': ai(),
      'agents/node_modules/pack/no.ai': ai(),
      'agents/readme.md': 'no',
      'elsewhere.ai': ai(),
    });
    const { agents, problems } = await load(place, 'agents');
    expect(told({ problems })).toEqual([]);
    expect(names(agents)).toEqual(['worker', 'lead']);
  });

  test('and a file of it, given both, is one agent', async () => {
    const place = ground({ 'agents/lead.ai': ai() });
    expect(names((await load(place, 'agents', 'agents/lead.ai', './agents/../agents/lead.ai')).agents)).toEqual([
      'lead',
    ]);
  });

  test('whose links lead in circles is read once', async () => {
    const place = ground({ 'agents/lead.ai': ai() });
    symlinkSync(place.path('agents'), place.path('agents/again'));
    expect(names((await load(place, 'agents')).agents)).toEqual(['lead']);
  });

  test('two agents of one name cannot be told apart when one is run', async () => {
    const place = ground({ 'a/lead.ai': ai(), 'b/lead.ai': ai() });
    await expect(open(place, ['a', 'b'])).rejects.toThrow(/two agents named "lead"/u);
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

  test.each([0, 1, 2, 3])('in the nearest place that has it (without the first %i)', async (without) => {
    const left = Object.fromEntries(Object.entries(files).filter(([name]) => !places.slice(0, without).includes(name)));
    const place = ground(left);
    const given = without < 2 ? ['lead.ai', 'given'] : ['lead.ai'];
    const { agents, problems } = await load(place, ...given);
    expect(told({ problems })).toEqual([]);
    const words = ['beside', 'among those given', 'where the config says', 'at home'];
    expect(agents[0]!.agents.map(({ description }) => description)).toEqual([`Found ${words[without]}.`]);
  });

  test('and when it is nowhere, the message says where to put it and which name is near', async () => {
    const place = ground({ 'lead.ai': ai('agents: [writer, helpr]'), 'writer.ai': ai(), 'sub/helper.ai': ai() });
    const [problem, ...more] = (await load(place, 'lead.ai')).problems;
    expect(more).toEqual([]);
    expect(problem).toMatchObject({ file: 'lead.ai', line: 5, key: 'agents', nearest: 'helper' });
    expect(problem!.message).toMatch(/no agent "helpr".*path.*beside.*\.ai-agent\.json.*home/u);
  });

  test('or by a path from the file that names it, with or without its ending', async () => {
    const place = ground({
      'a/lead.ai': ai('agents:\n  - ./sub/one.ai\n  - ../b/two'),
      'a/sub/one.ai': ai('agents: ../../b/three.ai'),
      'b/two.ai': ai(),
      'b/three.ai': ai(),
    });
    const { agents, problems } = await load(place, 'a/lead.ai');
    expect(told({ problems })).toEqual([]);
    expect(names(agents[0]!.agents)).toEqual(['one', 'two']);
    expect(names(agents[0]!.agents[0]!.agents)).toEqual(['three']);
  });

  test('and so is the agent that is run: here, where the config says, at home', async () => {
    const place = ground({ ...files, 'lead.ai': '' });
    expect(await findAgent('helper', place)).toBe(place.path('helper.ai'));
    const { cwd, home, env } = place;
    const elsewhere = { cwd: join(cwd, 'given/..', 'shared'), home, env };
    expect(await findAgent('helper', elsewhere)).toBe(place.path('~/.ai-agent/agents/helper.ai'));
    expect(await findAgent('nobody', place)).toBeNull();
    expect(await findAgent('../helper', elsewhere)).toBeNull();
  });
});

test('one that several name is one agent, and a caller may ask it for JSON without changing it for the others', async () => {
  const place = ground({
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
  const { cloister, model } = await open(place, ['.'], { says });
  const asked = await cloister.run('lead', 'Go').outcome;
  expect(asked).toMatchObject({ status: 'completed', output: expect.stringContaining('{"city":"Graz"}') });
  const plain = cloister.run('other', 'Go');
  expect(await plain.outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('Graz, plainly') });
  const systems = model.requests
    .map(({ prompt }) => JSON.stringify(prompt[0]))
    .filter((text) => text.includes('"expert'));
  expect(systems.map((text) => text.includes('fitting this JSON Schema'))).toEqual([true, true, false]);
  expect(await cloister.audit(plain.run)).toMatchObject({ ok: true });
});

test('everything that is wrong with any file is told at once, with file and line, and nothing is opened', async () => {
  const place = ground({
    'lead.ai': ai('agents: [writer, nobody]\nmodels: opnai/gpt-5\nmaxTurns: many'),
    'writer.ai': ai('tols: read_file\ntools: [browser/fetch]'),
    'broken.ai': '---\ndescription: [\n---\n',
    'empty.ai': '',
    '.ai-agent.json': '{\n  "providrs": {}\n}',
  });
  const { problems } = await load(place, '.', 'gone.ai');
  const lines = problems.map(({ file, line, key }) => `${file.replace(`${place.cwd}/`, '')}:${line} ${key}`).toSorted();
  expect(lines).toEqual([
    '.ai-agent.json:2 providrs',
    'broken.ai:3 null',
    'empty.ai:1 null',
    'gone.ai:null null',
    'lead.ai:5 agents',
    'lead.ai:7 maxTurns',
    'writer.ai:5 tols',
  ]);
  const error = await refusal(place, ['.', 'gone.ai']);
  expect(error.code).toBe('agent_file_invalid');
  for (const line of ['lead.ai:7 maxTurns: ', 'writer.ai:5 tols: ', 'broken.ai:3 ', 'gone.ai There is no such'])
    expect(error.message).toContain(`\n  ${line}`);
  expect(error.message).toContain('Did you mean "tools"?');
});

test('what a file names is looked up though another key of it, an include or an agent is wrong', async () => {
  const place = ground({
    'typo.ai': ai('tols: x\nagents: nobody\nmodels: opnai/gpt-5\ntools: [browser/fetch]'),
    'include.ai': ai('models: opnai/gpt-5', '${include:none.md}'),
  });
  const lines = (await load(place, '.')).problems.map(({ file, line, key }) => `${file}:${line} ${key}`);
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
  const place = ground({
    'none.ai': ai(),
    'unpriced.ai': ai('models: ollama/x\nbudget: { usd: 1 }'),
    'command.ai': ai('models: ollama/x\ntools: gone'),
    '.ai-agent.json': { mcpServers: { gone: { command: 'no-such-program-anywhere' } } },
  });
  const { ok, problems } = await checkAgents(['.'], { place });
  expect(ok).toBe(false);
  expect(problems.map(({ file, line, key, message }) => `${file}:${line} ${key} ${message}`)).toEqual([
    expect.stringMatching(/^command\.ai:6 tools .*"no-such-program-anywhere": it is in no folder of its PATH/u),
    expect.stringMatching(/^none\.ai:null models It has no model: name one/u),
    expect.stringMatching(/^unpriced\.ai:6 budget .*without a known price.*give the price in the config/u),
  ]);
});

describe('the operator’s config', () => {
  const turns = (agent: Agent | undefined): unknown => agent?.limits.maxToolTurns;

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
      const place = ground(left, without === 0 ? { config: 'given.json' } : {});
      const { agents, problems } = await load(place, 'sub');
      expect(told({ problems })).toEqual([]);
      expect(agents.map(turns)).toEqual([without + 1, 9]);
      expect(agents[0]!.settings).toEqual({ topP: without === 3 ? 0.4 : 0.3, temperature: 0.4 });
    }
  });

  test('is read for each file where it lies: siblings in other folders have other defaults', async () => {
    const place = ground({
      'a/.ai-agent.json': { defaults: { maxToolTurns: 1 } },
      'a/one.ai': ai('agents: ../b/two.ai'),
      'b/.ai-agent.json': { defaults: { maxToolTurns: 2 } },
      'b/two.ai': ai(),
    });
    const { agents } = await load(place, 'a/one.ai');
    expect([turns(agents[0]), turns(agents[0]!.agents[0])]).toEqual([1, 2]);
  });

  test('and its keys come from the shell, from .ai-agent.env beside it, or from its env block, which wins', async () => {
    const place = ground(
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
    const { problems, equipping, agents } = await load(place, 'lead.ai');
    expect(told({ problems })).toEqual([]);
    expect(equipping.redact?.text('from-the-block-from-the-file-from-the-shell')).not.toMatch(/from-the/u);
    expect(equipping.equip(agents[0]!).models[0]!.language).toMatchObject({ provider: 'mine', modelId: 'small' });
  });

  test('that is named and not there is a problem, and so are defaults that no file could have', async () => {
    const place = ground(
      { 'lead.ai': ai(), '.ai-agent.json': '{ "defaults": { "maxToolTurn": 3 } }' },
      { config: 'no.json' },
    );
    const problems = told(await load(place, 'lead.ai'));
    expect(problems.join('\n')).toMatch(/no\.json: There is no such file; correct the path after --config/u);
    expect(problems.join('\n')).toMatch(/\.ai-agent\.json defaults\.maxToolTurn: .*\(maxToolTurns\?\)/u);
    expect(problems).toHaveLength(2);
  });
});

describe('a module', () => {
  const module = (body: string): string => `import { defineAgent } from 'cloister';\n${body}`;
  const lead = `defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models: ['rehearsal/x'] })`;

  test('exports agents that stand beside those of files, and name what the config defines', async () => {
    const place = ground({
      'helper.ai': ai('models: rehearsal/x'),
      '.ai-agent.json': { providers: { rehearsal: { type: 'rehearsal', script: 'script.yaml' } } },
      'script.yaml': '- reply: From the script.',
    });
    place.write({ 'team.ts': module(`export default [${lead}];`) });
    mkdirSync(place.path('node_modules'));
    symlinkSync(join(import.meta.dirname, '../..'), place.path('node_modules/cloister'));
    const { cloister } = await open(place, ['team.ts', 'helper.ai']);
    expect(names(cloister.agents).toSorted()).toEqual(['helper', 'lead']);
    for (const name of ['lead', 'helper'])
      expect(await cloister.run(name, 'Go').outcome).toMatchObject({ output: 'From the script.' });
  });

  test.each([
    ['nothing', 'export default [];', /list is empty/u],
    ['what is no agent', 'export default [{ name: "x" }];', /item 1 is not an agent; make it with defineAgent/u],
    ['an error', 'throw new Error("Out of luck.");', /Out of luck\./u],
  ])('that exports %s is refused, by its name', async (_, body, words) => {
    const error = await open(ground({ 'team.mjs': body }), ['team.mjs']).catch((thrown: unknown) => thrown);
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
    const place = ground({ ...files, 'lead.ai': ai(keys), 'helper.ai': ai(child) });
    const { cloister, model } = await open(place, ['lead.ai'], { says });
    const { outcome, run } = cloister.run('lead', keys.includes('agents') ? 'Ask' : 'Go');
    expect((await outcome).status).toBe('completed');
    expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
    return model.requests.map(({ tools }) => (tools ?? []).map(({ name }) => name));
  };

  test('an agent has those that its file names, and no others', async () => {
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

  test('nothing is handed down: a child has its own, also when its parent has more', async () => {
    expect(await toolsOf('tools: notes\nagents: helper', 'tools: notes/write')).toEqual([
      ['helper', 'read_output', 'notes__find', 'notes__write', 'notes__erase'],
      ['read_output', 'notes__write'],
      ['read_output', 'notes__write'],
      ['helper', 'read_output', 'notes__find', 'notes__write', 'notes__erase'],
    ]);
    expect((await toolsOf('tools: notes\nagents: helper'))[1]).toEqual([]);
  });

  test('one that is not named cannot be called', async () => {
    const place = ground({ ...files, 'lead.ai': ai('tools: notes/find') });
    const { cloister } = await open(place, ['lead.ai'], { says });
    const { output } = await cloister.run('lead', 'Go').outcome;
    expect(output).toContain('find was called');
    expect(output).toContain('"notes__erase" is not one of: read_output, notes__find');
    expect(output).not.toContain('erase was called');
  });

  test.each([
    ['notes/fnid', /notes has no tool "fnid"; did you mean "find"\?/u],
    ['safe/erase', /safe has no tool "erase"; it has find/u],
    ['nots', /No tool or server "nots" is known: add it to `mcpServers`.*\(notes\?\)/u],
  ])('%s is refused before anything runs', async (tool, words) => {
    const place = ground({ ...files, 'lead.ai': ai(`tools: ${tool}`) });
    const problems = told(await load(place, 'lead.ai'));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^lead\.ai:5 tools: /u);
    expect(problems[0]).toMatch(words);
  });
});

describe('a folder that `init` has started', () => {
  const templates = new URL('../../templates/start/', import.meta.url);
  const start = () => {
    const place = ground();
    return { place, started: startFolder('team', templates, place.cwd) };
  };

  test('runs at once, and check has nothing against it', async () => {
    const { place, started } = start();
    const inside = { ...place, cwd: started.folder };
    const report = await check(inside, ['.']);
    expect(told(report)).toEqual([]);
    expect(report).toMatchObject({ ok: true, cycles: [], worstCase: { agents: expect.any(Number) } });
    expect(names(report.agents as never)).toEqual(['lead', 'researcher']);
    const { cloister } = await open(inside, ['lead.ai']);
    const { outcome, run } = cloister.run('lead', 'What about backups?');
    expect(await outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('rehearsal') });
    expect((await cloister.show(run)).cells.map(({ agent }) => agent)).toEqual(['lead', 'researcher']);
    expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  });

  test('keeps keys and runs out of version control', () => {
    const { place, started } = start();
    expect(readFileSync(join(started.folder, '.gitignore'), 'utf8')).toBe('.ai-agent.env\n.cloister/\n');
    expect(started.files.every((file) => existsSync(join(started.folder, file)))).toBe(true);
    place.write({ 'old/.gitignore': 'dist\n.cloister/' });
    startFolder('old', templates, place.cwd);
    expect(readFileSync(place.path('old/.gitignore'), 'utf8')).toBe('dist\n.cloister/\n.ai-agent.env\n');
  });

  test('is not started again over what is there', () => {
    const { place, started } = start();
    writeFileSync(join(started.folder, 'lead.ai'), 'mine');
    expect(() => startFolder('team', templates, place.cwd)).toThrow(
      /team has lead\.ai, .*already; nothing was changed/u,
    );
    expect(readFileSync(join(started.folder, 'lead.ai'), 'utf8')).toBe('mine');
  });
});
