// Which agents files may spawn: found, loaded, held to the operator's limits, and shown before a token is spent.
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import type { JsonObject } from '#base';
import { checkLines } from '../../src/headends/cli/check.ts';
import { ai, check, createFolders, load, open, openError, problemLines } from './driver.ts';

const spawning = (spawns: string, more = ''): string => ai(`tools: [spawn_agent]\nspawns: ${spawns}${more}`);
const names = (agents: readonly Agent[]): readonly string[] => agents.map(({ name }) => name);

const loaded = async (files: Readonly<Record<string, string | JsonObject>>, path = 'gm.ai'): Promise<Agent> => {
  const { agents, problems } = await load(createFolders(files), path);
  expect(problemLines({ problems })).toEqual([]);
  return agents[0]!;
};

describe('agents in `spawns`', () => {
  test('are found like sub-agents: by a path from the file, beside it, where the config says; self is its own kind', async () => {
    const gm = await loaded(
      {
        'a/gm.ai': spawning('[fighter, ../b/wizard, healer, self]'),
        'a/fighter.ai': spawning('./sub/squire.ai'),
        'a/sub/squire.ai': ai(),
        'b/wizard.ai': ai(),
        'shared/deep/healer.ai': ai(),
        '.ai-agent.json': { agents: ['shared'] },
      },
      'a/gm.ai',
    );
    expect(names(gm.children.spawnable)).toEqual(['fighter', 'wizard', 'healer']);
    expect(names(gm.children.spawnable[0]!.children.spawnable)).toEqual(['squire']);
    expect(gm.children.spawns).toMatchObject({ agents: ['fighter', 'wizard', 'healer'], self: true });
    expect(gm.children.agents).toEqual([]);
  });

  test('may be sub-agents too, and of several agents', async () => {
    const gm = await loaded({
      'gm.ai': ai('tools: [spawn_agent]\nspawns: [fighter, wizard]\nagents: [fighter]'),
      'fighter.ai': spawning('wizard'),
      'wizard.ai': ai(),
    });
    expect(gm.children.spawnable[0]).toBe(gm.children.agents[0]);
    expect(gm.children.spawnable[0]!.children.spawnable[0]).toBe(gm.children.spawnable[1]);
  });

  test('a file that names itself means its own kind', async () => {
    expect((await loaded({ 'gm.ai': spawning('[./gm.ai]') })).children.spawns).toMatchObject({
      agents: [],
      self: true,
    });
  });

  test('every setting of a file is in the spawn rules', async () => {
    const rules =
      '{ agents: a, children: 2, perMinute: 1, depth: 0, share: [context], templates: true, pool: { a: 2 }, grace: 1s, on_end: stop, wait: 2m }';
    const gm = await loaded({
      'gm.ai': ai(
        `tools: [spawn_agent, read_file, publish]\nspawns: ${rules}\nmessages: children\ntopics: { hear: x, say: [y] }`,
      ),
      'a.ai': ai(),
    });
    expect(gm).toMatchObject({
      resources: { builtins: ['spawn_agent', 'read_file', 'publish'] },
      children: {
        spawns: {
          children: 2,
          perMinute: 1,
          depth: 0,
          share: ['context'],
          templates: { tools: ['read_file'] },
          pool: { a: 2 },
          graceMs: 1_000,
          onEnd: 'stop',
          waitMs: 120_000,
        },
      },
      permissions: { messages: ['children'], topics: { hear: ['x'], say: ['y'] } },
    });
  });

  test('that do not exist are reported with file, line, and a similar name', async () => {
    const folders = createFolders({
      'gm.ai': spawning('[wizard, figther]'),
      'other.ai': spawning('\n  children: 2\n  agents:\n    - wizrd'),
      'wizard.ai': ai(),
      'sub/fighter.ai': ai(),
    });
    const { problems } = await check(folders, ['.']);
    expect(problems).toMatchObject([
      { file: 'gm.ai', line: 6, key: 'spawns', nearest: 'fighter' },
      { file: 'other.ai', line: 9, key: 'spawns.agents', nearest: 'wizard' },
    ]);
    expect(problems[0]!.message).toMatch(/No agent "figther".*path.*beside.*\.ai-agent\.json.*home/u);
  });

  // invariant: spawns-no-cycle
  test.each([
    [
      'spawn each other',
      spawning('b'),
      spawning('a'),
      'b.ai:6 spawns: ',
      /spawn each other in a cycle: a → b → a\. .*`spawns`.*`self`.*`templates`/u,
    ],
    [
      'call the one that spawns them',
      spawning('b'),
      ai('agents: a'),
      'b.ai:5 agents: ',
      /spawn each other in a cycle: a → b → a\. .*`agents`/u,
    ],
    ['call each other', ai('agents: b'), ai('agents: a'), 'b.ai:5 agents: ', /call each other in a cycle: a → b → a/u],
  ])('two files that %s are refused, showing the cycle', async (_, a, b, where, words) => {
    const [problem, ...more] = problemLines(await check(createFolders({ 'a.ai': a, 'b.ai': b }), ['a.ai']));
    expect(more).toEqual([]);
    expect(problem).toContain(where);
    expect(problem).toMatch(words);
  });

  // invariant: roles-are-no-names
  test('a role cannot be an agent name', async () => {
    const folders = createFolders({ 'gm.ai': spawning('parent'), 'parent.ai': ai() });
    expect(problemLines(await check(folders, ['gm.ai']))).toEqual([
      expect.stringMatching(/^gm\.ai:6 spawns\.agents: .*agents with other names: "parent" is reserved as a role/u),
    ]);
    expect(problemLines(await check(createFolders({ 'siblings.ai': ai('tools: [send_message]') }), ['.']))).toEqual([
      expect.stringMatching(/^siblings\.ai: .*name: expected another name: "siblings" is reserved as a role/u),
    ]);
  });

  test('templates give no mail tools, and no tools that the file does not have', async () => {
    const folders = createFolders({
      'gm.ai': ai('tools: [spawn_agent, publish]\nspawns: { templates: { tools: [publish] } }'),
    });
    expect(problemLines(await check(folders, ['.']))).toEqual([
      expect.stringMatching(/^gm\.ai:6 spawns\.templates\.tools: .*except mail tools \(it has none\); got "publish"/u),
    ]);
  });

  test('are looked up with everything they name, in files and in code', async () => {
    const folders = createFolders({ 'gm.ai': spawning('a'), 'a.ai': ai('models: nowhere/x') });
    expect(problemLines(await load(folders, 'gm.ai'))).toEqual([
      expect.stringMatching(/^a\.ai:5 models: No provider "nowhere"/u),
    ]);
    const a = defineAgent({ name: 'a', description: 'x', prompt: '', models: ['nowhere/x'] });
    const gm = defineAgent({
      name: 'gm',
      description: 'x',
      prompt: '',
      tools: ['spawn_agent'],
      spawns: { agents: [a] },
    });
    expect(problemLines(await load(folders, gm))).toEqual([
      expect.stringMatching(/^agent "a" models: No provider "nowhere"/u),
    ]);
  });

  test('and other lists: a wrong item does not prevent valid items from being looked up', async () => {
    const keys = [
      'agents: [5, nobody]',
      'tools: [3, nowhere, spawn_agent]',
      'models: [7, nowhere/x]',
      'spawns: [9, none]',
    ];
    const { problems } = await check(createFolders({ 'gm.ai': ai(keys.join('\n')) }), ['.']);
    expect(problems.map(({ line, key }) => `${line} ${key}`).sort()).toEqual([
      '5 agents',
      '5 agents.0',
      '6 tools',
      '6 tools.0',
      '7 models',
      '7 models.0',
      '8 spawns',
      '8 spawns.0',
    ]);
  });

  test('run as the file says', async () => {
    const folders = createFolders({
      'gm.ai': ai('tools: [spawn_agent, receive_message]\nspawns: { agents: fighter, children: 1 }'),
      'fighter.ai': ai(),
    });
    const spawn = { tool: 'spawn_agent', args: { agent_id: 'fighter', initial_message: 'Hit it' } };
    const { cloister } = await open(folders, ['gm.ai'], {
      says: [
        { when: { agent: 'gm', turn: 1 }, reply: { calls: [spawn] } },
        { when: { agent: 'gm', turn: 2 }, reply: { calls: [spawn] } },
        { when: { agent: 'fighter' }, reply: 'I hit it.' },
        { reply: '{{results}}' },
      ],
    });
    const outcome = await cloister.run('gm', 'Play').outcome;
    expect(outcome).toMatchObject({ status: 'completed', spent: { spawns: 1 } });
    expect(outcome.output).toContain('SPAWN_LIMIT');
  });
});

