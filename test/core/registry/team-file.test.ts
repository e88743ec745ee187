import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseYaml } from '#adapters/yaml';
import { parseTeamFile, tasksField, teamFields } from '#core/registry';

const parse = (text: string, path = 'crew.yaml') => parseTeamFile(path, text, { parseYaml });

/** `<line> <key>: <message> (<nearest>?)`. */
const told = (text: string, path?: string): readonly string[] =>
  parse(text, path).problems.map(
    ({ line, key, message, nearest }) => `${line} ${key}: ${message}${nearest === null ? '' : ` (${nearest}?)`}`,
  );

const minimal = 'agents: [./ann.ai, bob]\n';

describe('a team file that is right', () => {
  test('says what it says, in the form in which teams are made', () => {
    const { file, problems } = parse(
      [
        'name: newsroom',
        'description: Writes pages.',
        'agents:',
        '  - ./ann.ai',
        '  - bob',
        'coordinator: { models: rehearsal/small, prompt: Be brief. }',
        'parallel: 3',
        'capacity: { bob: 1 }',
        'memoryScope: all',
        'planMayAskForAll: true',
        'plan: { tasks: 7, depth: 2 }',
        'retries: 2',
        'backOff: 1.5s',
        'messages: { ann: [bob] }',
        'budget: { usd: 0.5, time: 2m }',
        'tasks: [{ title: A, description: Do a. }]',
      ].join('\n'),
    );
    expect(problems).toEqual([]);
    expect(file).toMatchObject({
      path: 'crew.yaml',
      isBroken: false,
      name: 'newsroom',
      description: 'Writes pages.',
      agents: ['./ann.ai', 'bob'],
      coordinator: { models: ['rehearsal/small'], prompt: 'Be brief.' },
      parallel: 3,
      capacity: { bob: 1 },
      memoryScope: 'all',
      planMayAskForAll: true,
      plan: { tasks: 7, depth: 2 },
      retries: 2,
      backOffMs: 1500,
      messages: { ann: ['bob'] },
      budget: { usd: 0.5, ms: 120_000 },
      tasks: [{ title: 'A', description: 'Do a.' }],
    });
    expect(file!.line(['agents', 1])).toBe(5);
    expect(file!.line(['budget', 'time'])).toBe(15);
  });

  test('is called like its file, without the endings that say what it is', () => {
    expect(parse(minimal, 'a/newsroom.yaml').file!.name).toBe('newsroom');
    expect(parse(minimal, 'newsroom.team.yml').file!.name).toBe('newsroom');
  });

  test('names its coordinator like any agent, or leaves it out', () => {
    expect(parse(`${minimal}coordinator: ./lead.ai`).file!.coordinator).toEqual({ agent: './lead.ai' });
    expect(parse(`${minimal}coordinator: {}`).file!.coordinator).toEqual({});
    expect(parse(minimal).file).not.toHaveProperty('coordinator');
  });

  test('may let all write to all, or nobody', () => {
    expect(parse(`${minimal}messages: true`).file!.messages).toBe(true);
    expect(parse(`${minimal}messages: false`).file!.messages).toBe(false);
  });

  test('reads the same however it is laid out', () => {
    const whole = (max: number) => fc.integer({ min: 1, max });
    const team = fc.record(
      {
        agents: fc.uniqueArray(fc.constantFrom('ann', './bob.ai', '../x/cid.ai', 'dora'), { minLength: 1 }),
        name: fc.stringMatching(/^[a-z][a-z0-9_-]{0,20}$/u),
        description: fc.string({ minLength: 1 }).filter((text) => /\S/u.test(text)),
        parallel: whole(10_000),
        memoryScope: fc.constantFrom('dependencies', 'all'),
        planMayAskForAll: fc.boolean(),
        plan: fc.record({ tasks: whole(100_000), depth: whole(100_000) }, { requiredKeys: ['tasks'] }),
        retries: fc.integer({ min: 0, max: 10 }),
        messages: fc.boolean(),
        budget: fc.record({ tokens: fc.nat(), usd: fc.integer({ min: 0, max: 900 }).map((cents) => cents / 100) }),
      },
      { requiredKeys: ['agents'] },
    );
    fc.assert(
      fc.property(team, (given) => {
        const { file, problems } = parse(JSON.stringify(given, null, 2));
        expect(problems).toEqual([]);
        const { path: _path, isBroken: _isBroken, line: _line, ...said } = file!;
        expect(said).toEqual({ name: 'crew', ...given });
      }),
    );
  });
});

