import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from '#testkit';
import {
  agent,
  always,
  ask,
  call,
  calls,
  cheap,
  lastResults,
  lines,
  thrownBy,
  tool,
  world,
} from '../session/driver.ts';

const open = async (agents: readonly any[]) =>
  openCloister({ store: 'memory', agents, models: [rehearse([always('Done.')])], ...world() });

const badNames: readonly [title: string, name: any][] = [
  ['a slash', 'a/b'],
  ['two dots', '..'],
  ['two dots inside', 'a..b'],
  ['NUL', 'a\0b'],
  ['300 characters', 'a'.repeat(300)],
  ['65 characters', 'a'.repeat(65)],
  ['nothing', ''],
  ['a space', 'a b'],
  ['a line break', 'a\n'],
  ['non-ASCII letters', 'agènt'],
  ['an emoji', '😀'],
  ['lookalike characters', 'ａgent'],
  ['a leading dot', '.hidden'],
  ['a leading dash', '-rf'],
  ['a number', 7],
  ['no name', undefined],
  ['an object', {}],
];

test.for(badNames)(
  'an agent whose name is or has %s is rejected, and the error states the rules for names',
  ([, name]) => {
    expect(thrownBy(() => agent(name))).toMatchObject({
      code: 'agent_invalid',
      message: expect.stringContaining('expected letters, digits, dot, dash and underscore, at most 64 characters'),
      suggestion: expect.any(String),
    });
  },
);

test.for(badNames.filter(([title]) => !title.startsWith('a leading ')))(
  'a tool whose name is or has %s is rejected',
  ([, name]) => {
    expect(thrownBy(() => agent('solo', { tools: [tool(name, () => '')] }))).toMatchObject({
      code: 'agent_invalid',
      message: expect.stringMatching(/tools.*at most 64 characters/u),
    });
    if (name !== undefined)
      expect(thrownBy(() => agent('solo', { toolName: name }))).toMatchObject({ code: 'agent_invalid' });
  },
);

test.for(['a', 'A-1', 'a'.repeat(64), '0_x'])('"%s" is a valid name', (name) => {
  expect(agent(name)).toMatchObject({ name, signature: { toolName: name } });
});

test.for<[key: string, options: any, hint: string]>([
  ['desciption', { desciption: 'x' }, 'Did you mean description?'],
  ['Tools', { Tools: [] }, 'Did you mean tools?'],
  ['agent', { agent: [] }, 'Did you mean agents?'],
  ['limits.max_step', { limits: { max_step: 3 } }, 'Did you mean max_steps?'],
  ['budget.token', { budget: { token: 3 } }, 'Did you mean tokens?'],
  ['settings.temprature', { settings: { temprature: 1 } }, 'Did you mean temperature?'],
  ['zzzzzzzzzzzz', { zzzzzzzzzzzz: 1 }, 'Known: name, description, prompt'],
  ['__proto__x', { __proto__x: 1 }, 'Known:'],
])('an unknown key %s is rejected, with the nearest valid key', ([key, options, hint]) => {
  expect(thrownBy(() => agent('solo', options))).toMatchObject({
    code: 'agent_invalid',
    message: expect.stringContaining(`Agent "solo", ${key}: unknown option. ${hint}`),
  });
});

