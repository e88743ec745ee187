// Agents of other runtimes, read as ours: nothing gets more than its file names, and what was made of them stays as it is.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { parseYaml } from '#adapters/yaml';
import { foreignAgentText, importAgentFile, parseAgentFile, readForeignAgent } from '#core/registry';

const servers = ['tracker', 'notes'];
const modelAliases = { sonnet: 'anthropic/claude-x', 'Big One (copilot)': 'openai/big', auto: 'ollama/small:8b' };
const ports = {
  parseYaml,
  modelAliases,
  hasServer: (name: string) => servers.includes(name),
  findAgent: (name: string) => (name.startsWith('gone') ? null : name.toLowerCase()),
};
const builtins = ['read_file', 'write_file', 'list_files'];
const hasTool = (name: string) => builtins.includes(name) || servers.includes(name.split('/')[0]!);

const read = (keys: string, path = 'solo.md') =>
  readForeignAgent(path, `---\ndescription: Works\n${keys}\n---\nWork.\n`, ports);

/** What each tool of a file may become, said once more. */
const meant: Readonly<Record<string, string>> = {
  Read: 'read_file',
  Write: 'write_file',
  Edit: 'write_file',
  Glob: 'list_files',
  mcp__tracker__search: 'tracker/search',
  mcp__notes: 'notes',
  'mcp__notes__*': 'notes',
  mcp__gone__x: '',
  Bash: '',
  'Bash(git:*)': '',
  'Read(./src/**)': '',
  WebFetch: '',
  Task: '',
  read: 'read_file',
  'edit/editFiles': 'write_file',
  search: 'list_files',
  'tracker/search': 'tracker/search',
  'notes/*': 'notes',
  'gone/x': '',
  'web/fetch': '',
  'vscode/tracker': '',
  agent: '',
  '*': '',
};

const agentNames = ['one', 'two', 'gone'];
const foreign = fc.record({
  tools: fc.option(fc.array(fc.constantFrom(...Object.keys(meant)), { maxLength: 6 }), { nil: undefined }),
  disallowedTools: fc.option(fc.array(fc.constantFrom(...Object.keys(meant)), { maxLength: 2 }), { nil: undefined }),
  agents: fc.option(fc.subarray(agentNames), { nil: undefined }),
  calls: fc.subarray(agentNames),
  more: fc.dictionary(
    fc.constantFrom('color', 'hooks', 'mcpServers', 'skills', 'model', 'maxTurns', 'odd'),
    fc.jsonValue(),
    { maxKeys: 3 },
  ),
  description: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }),
  body: fc.string({ unit: 'grapheme', maxLength: 80 }).map((text) => text.replaceAll(/[\0\uFFFD\r]/gu, '')),
  isCopilot: fc.boolean(),
  asText: fc.boolean(),
});

// invariant: import-never-widens
test('every tool, server and agent of the result is one that the file names and does not forbid', () =>
  fc.assert(
    fc.property(foreign, ({ tools, disallowedTools, agents, calls, more, description, body, isCopilot, asText }) => {
      const named =
        tools === undefined ? undefined : [...tools, ...(calls.length > 0 ? [`Agent(${calls.join(', ')})`] : [])];
      const list = (names: readonly string[] | undefined) => (asText ? names?.join(', ') : names);
      const keys = { ...more, description, tools: list(named), disallowedTools: list(disallowedTools), agents };
      const yaml = stringify(JSON.parse(JSON.stringify(keys)), { aliasDuplicateObjects: false });
      const path = isCopilot ? 'solo.agent.md' : 'solo.md';
      const agent = readForeignAgent(path, `---\n${yaml}---\n${body}`, ports);
      const allowed = new Set((tools ?? []).map((tool) => meant[tool]));
      const forbidden = new Set((disallowedTools ?? []).map((tool) => meant[tool]));
      for (const tool of agent.keys['tools'] as readonly string[]) {
        expect(allowed).toContain(tool);
        expect(forbidden).not.toContain(tool);
        expect(forbidden).not.toContain(tool.split('/')[0]);
      }
      const callable = isCopilot
        ? tools?.includes('agent') === true || tools?.includes('Task') === true
          ? (agents ?? [])
          : []
        : named === undefined
          ? []
          : calls;
      for (const called of (agent.keys['agents'] ?? []) as readonly string[]) expect(callable).toContain(called);
      expect(Object.keys(agent.keys)).not.toContain('spawns');

      // What was written is a valid agent file, and importing it again changes nothing.
      const text = foreignAgentText(agent);
      const { file, problems } = parseAgentFile('solo.ai', text, { parseYaml });
      expect(problems).toEqual([]);
      expect(file!.prompt).toBe(body);
      expect(file!.frontmatter.tools).toEqual(agent.keys['tools']);
      expect(importAgentFile('solo.ai', text, { parseYaml, modelAliases, hasTool })).toEqual({ text, notes: [] });
    }),
    { numRuns: 150 },
  ));

