// `cloister import` on a project with agents of every kind that it knows.
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { importAgents } from '../../src/app/agents/import-agents.ts';
import { foreignProject } from '../fixtures/foreign-agents.ts';
import {
  aiVariant,
  claudeVariant,
  copilotVariant,
  variantAliases,
  variantServers,
} from '../fixtures/foreign-variants.ts';
import { check, createFolders, load, problemLines } from './driver.ts';

const importInto = (folders: ReturnType<typeof createFolders>, path = '.', to = 'agents', dryRun = false) =>
  importAgents({ path, to, dryRun }, folders);

test('a project is imported with its servers and includes, and the result is valid', async () => {
  const folders = createFolders(foreignProject, { env: { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b' } });
  const report = await importInto(folders);
  expect(report.files.map(({ to, state }) => [to, state])).toEqual(
    [
      'agents/.ai-agent.json',
      'agents/team/lead.ai',
      'agents/team/parts/how.md',
      'agents/team/parts/more.md',
      'agents/team/sub.ai',
      'agents/reviewer.ai',
      'agents/style-guide.ai',
      'agents/tester.ai',
      'agents/planner.ai',
      'agents/quiet.ai',
    ].map((to) => [to, 'written']),
  );
  expect(JSON.parse(readFileSync(folders.path('agents/.ai-agent.json'), 'utf8'))).toMatchObject({
    mcpServers: {
      tracker: { type: 'http', url: 'https://tracker.example/mcp' },
      'my-notes': { enabled: false, env: { KEY: '${NOTES_KEY}' } },
    },
  });
  const { problems } = await check(folders, ['agents/reviewer.ai', 'agents/planner.ai', 'agents/quiet.ai']);
  expect(problemLines({ problems })).toEqual([]);
  const { agents } = await load(folders, 'agents');
  const toolsOf = (name: string) => {
    const { resources, children } = agents.find((agent) => agent.name === name)!;
    return [...resources.builtins, ...resources.servers, ...children.agents.map((agent) => `>${agent.name}`)];
  };
  expect(toolsOf('reviewer')).toEqual(['read_file', 'list_files', 'tracker/search', '>tester', '>style-guide']);
  expect(toolsOf('planner')).toEqual(['read_file', 'list_files', 'write_file', 'tracker', '>style-guide', '>reviewer']);
  expect(toolsOf('style-guide')).toEqual(['read_file']);
  expect(toolsOf('tester')).toEqual([]);
});

test('everything that is not as it was is in the report', async () => {
  const { files } = await importInto(createFolders(foreignProject));
  const notes = files.flatMap(({ from, notes: own }) => own.map(({ kind, key }) => `${from} ${kind} ${key}`));
  expect(notes).toEqual(
    expect.arrayContaining([
      '.mcp.json dropped tracker.timeout',
      '.mcp.json dropped tracker.alwaysAllow',
      '.mcp.json changed my notes',
      '.mcp.json decide mcpServers.broken.command',
      'team/lead.ai dropped cache',
      'team/lead.ai decide advisors',
      'team/lead.ai decide tools',
      '.claude/agents/reviewer.md changed null',
      '.claude/agents/reviewer.md decide model',
      '.claude/agents/tester.md decide tools',
      '.claude/agents/style-guide.md decide permissionMode',
      '.claude/agents/style-guide.md decide hooks',
      '.github/agents/planner.agent.md decide handoffs',
      '.github/agents/quiet.agent.md decide description',
    ]),
  );
});

test('importing again, or importing the result, changes nothing', async () => {
  const folders = createFolders(foreignProject);
  await importInto(folders);
  const again = await importInto(folders);
  expect(new Set(again.files.map(({ state }) => state))).toEqual(new Set(['same']));
  const copied = await importInto(folders, 'agents', 'copy');
  expect(copied.files.flatMap(({ notes }) => notes)).toEqual([]);
  for (const { from, to } of copied.files)
    expect(readFileSync(folders.path(to!), 'utf8')).toBe(readFileSync(folders.path(from), 'utf8'));
});

// invariant: import-overwrites-nothing
test('a file that exists with other content is left alone, and with --dry-run nothing is written', async () => {
  const folders = createFolders(foreignProject);
  expect(new Set((await importInto(folders, '.', 'agents', true)).files.map(({ state }) => state))).toEqual(
    new Set(['planned']),
  );
  expect(existsSync(folders.path('agents'))).toBe(false);
  folders.write({ 'agents/tester.ai': 'mine' });
  const report = await importInto(folders);
  expect(report.ok).toBe(false);
  expect(report.files.find(({ to }) => to === 'agents/tester.ai')!.state).toBe('exists');
  expect(readFileSync(folders.path('agents/tester.ai'), 'utf8')).toBe('mine');
});

test('models are named by the aliases of the config, and then by those that are imported', async () => {
  const one = (model: string) => `---\nname: x\ndescription: Works\ntools: []\nmodel: ${model}\n---\nWork.\n`;
  const folders = createFolders({
    'there/one.md': one('sonnet'),
    'there/two.md': one('opus'),
    'there/three.md': one('haiku'),
    'there/.ai-agent.json': { modelAliases: { sonnet: 'ollama/theirs', opus: 'ollama/large', odd: 5 } },
    '~/.ai-agent/.ai-agent.json': {
      modelAliases: { sonnet: 'ollama/mine' },
      defaults: { models: ['ollama/some'] },
    },
  });
  const { files } = await importInto(folders, 'there');
  const { agents, problems } = await load(folders, 'agents');
  expect(problemLines({ problems })).toEqual([]);
  expect(Object.fromEntries(agents.map(({ name, resources }) => [name, resources.models]))).toEqual({
    one: ['ollama/mine'],
    two: ['ollama/large'],
    three: ['ollama/some'],
  });
  const notes = files.flatMap(({ from, notes: own }) => own.map(({ kind, key }) => `${from} ${kind} ${key}`));
  expect(notes.filter((note) => !note.endsWith(' name'))).toEqual([
    'there/.ai-agent.json decide modelAliases.odd',
    'there/one.md changed model',
    'there/three.md decide model',
    'there/two.md changed model',
  ]);
});

test('of hundreds of odd files, check of what was imported finds nothing that the report does not say', async () => {
  const each = 100;
  const variants = [claudeVariant, copilotVariant, aiVariant].flatMap((one) => fc.sample(one, each));
  const files = variants.map(
    ({ path, text }, index) => [`there/${path.replace('worker', `w${index}`)}`, text] as const,
  );
  const folders = createFolders(
    {
      ...Object.fromEntries(files),
      'there/helper.ai': '---\ndescription: Helps\n---\nHelp.\n',
      '~/.ai-agent/.ai-agent.json': {
        modelAliases: variantAliases,
        mcpServers: Object.fromEntries(variantServers.map((name) => [name, { url: 'http://127.0.0.1:9/mcp' }])),
        defaults: { models: ['ollama/some'] },
      },
    },
    { env: { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b' } },
  );
  const report = await importInto(folders, 'there');
  expect(report.files).toHaveLength(variants.length + 1);
  const { problems, agents } = await check(folders, ['agents']);
  const said = new Map(report.files.map(({ to, notes }) => [to, notes.map(({ message }) => message)]));
  expect(problems.filter(({ file, message }) => said.get(file)?.includes(message) !== true)).toEqual([]);
  // Files whose keys have wrong values are the only ones that are not agents now.
  const wrong = new Set(problems.map(({ file }) => file));
  expect([...wrong].every((file) => /\/w2\d\d\.ai$/u.test(file))).toBe(true);
  expect(agents.length + wrong.size).toBe(variants.length + 1);
  expect(wrong.size).toBeLessThan(each * 0.9);

  const again = await importInto(folders, 'there');
  expect(new Set(again.files.map(({ state }) => state))).toEqual(new Set(['same']));
});

test('two files of the same name become two agents', async () => {
  const one = '---\nname: x\ndescription: Works\ntools: []\n---\nWork.\n';
  const folders = createFolders({ 'a/x.md': one, 'b/x.md': one });
  const { files } = await importInto(folders);
  expect(files.map(({ to }) => to)).toEqual(['agents/x.ai', 'agents/x-2.ai']);
  expect(files[1]!.notes[0]!.message).toBe('Another file is named x, so this agent is x-2.');
});

test('the config of another runtime keeps what is known here', async () => {
  const folders = createFolders();
  writeFileSync(
    folders.path('.ai-agent.json'),
    JSON.stringify({
      providers: {
        openai: { apiKey: '${OPENAI_API_KEY}', custom: { a: 1 } },
        vllm: { type: 'openai-compatible', baseUrl: 'https://x.example/v1' },
      },
      mcpServers: { notes: { type: 'stdio', command: 'notes', queue: 'slow' } },
      defaults: { llmTimeout: 5000, temperature: 0.5, stream: true, tools: ['notes'] },
      queues: { slow: 2 },
    }),
  );
  const { files } = await importInto(folders, '.ai-agent.json');
  expect(JSON.parse(readFileSync(folders.path('agents/.ai-agent.json'), 'utf8'))).toEqual({
    providers: {
      openai: { apiKey: '${OPENAI_API_KEY}' },
      vllm: { type: 'openai-compatible', baseUrl: 'https://x.example/v1' },
    },
    mcpServers: { notes: { type: 'stdio', command: 'notes', cwd: '..' } },
    defaults: { llmTimeout: 5000, temperature: 0.5 },
  });
  expect(files[0]!.notes.map(({ key }) => String(key)).toSorted((one, other) => (one < other ? -1 : 1))).toEqual([
    'defaults.stream',
    'defaults.tools',
    'mcpServers.notes.cwd',
    'mcpServers.notes.queue',
    'providers.openai.custom',
    'queues',
  ]);
});

test('everything that a config names by a path is the same file or folder after the import', async () => {
  const names = fc.stringMatching(/^[a-c]{1,2}$/u);
  const path = fc
    .tuple(fc.constantFrom('', './', '../', '../../'), fc.array(names, { minLength: 1, maxLength: 3 }))
    .map(([up, parts]) => up + parts.join('/'));
  const config = fc.record({
    cwd: fc.option(path, { nil: undefined }),
    module: path,
    script: path,
    skills: fc.array(path, { maxLength: 2 }),
  });
  const place = fc.array(names, { maxLength: 2 }).map((parts) => parts.join('/') || '.');
  await fc.assert(
    fc.asyncProperty(config, place, place, async ({ cwd, module, script, skills }, from, to) => {
      const folders = createFolders();
      const written = {
        mcpServers: { one: { command: 'one', ...(cwd === undefined ? {} : { cwd }) }, two: { module } },
        providers: { stage: { type: 'rehearsal', script } },
        skills,
      };
      folders.write({ [`${from}/.ai-agent.json`]: written });
      await importInto(folders, `${from}/.ai-agent.json`, to);
      const read = (folder: string) => {
        const at = (one = '.') => resolve(folders.path(folder), one);
        const {
          mcpServers,
          providers,
          skills: found,
        } = JSON.parse(readFileSync(folders.path(`${folder}/.ai-agent.json`), 'utf8')) as typeof written & {
          mcpServers: { one: { cwd?: string } };
        };
        return [at(mcpServers.one.cwd), at(mcpServers.two.module), at(providers.stage.script), found.map(at)];
      };
      const expected = read(from);
      expect(read(to)).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

test('a server that was started by a relative path still starts after the import', async () => {
  const one = '---\nname: one\ndescription: Works\ntools: mcp__gh\n---\nWork.\n';
  const folders = createFolders({
    '.claude/agents/one.md': one,
    '.mcp.json': { mcpServers: { gh: { command: './gh.sh' } } },
    'gh.sh': '#!/bin/sh\n',
  });
  chmodSync(folders.path('gh.sh'), 0o755);
  const { files } = await importInto(folders);
  expect(files[0]!.notes).toMatchObject([{ kind: 'changed', key: 'mcpServers.gh.cwd' }]);
  expect(problemLines(await check(folders, ['agents/one.ai']))).toEqual([]);
});

test('every variable that is written differently is in the report', async () => {
  const folders = createFolders({
    '.vscode/mcp.json': { servers: { x: { url: 'https://x.example', headers: { A: '${env:VS_TOKEN}' } } } },
  });
  const { files } = await importInto(folders);
  expect(files[0]!.notes.map(({ kind, key, message }) => `${kind} ${key}: ${message}`)).toEqual([
    'changed x.headers: `${env:VS_TOKEN}` is written as `${VS_TOKEN}`.',
  ]);
});

test.each([
  ['gh.js', 'gh.js is not an agent'],
  ['README.md', 'README.md is not an agent'],
  ['nothere', 'No such file or folder: nothere.'],
])('%s is refused, and nothing is written', async (path, words) => {
  const folders = createFolders({ 'gh.js': 'x();\n', 'README.md': '# About\n\nText.\n' });
  await expect(importInto(folders, path)).rejects.toThrow(words);
  expect(existsSync(folders.path('agents'))).toBe(false);
});

test('agents and a config of our own stay where they are, and those of others are imported beside them', async () => {
  const folders = createFolders({
    'mine.ai': '---\ndescription: Works\n---\nWork.\n',
    '.ai-agent.json': { mcpServers: { own: { command: 'own' } } },
    '.mcp.json': { mcpServers: { gh: { url: 'https://gh.example' } } },
    '.claude/agents/one.md': '---\nname: one\ndescription: Works\ntools: mcp__own, mcp__gh\n---\nWork.\n',
  });
  const rows = async () => {
    const report = await importInto(folders);
    return { ok: report.ok, files: report.files.map(({ from, to, state }) => [from, to, state]) };
  };
  const expected = (state: string) => ({
    ok: true,
    files: [
      ['.mcp.json', 'agents/.ai-agent.json', state],
      ['.ai-agent.json', null, 'found'],
      ['mine.ai', null, 'found'],
      ['.claude/agents/one.md', 'agents/one.ai', state],
    ],
  });
  expect(await rows()).toEqual(expected('written'));
  expect(await rows()).toEqual(expected('same'));
  const { agents } = await load(folders, 'agents/one.ai');
  expect(agents[0]!.resources.servers).toEqual(['own', 'gh']);
});

// invariant: import-overwrites-nothing
test('a config that is made of several files is left alone if it has other content', async () => {
  const server = { url: 'https://x.example' };
  const folders = createFolders({
    '.ai-agent.json': { mcpServers: { a: server }, queues: {} },
    '.mcp.json': { mcpServers: { b: server } },
    'agents/.ai-agent.json': '{ "mine": 1 }',
  });
  const { ok, files } = await importInto(folders);
  expect({ ok, states: files.map(({ state }) => state) }).toEqual({ ok: false, states: ['exists', 'exists'] });
  expect(readFileSync(folders.path('agents/.ai-agent.json'), 'utf8')).toBe('{ "mine": 1 }');
});

test('skills are named with the line to add, which then works, and no agent has them before', async () => {
  const skill = '---\nname: forms\ndescription: Fills forms: all of them\nallowed-tools: Bash\n---\nFill.\n';
  const files = {
    '.claude/agents/clerk.md': '---\nname: clerk\ndescription: Writes.\ntools: Read\n---\nWrite.\n',
    '.claude/skills/forms/SKILL.md': skill,
    '.claude/skills/broken/SKILL.md': '---\nname: Broken\ndescription: x\n---\n',
  };
  for (const path of ['.', '.claude/agents']) {
    const folders = createFolders(files);
    const report = await importInto(folders, path);
    expect(report.ok).toBe(true);
    const { notes, ...found } = report.files.at(-1)!;
    expect(found).toEqual({ from: '.claude/skills', to: null, what: 'skills', state: 'found' });
    expect(notes.map(({ kind, message }) => `${kind} ${message}`)).toEqual([
      'decide Skills: forms. No agent has them yet: add `"skills": ["../.claude/skills"]` to .ai-agent.json beside the agents, and `skills: [forms]` to those that are to have it.',
      expect.stringMatching(/^decide \.claude\/skills\/broken\/SKILL\.md: Expected lower-case/u),
      expect.stringMatching(/^changed \.claude\/skills\/forms\/SKILL\.md: line 3 is not valid YAML/u),
      expect.stringContaining('`allowed-tools` grants nothing'),
    ]);
    const skillsOf = async () =>
      (await load(folders, 'agents/clerk.ai')).agents[0]?.resources.skills.map(({ name }) => name);
    expect(await skillsOf()).toEqual([]);
    const written = readFileSync(folders.path('agents/clerk.ai'), 'utf8');
    folders.write({
      'agents/.ai-agent.json': { skills: ['../.claude/skills'] },
      'agents/clerk.ai': written.replace('tools:', 'skills: [forms]\ntools:'),
    });
    expect(await skillsOf()).toEqual(['forms']);
  }
  const beside = await importInto(createFolders(files), '.', '.');
  expect(beside.files.at(-1)!.notes[0]!.message).toContain('add `skills: [./.claude/skills/forms]` to the agents');
});