test.for<[title: string, options: any, field: string]>([
  ['no description', { description: ' ' }, 'description'],
  ['a prompt that is no string', { prompt: 5 }, 'prompt'],
  ['a negative limit', { limits: { max_steps: -1 } }, 'limits.max_steps'],
  ['a limit of NaN', { limits: { max_steps: NaN } }, 'limits.max_steps'],
  ['a limit as text', { limits: { timeout_ms: 'soon' } }, 'limits.timeout_ms'],
  ['a negative budget', { budget: { tokens: -5 } }, 'budget.tokens'],
  ['an invalid model', { models: [{}] }, 'models'],
  ['null as a model', { models: [null] }, 'models'],
  ['a tool that is null', { tools: [null] }, 'tools'],
  ['a tool without a function', { tools: [{ ...tool('echo', () => ''), execute: 'x' }] }, 'tools[0].execute'],
  ['a tool without a schema', { tools: [{ ...tool('echo', () => ''), inputSchema: null }] }, 'tools[0].inputSchema'],
  ['an unknown repeat', { tools: [tool('echo', () => '', { repeat: 'often' as any })] }, 'tools[0].repeat'],
  ['an unknown built-in tool', { tools: ['read_fil'] }, 'did you mean "read_file"?'],
  ['an agent not made by defineAgent', { agents: [{ name: 'x' }] }, 'agents'],
  ['null as an agent', { agents: [null] }, 'agents'],
  ['an unknown grant', { grants: ['everything'] }, 'grants'],
  ['an unknown format', { output: { format: 'xml' } }, 'output.format'],
  ['gather without agents', { gather: { timeoutMs: 1 } }, 'gather'],
  ['gather without a timeout', { agents: [agent('child')], gather: {} }, 'gather.timeoutMs'],
  ['a price as text', { models: [{ language: rehearse([always('x')]), price: { input: 'a' } }] }, 'models[0].price'],
  [
    'a price of NaN',
    { models: [{ language: rehearse([always('x')]), price: { input: NaN, output: 1 } }] },
    'models[0].price',
  ],
  [
    'a negative cache price',
    { models: [{ language: rehearse([always('x')]), price: { input: 1, output: 1, cacheRead: -9 } }] },
    'models[0].price',
  ],
])('%s is rejected, and the error names the field', ([, options, field]) => {
  expect(thrownBy(() => agent('solo', options))).toMatchObject({
    code: 'agent_invalid',
    message: expect.stringContaining(field),
  });
});

const spawning = (spawns: any) => ({ tools: ['spawn_agent', 'read_file'], spawns });
const fighter = agent('fighter');