test.each([
  ['tools: Read, Bash', /nothing here does the same: Bash/u, ['read_file']],
  ['tools: mcp__gone__x', /no such server: gone\/x/u, []],
  [
    'color: red',
    /The file names no tools, which means all of them in Claude Code and none here.*tools: \[read_file/u,
    [],
  ],
  ['tools: "*"', /nothing here does the same: \*/u, []],
  ['tools: mcp__notes\ndisallowedTools: mcp__notes__delete', /is in `disallowedTools`, in whole or in part/u, []],
  ['tools: Edit\ndisallowedTools: Write', /is in `disallowedTools`/u, []],
  ['tools: Read\ndisallowedTools: Read(./secrets/**)', /is in `disallowedTools`, in whole or in part/u, []],
  ['tools: Read\ndisallowedTools: { Read: true }', /cannot be read as a list of tools/u, []],
  ['tools: Read\nnote: a: b\ndisallowedTools: Write\ndisallowedTools: Read', /cannot be read as a list/u, []],
  ["tools: Read\ndisallowedTools: ['Read']\nodd key: a: b", /cannot be read as a list/u, []],
  ['tools: Task, Read', /List in `agents` those that it may call/u, ['read_file']],
  ['tools: Agent(gone-away)', /The agent gone-away was left out/u, []],
])('%j is reported', (keys, words, tools) => {
  const agent = read(keys);
  expect(agent.keys['tools']).toEqual(tools);
  expect(agent.notes.map(({ message }) => message).join('\n')).toMatch(words);
});

// invariant: import-guesses-no-model
test.each<[model: string, models: readonly string[] | undefined, path?: string]>([
  ['sonnet', ['anthropic/claude-x']],
  ['Sonnet', undefined],
  ['opus', undefined],
  ['inherit', undefined],
  ['auto', ['ollama/small:8b']],
  ['claude-opus-4-1', ['anthropic/claude-opus-4-1']],
  ['claude-opus-4-1', undefined, 'solo.agent.md'],
  ['ollama/llama3:8b', ['ollama/llama3:8b']],
  ['http://x.example/model', undefined],
  ['[Big One (copilot), opus, openai/gpt-5, sonnet, sonnet]', ['openai/big', 'openai/gpt-5', 'anthropic/claude-x']],
  ['toString', undefined],
])('the model %j is %j here', (model, models, path) => {
  expect(read(`model: ${model}`, path).keys['models']).toEqual(models);
});

const modelNotes = (notes: readonly { kind: string; key: string | null; message: string }[]) =>
  notes.filter(({ key }) => key?.startsWith('model')).map(({ kind, message }) => `${kind}: ${message}`);

test('the report names the alias that was used, and the line to add for a model without one', () => {
  expect(modelNotes(read('model: sonnet').notes)).toEqual([
    'changed: sonnet is anthropic/claude-x here: `modelAliases` in .ai-agent.json says so.',
  ]);
  expect(modelNotes(read('model: opus, GPT-9').notes)).toEqual([
    'decide: No model is known here as "opus", "GPT-9", so the default models are used. To say which one it is, add to .ai-agent.json: "modelAliases": { "opus": "<provider>/<model>", "GPT-9": "<provider>/<model>" }',
  ]);
  expect(modelNotes(read('model: [sonet, openai/gpt-5]').notes)).toEqual([
    expect.stringMatching(/"sonet", so only openai\/gpt-5 can be used\. Did you mean the alias "sonnet"\?/u),
  ]);
  expect(modelNotes(read('model: inherit').notes)).toEqual([]);
});

test('a text that cannot be the name of a model is not repeated', () => {
  const notes = ['TOKEN=swordfish', 'https://swordfish', '${swordfish}'].flatMap((model) =>
    modelNotes(read(`model: "${model}"`).notes),
  );
  expect(notes).toHaveLength(3);
  expect(notes.join('\n')).not.toContain('swordfish');
});

test('without a config, nothing is said about a model by name', () => {
  const { notes } = readForeignAgent('solo.md', '---\nname: a\ndescription: b\ntools: []\nmodel: opus\n---\n', {
    ...ports,
    modelAliases: null,
  });
  expect(modelNotes(notes)).toEqual([]);
});

test('in an .ai file, names without a provider are replaced or left out; others stay as they are written', () => {
  const text = '---\ndescription: Leads\nmodels: sonnet, openai/gpt-5, opus # why\n---\nLead.\n';
  const { text: written, notes } = importAgentFile('lead.ai', text, { parseYaml, modelAliases, hasTool });
  expect(written).toBe(
    '---\ndescription: Leads\nmodels: [anthropic/claude-x, openai/gpt-5]\n# models: sonnet, openai/gpt-5, opus # why\n---\nLead.\n',
  );
  expect(modelNotes(notes)).toEqual([
    expect.stringMatching(/^changed: /u),
    expect.stringMatching(/^decide: .*"opus"/u),
  ]);
  const own = text.replace('sonnet, ', '').replace(', opus', '');
  expect(importAgentFile('lead.ai', own, { parseYaml, modelAliases, hasTool })).toEqual({ text: own, notes: [] });
});

// invariant: import-denial-holds
test.each([
  ['Agent(one)', ['two']],
  ['Agent', []],
  ['Task(two), Agent(ONE)', []],
  ['Read', ['one', 'two']],
])('with disallowedTools: %s, it may call %j', (denied, agents) => {
  const { keys } = read(`tools: Agent(one, two)\ndisallowedTools: ${denied}`);
  expect(keys['agents'] ?? []).toEqual(agents);
});

test('a note names the line of its key in the file that was read', () =>
  expect(read('color: red\nhooks: {}').notes.map(({ key, line, kind }) => [key, line, kind])).toEqual([
    ['tools', null, 'decide'],
    ['color', 3, 'dropped'],
    ['hooks', 4, 'decide'],
  ]));

test('keys that are not valid YAML are read line by line', () => {
  const agent = read('tools: Read, Glob\nmodel: inherit\ndescription2: a: b');
  expect(agent.keys).toEqual({ description: 'Works', tools: ['read_file', 'list_files'] });
  expect(agent.notes[0]).toMatchObject({ kind: 'changed', message: expect.stringContaining('read line by line') });
});

// invariant: lenient-no-second-key
test('in keys that are not valid YAML, a second `tools` gives no tools', () => {
  const agent = read('note: a: b\ntools: Read\ntools: Write');
  expect(agent.keys['tools']).toEqual([]);
});

test('an .ai file keeps its lines; keys that are not supported become comments', () => {
  const text = '---\ndescription: Leads # yes\ncache: 1h\n# why\nadvisors:\n  - a\n\ntools: notes, gone\n---\nLead.\n';
  const { text: written, notes } = importAgentFile('lead.ai', text, { parseYaml, modelAliases, hasTool });
  expect(written).toBe(
    '---\ndescription: Leads # yes\n# cache: 1h\n# why\n# advisors:\n#   - a\n\ntools: [notes]\n# tools: notes, gone\n---\nLead.\n',
  );
  expect(notes.map(({ kind, key, line }) => [kind, key, line])).toEqual([
    ['dropped', 'cache', 3],
    ['decide', 'advisors', 5],
    ['decide', 'tools', 8],
  ]);
  expect(importAgentFile('lead.ai', written, { parseYaml, modelAliases, hasTool })).toEqual({
    text: written,
    notes: [],
  });
});
