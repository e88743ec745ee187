// Agent files as other runtimes write them: what is optional, what has no effect, and what is read in place.
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { Configs } from '../../src/app/agents/configs.ts';
import { findAgent } from '../../src/app/agents/read-agent-files.ts';
import { ai, check, createFolders, load, problemLines } from './driver.ts';

test('a file with only a description answers in Markdown, and its usage is its description', async () => {
  const folders = createFolders({
    'solo.ai': '---\ndescription: Finds facts about a city.\ntools:\n---\nFind facts.\n',
  });
  const { agents, problems } = await load(folders, 'solo.ai');
  expect(problemLines({ problems })).toEqual([]);
  expect(agents[0]).toMatchObject({
    usage: 'Finds facts about a city.',
    signature: { output: { format: 'markdown' } },
    definition: { tools: [] },
  });
});

test('a key that only tunes another runtime is a warning with its line', async () => {
  const folders = createFolders({ 'solo.ai': '---\ndescription: Finds facts.\ncache: 1h\n---\nFind facts.\n' });
  const report = await check(folders, ['solo.ai']);
  expect(report.ok).toBe(true);
  expect(report.warnings).toEqual([
    {
      code: 'key-ignored',
      agent: 'solo',
      message: expect.stringMatching(/^solo\.ai:3 `cache`: This key has no effect\./u),
    },
  ]);
});

test.each(["{% render 'style.md' %}", '{%- render "style.md" -%}', '${include:style.md}'])(
  '%s is an include',
  async (tag) => {
    const folders = createFolders({
      'solo.ai': ai('', `A ${tag} z`),
      'style.md': "Be {% render 'how.md' %}.",
      'how.md': 'brief',
    });
    const { agents, problems } = await load(folders, 'solo.ai');
    expect(problemLines({ problems })).toEqual([]);
    expect(agents[0]!.prompt).toBe('A Be brief. z\n');
  },
);

test('a rendered file outside the folder is refused, as an include is', async () => {
  const folders = createFolders({ 'team/solo.ai': ai('', "{% render '../secret.md' %}"), 'secret.md': 'swordfish' });
  const registry = await load(folders, 'team/solo.ai');
  expect(problemLines(registry)).toEqual([expect.stringContaining("no such file in the agent's folder")]);
  expect(JSON.stringify(registry.problems)).not.toContain('swordfish');
});

test('what a template language would fill in is a warning, also in an included file and a sub-agent', async () => {
  const folders = createFolders({
    'lead.ai': ai('agents: ./sub.ai', 'For {{ user }}: {{ user }} {% if x %}. ${DATE} {"a": {"b": 1}}'),
    'sub.ai': ai('', '${include:note.md}'),
    'note.md': '{{a}}',
  });
  const { warnings } = await check(folders, ['lead.ai']);
  expect(warnings.filter(({ code }) => code === 'template-as-text')).toEqual([
    {
      code: 'template-as-text',
      agent: 'lead',
      message: expect.stringContaining('lead.ai: the model is shown this as it is written: {{ user }}, {% if x %}.'),
    },
    {
      code: 'template-as-text',
      agent: 'sub',
      message: expect.stringContaining('sub.ai: the model is shown this as it is written: {{a}}.'),
    },
  ]);
});

const reviewer = [
  '---',
  'name: Code Reviewer',
  'description: Reviews: changes',
  'tools: Read, Bash, Agent(Tester)',
  'color: red',
  '---',
  'Review.',
  '',
].join('\n');
const tester = '---\nname: tester\ndescription: Runs tests\ntools: []\n---\nTest.\n';

test('an agent of another runtime is read in place, by its path or in `agents`, with what its file names', async () => {
  const folders = createFolders({
    '.claude/agents/code-reviewer.md': reviewer,
    '.claude/agents/tester.md': tester,
    'lead.ai': ai('agents: [./.claude/agents/code-reviewer.md]'),
  });
  const { agents, problems } = await load(folders, '.claude/agents/code-reviewer.md', 'lead.ai');
  expect(problemLines({ problems })).toEqual([]);
  expect(agents.map(({ name }) => name)).toEqual(['code-reviewer', 'lead']);
  expect(agents[1]!.children.agents[0]).toMatchObject({
    name: 'code-reviewer',
    prompt: 'Review.\n',
    resources: { builtins: ['read_file'], servers: [] },
    children: { agents: [{ name: 'tester' }] },
  });
});