test.for<[options: any, field: string, expected: string]>([
  [{ spawns: { agents: [fighter] } }, 'spawns', 'the tool `spawn_agent` in `tools`'],
  [{ tools: ['spawn_agent'] }, 'tools', '`spawns`, which lists the agents `spawn_agent` may start'],
  [{ tools: ['spawn_agnet'] }, 'tools', 'did you mean "spawn_agent"?'],
  [{ tools: ['recieve_message', 'receive_mesage'] }, 'tools', 'did you mean "receive_message"?'],
  [spawning(5), 'spawns.agents', 'an agent created with defineAgent, the name of one, or "self"; got 5'],
  [spawning(null), 'spawns', 'an object'],
  [spawning({ agent: [fighter] }), 'spawns.agent', 'Did you mean agents?'],
  [spawning({ agents: ['siblings'] }), 'spawns.agents', '"siblings" is reserved as a role'],
  [spawning({ agents: ['fighter', fighter] }), 'spawns.agents', 'unique agent names; "fighter" is used twice'],
  [spawning({ agents: [null] }), 'spawns.agents', 'an agent created with defineAgent, the name of one, or "self"'],
  [spawning({ agents: [fighter, agent('fighter')] }), 'spawns.agents', 'unique agent names; "fighter" is used twice'],
  [spawning({ agents: ['self', 'self'] }), 'spawns.agents', '"self" is used twice'],
  [spawning({ agents: [agent('siblings')] }), 'spawns.agents', '"siblings" is reserved as a role'],
  [spawning({ agents: [agent('self')] }), 'spawns.agents', '"self" is reserved as a role'],
  [spawning({ self: true }), 'spawns.self', '"self" in `spawns.agents`'],
  [spawning({ children: -1 }), 'spawns.children', 'a whole number, 0 or more; got -1'],
  [spawning({ children: '3' }), 'spawns.children', 'a whole number, 0 or more; got "3"'],
  [spawning({ perMinute: NaN }), 'spawns.perMinute', 'a whole number, 0 or more; got NaN'],
  [spawning({ depth: Infinity }), 'spawns.depth', 'a whole number, 0 or more; got Infinity'],
  [spawning({ depth: 1.5 }), 'spawns.depth', 'a whole number, 0 or more; got 1.5'],
  [spawning({ graceMs: '5s' }), 'spawns.graceMs', 'a whole number, 0 or more; got "5s"'],
  [spawning({ share: 'system' }), 'spawns.share', 'a list'],
  [spawning({ share: ['all'] }), 'spawns.share', 'system or context; got "all"'],
  [spawning({ templates: 'yes' }), 'spawns.templates', 'true, false, or { tools: […] }; got "yes"'],
  [spawning({ templates: { tool: [] } }), 'spawns.templates.tool', 'Did you mean tools?'],
  [spawning({ templates: { tools: 'x' } }), 'spawns.templates.tools', 'a list'],
  [spawning({ templates: { tools: ['read_fil'] } }), 'spawns.templates.tools', 'did you mean "read_file"?'],
  [spawning({ templates: { tools: ['spawn_agent'] } }), 'spawns.templates.tools', 'except mail tools (read_file)'],
  [spawning({ templates: { tools: [7] } }), 'spawns.templates.tools', 'got 7'],
  [spawning({ pool: [fighter] }), 'spawns.pool', 'an object'],
  [spawning({ agents: [fighter], pool: { figter: 1 } }), 'spawns.pool', 'got "figter"; did you mean "fighter"?'],
  [spawning({ agents: [fighter], pool: { fighter: -1 } }), 'spawns.pool.fighter', 'a whole number, 0 or more; got -1'],
  [{ messages: 'a b' }, 'messages', '`siblings`, or an agent name; got "a b"'],
  [{ messages: ['parent', 'a b'] }, 'messages', '`siblings`, or an agent name; got "a b"'],
  [{ messages: [7] }, 'messages', 'got 7'],
  [{ topics: 7 }, 'topics', 'a list, or { hear: […], say: […] }'],
  [{ topics: ['party-*'] }, 'topics', 'a topic name: letters'],
  [{ topics: ['a\u0007b'] }, 'topics', 'got "a\\u0007b"'],
  [{ topics: ['x'.repeat(65)] }, 'topics', 'at most 64 characters'],
  [{ topics: { hear: ['a', ''] } }, 'topics.hear', 'a topic name'],
  [{ topics: { say: 'a' } }, 'topics.say', 'a list'],
  [{ topics: { hears: [] } }, 'topics.hears', 'Did you mean hear?'],
  [{ limits: { maxHops: -1 } }, 'limits.maxHops', 'a whole number, 0 or more; got -1'],
])('the spawn or mail option %j is rejected, and the error names the field', ([options, field, expected]) => {
  const error = thrownBy(() => agent('solo', options));
  expect(error).toMatchObject({ code: 'agent_invalid' });
  expect(error.message.replace(/\[\d+\]:/u, ':')).toMatch(
    new RegExp(`Agent "solo", ${field.replaceAll('.', '\\.')}: (?:expected|unknown option)`, 'u'),
  );
  expect(error.message).toContain(expected);
  expect(error.message).not.toContain('?.');
});

// invariant: roles-are-no-names
test.for(['parent', 'children', 'siblings', 'self'])('"%s" is a valid role in mail options', (name) => {
  expect(agent(name)).toMatchObject({ name });
  for (const options of [{ messages: [] }, { tools: ['send_message'] }])
    expect(thrownBy(() => agent(name, options))).toMatchObject({
      message: expect.stringContaining(`name: expected another name: "${name}" is reserved as a role`),
    });
});