describe('an agent that a model describes', () => {
  const files = (templates: string) => ({
    'gm.ai': ai(
      `models: [stage/one]\ntools: [spawn_agent, receive_message, notes/read, notes/write]\nspawns: { templates: ${templates} }\ncaching: full`,
    ),
    '.ai-agent.json': {
      providers: { stage: { type: 'rehearsal', script: './script.yaml' } },
      mcpServers: { notes: { module: './notes.mjs' }, other: { module: './notes.mjs' } },
    },
    'notes.mjs':
      "const tool = (name) => ({ name, description: name, inputSchema: { type: 'object' }, execute: () => `${name} was called` });\nexport default [tool('read'), tool('write')];\n",
  });
  /** It waits for the answer of the agent it may start. */
  const script = (template: string, waits: boolean): string =>
    `- when: { agent: gm, turn: 1 }
  reply: { calls: [{ tool: spawn_agent, args: { agent_id: scribe, initial_message: Go, template: ${template} } }] }
${waits ? '- when: { agent: gm, turn: 2 }\n  reply: { calls: [{ tool: receive_message, args: {} }] }\n' : ''}- when: { agent: scribe, turn: 1 }
  reply: { calls: [{ tool: notes__read, args: {} }, { tool: notes__write, args: {} }] }
- reply: '{{results}}'
`;
  const play = async (templates: string, template: string, waits = false) => {
    const folders = createFolders({ ...files(templates), 'script.yaml': script(template, waits) });
    const { cloister } = await open(folders, ['gm.ai']);
    const { run, output } = await cloister.run('gm', 'Play').outcome;
    return { output, cells: (await cloister.show(run)).cells };
  };

  test('has only those tools of its parent’s servers that it names', async () => {
    const { output, cells } = await play('true', '{ prompt: Write., tools: [notes/read] }', true);
    expect(cells.map(({ agent }) => agent)).toEqual(['gm', 'scribe']);
    expect(output).toContain('read was called');
    expect(output).not.toContain('write was called');
  });

  test.each([
    ['a server of the config', 'true', 'other/read'],
    ['all of a server of which its parent has some', 'true', 'notes'],
    ['a tool that its parent keeps for itself', '{ tools: [notes/read] }', 'notes/write'],
    ['a mail tool', 'true', 'spawn_agent'],
    ['a command', 'true', 'npx -y server'],
    ['a URL', 'true', 'https://example.com/mcp'],
    ['a variable', 'true', '${OPENAI_API_KEY}'],
  ])('cannot have %s', async (_, templates, tool) => {
    const { output, cells } = await play(templates, `{ prompt: Write., tools: ["${tool}"] }`);
    expect(cells.map(({ agent }) => agent)).toEqual(['gm']);
    expect(output).toContain('is not a tool you can pass on');
  });
});