test('whatever is not as in its own runtime is a warning, with its line there', async () => {
  const folders = createFolders({ 'a/code-reviewer.md': reviewer, 'a/tester.md': tester });
  const report = await check(folders, ['a/code-reviewer.md']);
  expect(problemLines(report)).toEqual([]);
  const said = report.warnings.filter(({ code }) => code === 'not-as-written').map(({ message }) => message);
  expect(said).toEqual([
    expect.stringContaining('a/code-reviewer.md: The keys are not valid YAML'),
    expect.stringContaining('a/code-reviewer.md:2 `name`: The agent is named after its file: code-reviewer.'),
    expect.stringContaining('a/code-reviewer.md:4 `tools`: read_file, write_file and list_files see'),
    expect.stringContaining('a/code-reviewer.md:4 `tools`: Left out, because nothing here does the same: Bash.'),
    expect.stringContaining('a/code-reviewer.md:5 `color`: It has no effect here.'),
  ]);
});

test('a server that the operator does not have is a problem at the line that names it', async () => {
  const folders = createFolders({ 'a.md': '---\nname: a\ndescription: Works\ntools: mcp__gone__x\n---\nWork.\n' });
  const report = await check(folders, ['a.md']);
  expect(problemLines(report)).toEqual([expect.stringMatching(/^a\.md:4 tools: No tool or server is named "gone"/u)]);
});

test('a folder with agents of other runtimes says that it has them; other Markdown is passed over', async () => {
  const folders = createFolders({
    '.claude/agents/code-reviewer.md': reviewer,
    'docs/README.md': '# No agent',
    'notes.md': '---\ntitle: x\n---\n',
  });
  const report = await check(folders, ['.']);
  expect(report).toMatchObject({ ok: true, agents: [] });
  expect(report.warnings).toEqual([
    {
      code: 'agents-not-loaded',
      agent: '',
      message: expect.stringMatching(/\.claude\/agents\/code-reviewer\.md\..*`cloister import \.`/u),
    },
  ]);
});

test('without paths, the agents here, of the config and of the home folder are listed with where they come from', async () => {
  const folders = createFolders({
    'here.ai': ai(),
    'shared/both.ai': ai(),
    'agents/deep/below.ai': ai(),
    'agents/here.ai': ai(),
    'team/lead.ai': ai(),
    '~/.ai-agent/agents/one.ai': ai(),
    '~/elsewhere/one.ai': ai(),
    '~/.ai-agent/agents/mine.ai': ai(),
  });
  folders.write({ '.ai-agent.json': { agents: ['shared', folders.path('~/elsewhere'), 'missing'] } });
  const { agents, ok } = await check(folders, [], { syntaxOnly: true });
  expect(ok).toBe(true);
  const listed = agents.map(({ name, from, byName }) => `${name} ${from}${byName === true ? '' : ' by path'}`);
  expect(listed.toSorted((one, other) => (one < other ? -1 : 1))).toEqual([
    'below here',
    'both config',
    'here here',
    'here here by path',
    'lead here by path',
    'mine home',
    'one config',
    'one home by path',
  ]);
  // The list is true of each.
  for (const { name, file, byName } of agents) {
    const found = await findAgent(name, new Configs(folders));
    expect(found === resolve(folders.cwd, file)).toBe(byName);
  }
  expect((await check(folders, ['here.ai'], { syntaxOnly: true })).agents[0]).not.toHaveProperty('from');
});

const mcpFile = {
  mcpServers: {
    notes: {
      command: process.execPath,
      args: ['${DIR:-x}'],
      env: { KEY: '${NOTES_KEY}' },
      timeout: 5,
      alwaysAllow: ['a'],
    },
    web: { type: 'http', url: 'https://x.example', headers: { A: '${TOKEN:-t}' } },
    off: { command: 'off', disabled: true },
  },
};

test('the servers of a .mcp.json are used if the config names the file, and only then', async () => {
  const files = { 'a.ai': ai('tools: notes, web'), '.mcp.json': mcpFile };
  const without = createFolders({ ...files, '.ai-agent.json': {} }, { env: { NOTES_KEY: 'k' } });
  expect(problemLines(await check(without, ['a.ai']))).toHaveLength(2);
  const folders = createFolders({ ...files, '.ai-agent.json': { mcp: './.mcp.json' } }, { env: { NOTES_KEY: 'k' } });
  const report = await check(folders, ['a.ai']);
  expect(problemLines(report)).toEqual([]);
  expect(report.reach['a']).toMatchObject({
    servers: ['notes', 'web'],
    env: expect.arrayContaining(['NOTES_KEY', 'DIR', 'TOKEN']),
  });
  expect(report.warnings.filter(({ code }) => code === 'key-ignored').map(({ message }) => message)).toEqual([
    expect.stringContaining('.mcp.json `notes.timeout`: How long a call may take'),
    expect.stringContaining('.mcp.json `notes.alwaysAllow`: Nobody is asked'),
  ]);
  expect(report.warnings.filter(({ code }) => code === 'not-as-written')).toEqual([]);
});

