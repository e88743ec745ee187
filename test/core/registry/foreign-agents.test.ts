// Agents of other runtimes, read as ours: nothing gets more than its file names, and what was made of them stays as it is.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { parseYaml } from '#adapters/yaml';
import { foreignAgentText, importAgentFile, parseAgentFile, readForeignAgent } from '#core/registry';

const servers = ['tracker', 'notes'];
const ports = {
  parseYaml,
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
      expect(importAgentFile('solo.ai', text, { parseYaml, hasTool })).toEqual({ text, notes: [] });
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
  ['tools: Task, Read', /List in `agents` those that it may call/u, ['read_file']],
  ['tools: Agent(gone-away)', /The agent gone-away was left out/u, []],
])('%j is reported', (keys, words, tools) => {
  const agent = read(keys);
  expect(agent.keys['tools']).toEqual(tools);
  expect(agent.notes.map(({ message }) => message).join('\n')).toMatch(words);
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
  const { text: written, notes } = importAgentFile('lead.ai', text, { parseYaml, hasTool });
  expect(written).toBe(
    '---\ndescription: Leads # yes\n# cache: 1h\n# why\n# advisors:\n#   - a\n\ntools: [notes]\n# tools: notes, gone\n---\nLead.\n',
  );
  expect(notes.map(({ kind, key, line }) => [kind, key, line])).toEqual([
    ['dropped', 'cache', 3],
    ['decide', 'advisors', 5],
    ['decide', 'tools', 8],
  ]);
  expect(importAgentFile('lead.ai', written, { parseYaml, hasTool })).toEqual({ text: written, notes: [] });
});