describe('the operator’s limits', () => {
  const files = (children: string, config: JsonObject) => ({
    'gm.ai': spawning(`{ agents: self, ${children} }`),
    '.ai-agent.json': config,
  });

  test.each([
    ['children', 11, 10],
    ['perMinute', 6, 5],
    ['depth', 4, 3],
  ])('%s: a file may not ask for %i, unless the config allows it', async (key, asked, cap) => {
    const folders = createFolders(files(`${key}: ${asked}`, {}));
    const words = `gm.ai:6 spawns.${key}: Expected at most ${cap}; got ${asked}. The operator can raise it: \`"spawns": { "${key}": ${asked} }\` in .ai-agent.json.`;
    expect(problemLines(await check(folders, ['.']))).toEqual([words]);
    expect((await openError(folders, ['gm.ai'])).message).toContain(words);
    const gm = await loaded(files(`${key}: ${asked}`, { spawns: { [key]: asked } }));
    expect(gm.children.spawns).toMatchObject({ [key]: asked });
  });

  // invariant: spawns-within-operators
  test('hold where a file says nothing; a file may ask for less; zero is zero', async () => {
    const config = { spawns: { children: 20, perMinute: 0 } };
    expect((await loaded(files('share: []', config))).children.spawns).toMatchObject({
      children: 20,
      perMinute: 0,
      depth: 3,
    });
    expect((await loaded(files('children: 0', config))).children.spawns).toMatchObject({ children: 0 });
    const folders = createFolders(files('perMinute: 1', config));
    expect(problemLines(await check(folders, ['.']))).toEqual([
      expect.stringMatching(/perMinute: Expected at most 0; got 1/u),
    ]);
  });

  test('come from the nearest config that has them, number by number', async () => {
    const gm = await loaded({
      ...files('share: []', { spawns: { children: 2 } }),
      '~/.ai-agent/.ai-agent.json': { spawns: { children: 30, depth: 1 } },
    });
    expect(gm.children.spawns).toMatchObject({ children: 2, perMinute: 5, depth: 1 });
  });

  test.each<[spawns: any, key: string, words: RegExp]>([
    [{ children: -1 }, 'spawns.children', /a whole number, 0 or more/u],
    [{ children: 1.5 }, 'spawns.children', /whole number/u],
    [{ depth: '3' }, 'spawns.depth', /a whole number/u],
    [{ childrn: 3 }, 'spawns.childrn', /Unknown key; expected children, perMinute, depth/u],
    [{ agents: ['gm'] }, 'spawns.agents', /Unknown key/u],
    [5, 'spawns', /an object/u],
    [null, 'spawns', /an object/u],
  ])('%j in the config is an error, reported by its key', async (spawns, key, words) => {
    const { problems } = await check(createFolders(files('share: []', { spawns })), ['.']);
    expect(problems).toMatchObject([{ file: '.ai-agent.json', line: 1, key }]);
    expect(problems[0]!.message).toMatch(words);
  });

  // invariant: spawned-inherit-file-limits
  test('are inherited only as far as files set them, and check shows what is in effect', async () => {
    const folders = createFolders({
      'gm.ai': spawning('[fighter]', '\nlimits: { max_steps: 4, timeout_ms: 30s }'),
      'fighter.ai': ai('max_steps: 9\nllmTimeout: 20m\nmaxToolTurns: 8'),
      'solo.ai': ai('agents: fighter\nlimits: { timeout_ms: 1m, llmTimeout: 1m }'),
      '.ai-agent.json': { defaults: { limits: { maxToolTurns: 5 }, models: ['ollama/some'] } },
    });
    const report = await check(folders, ['.']);
    const [gm, solo] = report.tree;
    expect(gm!.limits).toEqual({
      values: expect.objectContaining({ timeout_ms: 30_000, llmTimeout: 30_000, max_steps: 4 }),
      changed: ['maxToolTurns', 'llmTimeout', 'max_steps', 'timeout_ms'],
    });
    expect(gm!.agents[0]!.limits!.values).toMatchObject({
      max_steps: 4,
      timeout_ms: 30_000,
      llmTimeout: 30_000,
      // The config's default is no limit of the parent's file.
      maxToolTurns: 8,
      mailTimeout: 600_000,
    });
    expect(solo!.agents[0]!.limits!.values).toMatchObject({ max_steps: 9, timeout_ms: 1_200_000, maxToolTurns: 8 });
    const lines = checkLines(report, true, { paint: (_, text) => text, columns: 200 }).join('\n');
    expect(lines).toContain('\n  fighter (spawned): maxToolTurns 8, llmTimeout 30000, max_steps 4, timeout_ms 30000\n');
    expect((await loaded({ 'gm.ai': ai('max_steps: 4'), '.ai-agent.json': {} })).caps.inheritable).toEqual({
      max_steps: 4,
    });
  });

  // invariant: code-sets-any-number
  test('do not apply to agents in code', async () => {
    const spawns = { agents: ['self'], children: 1_000, perMinute: 500, depth: 50 } as const;
    const agent = defineAgent({ name: 'gm', description: 'Leads', prompt: '', tools: ['spawn_agent'], spawns });
    const { agents, problems } = await load(createFolders({ '.ai-agent.json': { spawns: { children: 1 } } }), agent);
    expect(problemLines({ problems })).toEqual([]);
    expect(agents[0]!.children.spawns).toMatchObject({ children: 1_000, perMinute: 500, depth: 50 });
  });

  test('are not agent defaults, and neither is what one agent spawns', async () => {
    const defaults = { spawns: ['a'], messages: ['parent'], topics: ['x'], maxHops: 4, models: ['ollama/some'] };
    const { problems } = await check(createFolders({ 'gm.ai': ai(), '.ai-agent.json': { defaults } }), ['.']);
    expect(problemLines({ problems })).toEqual([
      expect.stringMatching(/defaults\.spawns: `spawns` belongs to a single agent.*`spawns`, beside `defaults`/u),
      expect.stringMatching(/defaults\.messages: `messages` belongs to a single agent/u),
      expect.stringMatching(/defaults\.topics: `topics` belongs to a single agent/u),
    ]);
    const gm = await loaded({ 'gm.ai': ai(), '.ai-agent.json': { defaults: { maxHops: 4, answersPerMinute: 2 } } });
    expect(gm.caps.limits).toEqual({ maxHops: 4, answersPerMinute: 2 });
  });
});