const mistakes: readonly (readonly [text: string, told: readonly (string | RegExp)[]])[] = [
  ['', [/^1 agents: The key `agents` is missing/u]],
  ['agents: []', [/^1 agents: A team needs somebody/u]],
  ['agents:\n  - ann\n  - ann', [/^3 agents\.1: "ann" is there twice/u]],
  [`${minimal}agnets: [x]`, ['2 agnets: There is no key `agnets` here. (agents?)']],
  [`${minimal}paralel: 2`, ['2 paralel: There is no key `paralel` here. (parallel?)']],
  [`${minimal}parallel: 0`, ['2 parallel: Expected a whole number from 1 to 10000; got 0.']],
  [`${minimal}retries: 11\nbackOff: soon`, [/^2 retries: .*from 0 to 10/u, /^3 backOff: Expected milliseconds/u]],
  [`${minimal}backOff: 1s\nbackOffMs: 5`, [/^3 backOffMs: It says the same as `backOff`/u]],
  [`${minimal}plan:\n  task: 3`, ['3 plan.task: There is no key `task` here. (tasks?)']],
  [`${minimal}memoryScope: al`, [/^2 memoryScope: Expected dependencies or all; got "al"\. \(all\?\)$/u]],
  [`${minimal}capacity: { bbo: 2 }`, ['2 capacity.bbo: "bbo" is none of those in `agents`. (bob?)']],
  [`${minimal}messages:\n  ann: [bob, anna]`, ['3 messages.ann.1: "anna" is none of those in `agents`. (ann?)']],
  [`${minimal}messages: some`, [/^2 messages: Expected true, false, or for each sender a list of recipients/u]],
  [`${minimal}coordinator: { model: x/y }`, ['2 coordinator.model: There is no key `model` here. (models?)']],
  [`${minimal}prompt: Be kind.`, [/^2 prompt: .*belongs into the files of its agents/u]],
  [`${minimal}budget: { usd: -1 }`, [/^2 budget\.usd: Expected a number, 0 or more/u]],
  [`${minimal}name: ../x`, [/^2 name: Expected the name of an agent/u]],
];

describe('what is wrong with one', () => {
  test.each(mistakes)('is told with its line, what was expected and what was meant: %j', (text, expected) => {
    const problems = told(text);
    expect(problems).toHaveLength(expected.length);
    for (const [index, one] of expected.entries())
      if (typeof one === 'string') expect(problems[index]).toBe(one);
      else expect(problems[index]).toMatch(one);
    expect(parse(text).file?.isBroken).toBe(true);
  });

  test('is told all at once, in the order of the lines', () => {
    const all = mistakes.slice(3, 5).map(([text]) => text.slice(minimal.length));
    const lines = parse(`retries: x\n${all.join('\n')}\nagents: ann\nmemoryScope: 3`).problems.map(({ line }) => line);
    expect(lines).toEqual([1, 2, 3, 5]);
  });

  test('is told of the file when its name cannot be a team’s', () => {
    expect(told(minimal, 'my crew.yaml')).toEqual([
      expect.stringMatching(/name: The file’s name cannot be the team’s/u),
    ]);
  });

  test.each([
    'env: { KEY: x }',
    'command: rm -rf',
    'mcpServers: {}',
    'providers: {}',
    'url: https://x',
    'apiKey: abc',
    'coordinator: { models: [https://x/y] }',
    'coordinator: { command: ls }',
    'agents: ["curl https://x"]',
  ])('nothing in it can be a command, an address or a value of the environment: %s', (line) => {
    expect(told(line.startsWith('agents') ? line : `${minimal}${line}`)).not.toEqual([]);
  });

  test.each([
    'agents: &a [x]\nname: *a',
    'agents: !!set [x]',
    '%YAML 1.2\n---\nagents: x',
    '[x]',
    'agents: x\nagents: y',
  ])('is that it holds what only YAML can: %j', (text) => {
    const { file, problems } = parse(text);
    expect(file).toBeNull();
    expect(problems).toHaveLength(1);
    expect(problems[0]!.line).toBeGreaterThan(0);
  });

  test('never throws, and never takes long, whatever the text', () =>
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), fc.constantFrom(...teamFields, tasksField), (text, { key }) => {
        for (const given of [text, `${key}: ${text}`, `${minimal}${key}:\n  - ${text}`])
          expect(Array.isArray(parse(given).problems)).toBe(true);
      }),
    ));
});