test('what a .mcp.json means differently here is a warning, and what is only written differently is none', async () => {
  const file = { servers: { 'my notes': { command: 'x', env: { A: '${env:A}', B: '${input:b}' }, disabled: true } } };
  const folders = createFolders({ 'a.ai': ai(), '.mcp.json': file, '.ai-agent.json': { mcp: './.mcp.json' } });
  expect((await check(folders, ['a.ai'])).warnings).toEqual([
    { code: 'not-as-written', agent: '', message: '.mcp.json `my notes`: The server is named my-notes here.' },
    {
      code: 'not-as-written',
      agent: '',
      message: '.mcp.json `my notes.env`: Set B in .ai-agent.env: it was asked for when the server started.',
    },
  ]);
});

test('a server that only an unused .mcp.json may have is answered with the line that uses it', async () => {
  const files = { 'a.md': '---\nname: a\ndescription: Works\ntools: mcp__notes__add\n---\nWork.\n' };
  const line = `add \`"mcp": "./.mcp.json"\` there`;
  const without = createFolders(files);
  expect(problemLines(await check(without, ['a.md']))[0]).not.toContain('"mcp"');
  const folders = createFolders({ ...files, '.mcp.json': mcpFile }, { env: { NOTES_KEY: 'k' } });
  expect(problemLines(await check(folders, ['a.md']))[0]).toContain(line);
  folders.write({ '.ai-agent.json': { mcp: './.mcp.json' } });
  expect(problemLines(await check(folders, ['a.md']))).toEqual([]);
});

test('a server in the settings of an editor starts in its project', async () => {
  const folders = createFolders({ 'a.ai': ai('tools: x'), '.vscode/mcp.json': { servers: { x: { command: './x' } } } });
  folders.write({ '.ai-agent.json': { mcp: './.vscode/mcp.json' } });
  const { configs } = await load(folders, 'a.ai');
  expect(configs.forFile(folders.path('a.ai')).resolved.servers['x']).toMatchObject({ folder: folders.path('.') });
});

test('a sub-agent that is not found is reported with the line that names it', async () => {
  const folders = createFolders({
    'boss.md': '---\nname: boss\ndescription: Leads\ntools: Read, Agent(nobody)\n---\nLead.\n',
    'chief.agent.md': "---\ndescription: Leads\ntools: ['agent']\nmodel: auto\nagents: [nobody]\n---\nLead.\n",
  });
  expect(problemLines(await check(folders, ['boss.md', 'chief.agent.md']))).toEqual([
    expect.stringMatching(/^boss\.md:4 agents: No agent "nobody"/u),
    expect.stringMatching(/^chief\.agent\.md:5 agents: No agent "nobody"/u),
  ]);
});

test('a key that is too short to be redacted is a single warning, however many agents use it', async () => {
  const folders = createFolders(
    { 'a.ai': ai('models: openai/gpt-5\nagents: b'), 'b.ai': ai('models: [openai/gpt-5, openai/gpt-5-mini]') },
    { env: { OPENAI_API_KEY: 'k' } },
  );
  const { warnings } = await check(folders, ['a.ai', 'b.ai']);
  expect(warnings.filter(({ code }) => code === 'secret-short')).toHaveLength(1);
});

test('a server of the config wins over one of the .mcp.json; a disabled one does not exist', async () => {
  const folders = createFolders({
    'a.ai': ai('tools: notes, off'),
    'sub/.mcp.json': mcpFile,
    '.ai-agent.json': { mcp: 'sub/.mcp.json', mcpServers: { notes: { command: 'own' } } },
  });
  const { configs, problems } = await load(folders, 'a.ai');
  expect(problemLines({ problems })).toEqual([expect.stringContaining('No tool or server is named "off"')]);
  const { servers } = configs.forFile(folders.path('a.ai')).resolved;
  expect(servers['notes']).toMatchObject({ value: { command: 'own' }, folder: folders.path('.') });
  expect(servers['web']).toMatchObject({ source: folders.path('sub/.mcp.json'), folder: folders.path('sub') });
});