describe('`check`', () => {
  const party = {
    'gm.ai': ai(
      'tools: [spawn_agent]\nspawns: { agents: [fighter, self], children: 4, templates: true }\nagents: scribe',
    ),
    'fighter.ai': ai('tools: [read_file]\nlimits: { timeout_ms: 5s }'),
    'scribe.ai': ai('tools: []\nlimits: { timeout_ms: 5s }'),
  };

  test('shows what each agent may spawn, and counts it', async () => {
    const report = await check(createFolders(party), ['.']);
    expect(problemLines(report)).toEqual([]);
    expect(report.tree).toMatchObject([
      { name: 'gm', agents: [{ name: 'scribe' }, { name: 'fighter', spawned: true }] },
    ]);
    expect(report.tree[0]!.agents[0]).not.toHaveProperty('spawned');
    expect(report.cycles).toEqual([]);
    expect(report.reach).toMatchObject({
      gm: {
        spawns: { agents: ['fighter', 'self'], children: 4, perMinute: 5, depth: 3, templates: [] },
        through: { tools: ['read_file'] },
      },
    });
    expect(report.reach['fighter']).not.toHaveProperty('spawns');
    expect(report.worstCase).toMatchObject({ agents: null, depth: 3, tokens: null });
  });

  test('describes it in text', async () => {
    const lines = checkLines(await check(createFolders(party), ['.']), true, {
      paint: (_, text) => text,
      columns: 120,
    });
    expect(lines).toContain('  └─fighter (spawned)  fighter.ai');
    expect(lines.map((line) => line.trim().replaceAll(/ +/gu, ' '))).toContain(
      'spawns fighter, self, agents it defines itself; 4 at a time, 5 per minute, 3 levels',
    );
  });

  test('an agent that is only spawned is not listed as an entry point', async () => {
    const { tree } = await check(createFolders({ 'gm.ai': spawning('a'), 'a.ai': ai() }), ['.']);
    expect(tree.map(({ name }) => name)).toEqual(['gm']);
  });

  const warned = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    const { warnings, problems } = await check(createFolders(files), ['.']);
    expect(problemLines({ problems })).toEqual([]);
    return warnings.filter(({ code }) => code === 'not-reached').map(({ agent, message }) => `${agent}: ${message}`);
  };

  test.each<[title: string, files: Readonly<Record<string, string>>, warnings: readonly RegExp[]]>([
    ['alone', { 'a.ai': ai('tools: receive_message') }, [/^a: .*no agent may message it/u]],
    ['spawned by one', { 'gm.ai': spawning('a'), 'a.ai': ai('tools: receive_message') }, []],
    ['called by one', { 'gm.ai': ai('agents: a'), 'a.ai': ai('tools: receive_message') }, []],
    [
      'whose parent names others',
      { 'gm.ai': spawning('a', '\nmessages: [parent]'), 'a.ai': ai('tools: receive_message') },
      [/^a: .*no agent may message it/u],
    ],
    [
      'that names its siblings, which are instances of itself',
      { 'gm.ai': spawning('a', '\nmessages: []'), 'a.ai': ai('tools: receive_message\nmessages: siblings') },
      [],
    ],
    [
      'that another names, far away',
      {
        'gm.ai': spawning('[a, b]', '\nmessages: []'),
        'a.ai': ai('tools: receive_message\nmessages: b'),
        'b.ai': ai('tools: send_message\nmessages: a'),
      },
      [],
    ],
    [
      'that another names, and that does not name it',
      {
        'gm.ai': spawning('[a, b]', '\nmessages: []'),
        'a.ai': ai('tools: receive_message\nmessages: gm'),
        'b.ai': ai('tools: send_message\nmessages: a'),
      },
      [/^a: .*no agent may message it/u],
    ],
    ['that spawns', { 'a.ai': ai('tools: [spawn_agent, receive_message]\nspawns: self\nmessages: []') }, []],
    ['of topics, without any', { 'a.ai': ai('tools: receive_broadcast') }, [/^a: .*no topic to subscribe to/u]],
    [
      'of topics, alone',
      { 'a.ai': ai('tools: receive_broadcast\ntopics: x') },
      [/^a: `a` may subscribe to x, but no other/u],
    ],
    [
      'of topics, with one that publishes',
      { 'a.ai': ai('tools: receive_broadcast\ntopics: { hear: x }'), 'b.ai': ai('topics: { say: [y, x] }') },
      [],
    ],
    [
      'of topics, with one that only subscribes',
      { 'a.ai': ai('tools: receive_broadcast\ntopics: x'), 'b.ai': ai('topics: { hear: x }') },
      [/^a: .*no other agent may publish/u],
    ],
    [
      'that names an agent that does not exist',
      { 'a.ai': ai('messages: [sibling, b]'), 'b.ai': ai() },
      [/^a: .*`sibling`, but no agent here has that name: did you mean `siblings`\?/u],
    ],
  ])('warns of a reader that no agent can reach: %s', async (_, files, warnings) =>
    expect(await warned(files)).toEqual(warnings.map((words) => expect.stringMatching(words))),
  );
});