// invariant: code-sets-any-number
test('in code any spawn limit from 0 up is valid, and 0 means none', () => {
  const spawns = {
    agents: [fighter, 'self'],
    children: 0,
    perMinute: 1e6,
    depth: 99,
    graceMs: 0,
    pool: { fighter: 0 },
  } as const;
  const solo = agent('solo', spawning(spawns));
  expect(solo.children).toMatchObject({
    spawnable: [fighter],
    spawns: {
      agents: ['fighter'],
      self: true,
      children: 0,
      perMinute: 1e6,
      depth: 99,
      graceMs: 0,
      pool: { fighter: 0 },
    },
  });
  expect(solo.permissions.messages).toEqual(['parent', 'children']);
  expect(agent('solo', spawning({})).children).toMatchObject({
    spawns: { agents: [], self: false, children: 10, perMinute: 5, depth: 3, share: [], templates: null },
  });
});

test.for<[title: string, options: any]>([
  ['two tools', { tools: [tool('echo', () => ''), tool('echo', () => '')] }],
  ['a tool and a built-in tool', { tools: [tool('read_file', () => ''), 'read_file'] }],
  ['a tool named read_output', { tools: [tool('read_output', () => '')] }],
  ['a tool and an agent', { tools: [tool('child', () => '')], agents: [agent('child')] }],
  ['two agents', { agents: [agent('child'), agent('child')] }],
  ['two agents with the same tool name', { agents: [agent('a', { toolName: 'x' }), agent('b', { toolName: 'x' })] }],
  ['an agent named gather beside gather', { agents: [agent('gather')], gather: { timeoutMs: 1 } }],
])('%s of the same name are rejected', ([, options]) => {
  expect(thrownBy(() => agent('solo', options))).toMatchObject({
    code: 'agent_invalid',
    message: expect.stringContaining('is used twice'),
  });
});

test.for([undefined, null, 'solo', 5, []])('defineAgent(%j) is rejected with a clear error', (value) => {
  expect(thrownBy(() => defineAgent(value as any))).toMatchObject({ code: 'agent_invalid' });
});

test('two agents of the same name, or something that is no agent, are rejected when Cloister opens', async () => {
  await expect(open([agent('solo'), agent('solo')])).rejects.toMatchObject({
    code: 'agent_invalid',
    message: expect.stringContaining('two agents named "solo"'),
  });
  await expect(open(['solo'])).rejects.toMatchObject({ code: 'agent_file_invalid' });
  for (const value of [null, undefined, {}, { name: 'solo' }, { ...agent('solo'), name: '../x' }])
    await expect(open([value])).rejects.toMatchObject({ code: 'module_invalid' });
});

test.for<[title: string, name: any, goal: any, code: string]>([
  ['an unknown agent', 'nobody', 'Go', 'agent_unknown'],
  ['a long unknown agent', 'x'.repeat(100_000), 'Go', 'agent_unknown'],
  ['an agent with a path for a name', '../solo', 'Go', 'agent_unknown'],
  ['an object that is not an agent', {}, 'Go', 'module_invalid'],
  ['an empty goal', 'solo', '', 'goal_empty'],
  ['a goal of whitespace', 'solo', ' \n\t\u2003', 'goal_empty'],
  ['a goal that is no string', 'solo', undefined, 'goal_empty'],
  ['a goal of 10 MB', 'solo', 'x'.repeat(10_000_000), 'goal_too_large'],
  ['a goal that is too large in bytes only', 'solo', '€'.repeat(400_000), 'goal_too_large'],
])('%s is rejected before anything is recorded', async ([, name, goal, code]) => {
  const cloister = await open([agent('solo')]);
  const error = thrownBy(() => cloister.run(name, goal));
  expect(error).toMatchObject({ name: 'CloisterError', code });
  expect(error.message.length).toBeLessThan(500);
  expect(await cloister.runs()).toEqual([]);
});

test('an agent without a model is rejected, and so is one whose child has none', async () => {
  const cloister = await openCloister({ store: 'memory', agents: [], ...world() });
  const child = agent('child');
  const lead = agent('lead', { agents: [child], models: [rehearse([always('Done.')])] });
  expect(thrownBy(() => cloister.run(child, 'Go'))).toMatchObject({ code: 'model_missing' });
  expect(thrownBy(() => cloister.run(lead, 'Go'))).toMatchObject({
    code: 'model_missing',
    message: expect.stringContaining('child'),
  });
});