test.each([
  [{ mcp: 'gone.json' }, {}, /gone\.json: The file does not exist; fix `mcp` in \.ai-agent\.json/u],
  [{ mcp: 'm.json' }, { 'm.json': '{' }, /^m\.json:1: Not valid JSON/u],
  [{ mcp: 'm.json' }, { 'm.json': {} }, /^m\.json:1: Expected an object with `mcpServers`/u],
  [
    { mcp: 'm.json' },
    { 'm.json': { mcpServers: { a: { command: 'a', odd: 1 } } } },
    /^m\.json:1 mcpServers\.a\.odd: Unknown key/u,
  ],
  [{ mcp: 5 }, {}, /mcp: Expected a string/u],
])('the config %j is refused', async (config, files, words) => {
  const folders = createFolders({ 'a.ai': ai(), '.ai-agent.json': config, ...files });
  expect(problemLines(await check(folders, ['a.ai']))).toEqual([expect.stringMatching(words)]);
});

const worker = (model: string) => `---\nname: worker\ndescription: Works\ntools: []\nmodel: ${model}\n---\nWork.\n`;

test('a model of another runtime is the one that the operator has an alias for; the nearest config says which', async () => {
  const folders = createFolders({
    'worker.md': worker('sonnet'),
    'lead.ai': ai('agents: [./sub/worker.md]'),
    'sub/worker.md': worker('opus'),
    'sub/.ai-agent.json': { modelAliases: { sonnet: 'ollama/never', opus: 'ollama/large' } },
    '.ai-agent.json': { modelAliases: { sonnet: 'ollama/medium' } },
    '~/.ai-agent/.ai-agent.json': { modelAliases: { sonnet: 'ollama/other', opus: 'ollama/home' } },
  });
  const { agents, problems } = await load(folders, 'worker.md', 'lead.ai');
  expect(problemLines({ problems })).toEqual([]);
  expect(agents[0]!.resources.models).toEqual(['ollama/medium']);
  expect(agents[1]!.children.agents[0]!.resources.models).toEqual(['ollama/large']);
  const { warnings } = await check(folders, ['worker.md']);
  expect(warnings.map(({ message }) => message)).toContainEqual(
    'worker.md:5 `model`: sonnet is ollama/medium here: `modelAliases` in .ai-agent.json says so.',
  );
});

test('without an alias, the default models are used, and check says which line to add', async () => {
  const folders = createFolders({ 'worker.md': worker('sonnet') });
  const report = await check(folders, ['worker.md']);
  expect(problemLines(report)).toEqual([]);
  const { agents } = await load(folders, 'worker.md');
  expect(agents[0]!.resources.models).toEqual(['ollama/some']);
  expect(report.warnings.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('add to .ai-agent.json: "modelAliases": { "sonnet": "<provider>/<model>" }'),
  );
  const syntax = await check(folders, ['worker.md'], { syntaxOnly: true });
  expect(JSON.stringify(syntax.warnings)).not.toContain('modelAliases');
});

test('an alias is not used for agent files of our own, and its provider must exist', async () => {
  const folders = createFolders({
    'worker.md': worker('sonnet'),
    'own.ai': ai('models: sonnet'),
    '.ai-agent.json': { modelAliases: { sonnet: 'olama/some' } },
  });
  expect(problemLines(await check(folders, ['worker.md', 'own.ai']))).toEqual([
    expect.stringMatching(/^own\.ai:5 models(?:\.0)?: Expected `<provider>\/<model>`/u),
    expect.stringMatching(/^worker\.md:5 models: No provider "olama" is configured.*\(ollama\?\)$/u),
  ]);
});

test.each([
  [{ modelAlias: {} }, /^\.ai-agent\.json:1 modelAlias: Unknown key; .* \(modelAliases\?\)$/u],
  [
    { modelAliases: { sonnet: 'claude' } },
    /^\.ai-agent\.json:1 modelAliases\.sonnet: Expected `<provider>\/<model>`\.$/u,
  ],
  [
    { modelAliases: { sonnet: 'https://swordfish' } },
    /^\.ai-agent\.json:1 modelAliases\.sonnet: Expected `<provider>\/<model>`\.$/u,
  ],
  [{ modelAliases: { 'openai/gpt': 'openai/gpt-5' } }, /modelAliases.*: Expected .*a model name of another runtime/u],
  [{ modelAliases: ['sonnet'] }, /modelAliases: Expected an object/u],
])('the aliases of the config %j are refused', async (config, words) => {
  const folders = createFolders({ 'a.ai': ai(), '.ai-agent.json': config });
  const lines = problemLines(await check(folders, ['a.ai']));
  expect(lines).toEqual([expect.stringMatching(words)]);
  expect(lines.join('\n')).not.toContain('swordfish');
});