test.for<[title: string, prompt: string, code: string, limits: object]>([
  ['an empty goal', ' ', 'The goal is empty.', {}],
  ['a goal of 1.5 MB', 'x'.repeat(1_500_000), 'The goal is too large.', { contextTokensMax: 20_000_000 }],
])(
  'a child with %s is not started; its parent is informed and its sibling continues',
  async ([, prompt, words, limits]) => {
    const child = agent('child');
    const { outcome, report, requests } = await ask(agent('lead', { agents: [child], limits }), {
      says: lines({
        lead: [
          cheap(calls({ tool: 'child', args: { prompt } }, { tool: 'child', args: { prompt: 'A good goal' } })),
          cheap({ text: 'Done.' }),
        ],
        child: ['I am well.'],
      }),
    });
    expect(report.cells).toHaveLength(2);
    const [refused, answered] = lastResults(requests);
    expect(refused!.text).toContain(words);
    expect(answered!.text).toContain('| I am well.');
    expect(outcome).toMatchObject({ output: 'Done.' });
  },
);

test('a 1.5 MB goal for a child is refused, and becomes one line in the window of its parent', async () => {
  const { outcome, requests } = await ask(agent('lead', { agents: [agent('child')] }), {
    says: [...lines({ lead: [cheap(call('child', { prompt: 'x'.repeat(1_500_000) }))] }), always('Done.')],
  });
  expect(outcome).toMatchObject({ status: 'partial', output: 'Done.', missing: ['child'] });
  expect(requests.at(-1)!.text).toMatch(/- child: Error \(config\): The goal is too large/u);
});

test('agents can be nested three levels deep and no deeper', async () => {
  const chain = ['e', 'd', 'c', 'b'].reduce<any>(
    (inner, name) => agent(name, inner === null ? {} : { agents: [inner] }),
    null,
  );
  const go = (name: string) => [call(name, { prompt: 'Go down' }), `${name} was asked.`];
  const { report, requests } = await ask(agent('a', { agents: [chain] }), {
    says: lines({ a: go('b'), b: go('c'), c: go('d'), d: go('e'), e: ['never'] }),
  });
  expect(report.cells.map(({ agent: name, depth }) => `${name}${depth}`)).toEqual(['a0', 'b1', 'c2', 'd3']);
  expect(requests.some(({ text }) => text.includes('The maximum nesting depth was reached.'))).toBe(true);
});

test('models see a tool name without dots; events and outcomes have it as written', async () => {
  const child = agent('research', { toolName: 'research.icp' });
  const { outcome, events, requests } = await ask(agent('lead', { agents: [child], gather: { timeoutMs: 1_000 } }), {
    says: [
      ...lines({
        lead: [
          call('research_icp', { prompt: 'Go' }),
          call('gather', { tasks: [{ agent: 'research_icp', prompt: 'Go' }] }),
          'Done.',
        ],
      }),
      { when: { agent: 'research' }, reply: { fault: 400 } },
    ],
  });
  expect(outcome).toMatchObject({ status: 'partial', missing: ['research.icp'] });
  expect(events.flatMap((event) => (event.type === 'child-start' ? event.tool : []))).toEqual([
    'research.icp',
    'research.icp',
  ]);
  expect(requests.filter(({ text }) => text.includes('research.icp'))).toEqual([]);
});

test('an agent may not call one of its own callers, and gets an error', async () => {
  const again = agent('lead', { toolName: 'lead_again' });
  const middle = agent('middle', { agents: [again] });
  const { report, requests } = await ask(agent('lead', { agents: [middle] }), {
    says: [
      ...lines({ lead: [call('middle', { prompt: 'Go' })], middle: [call('lead_again', { prompt: 'Go' })] }),
      always('Done.'),
    ],
  });
  expect(report.cells.map(({ agent: name }) => name)).toEqual(['lead', 'middle']);
  expect(requests.some(({ text }) => text.includes('An agent cannot call one of its own callers.'))).toBe(true);
});
