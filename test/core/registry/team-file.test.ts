import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseYaml } from '#adapters/yaml';
import { parseTeamFile, teamShape } from '#core/registry';

const parse = (text: string, path = 'crew.yaml') => parseTeamFile(path, text, { parseYaml });

/** `<line> <key>: <message> (<nearest>?)`. */
const problemTexts = (text: string, path?: string): readonly string[] =>
  parse(text, path).problems.map(
    ({ line, key, message, nearest }) => `${line} ${key}: ${message}${nearest === null ? '' : ` (${nearest}?)`}`,
  );

const minimal = 'agents: [./ann.ai, bob]\n';

describe('a valid team file', () => {
  test('gives the options from which teams are defined', () => {
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

  test('is named after its file, without the extensions', () => {
    expect(parse(minimal, 'a/newsroom.yaml').file!.name).toBe('newsroom');
    expect(parse(minimal, 'newsroom.team.yml').file!.name).toBe('newsroom');
  });

  test('configures its coordinator like any agent, or omits it', () => {
    expect(parse(`${minimal}coordinator: ./lead.ai`).file!.coordinator).toEqual({ agent: './lead.ai' });
    expect(parse(`${minimal}coordinator: {}`).file!.coordinator).toEqual({});
    expect(parse(minimal).file).not.toHaveProperty('coordinator');
  });

  test('may let all members message each other, or none', () => {
    expect(parse(`${minimal}messages: true`).file!.messages).toBe(true);
    expect(parse(`${minimal}messages: false`).file!.messages).toBe(false);
  });

  test('parses the same in any layout', () => {
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
        const { path: _path, isBroken: _isBroken, line: _line, ...options } = file!;
        expect(options).toEqual({ name: 'crew', ...given });
      }),
    );
  });
});

const mistakes: readonly (readonly [text: string, told: readonly (string | RegExp)[]])[] = [
  ['', [/^1 agents: The key `agents` is missing/u]],
  ['agents: []', [/^1 agents: A team needs at least one agent/u]],
  ['agents:\n  - ann\n  - ann', [/^3 agents\.1: "ann" is listed twice/u]],
  [`${minimal}agnets: [x]`, ['2 agnets: Unknown key `agnets`. (agents?)']],
  [`${minimal}paralel: 2`, ['2 paralel: Unknown key `paralel`. (parallel?)']],
  [`${minimal}parallel: 0`, ['2 parallel: Expected a whole number from 1 to 10000; got 0.']],
  [`${minimal}retries: 11\nbackOff: soon`, [/^2 retries: .*from 0 to 10/u, /^3 backOff: Expected milliseconds/u]],
  [`${minimal}backOff: 1s\nbackOffMs: 5`, ['3 backOffMs: Here it is 5, but `backOff` on line 2 says 1000: keep one.']],
  [`${minimal}plan:\n  task: 3`, ['3 plan.task: Unknown key `task`. (tasks?)']],
  [`${minimal}memoryScope: al`, [/^2 memoryScope: Expected dependencies or all; got "al"\. \(all\?\)$/u]],
  [`${minimal}capacity: { bbo: 2 }`, ['2 capacity.bbo: "bbo" is not in `agents`. (bob?)']],
  [`${minimal}messages:\n  ann: [bob, anna]`, ['3 messages.ann.1: "anna" is not in `agents`. (ann?)']],
  [`${minimal}messages: some`, [/^2 messages: Expected true, false, or for each sender a list of recipients/u]],
  [`${minimal}coordinator: { model: x/y }`, ['2 coordinator.model: Unknown key `model`. (models?)']],
  [`${minimal}prompt: Be kind.`, [/^2 prompt: .*belongs in its agents' files/u]],
  [`${minimal}budget: { usd: -1 }`, [/^2 budget\.usd: Expected a number, 0 or more/u]],
  [`${minimal}name: ../x`, [/^2 name: Expected an agent name/u]],
];

describe('a problem in a team file', () => {
  test.each(mistakes)('is reported with its line, the expectation and a suggestion: %j', (text, expected) => {
    const problems = problemTexts(text);
    expect(problems).toHaveLength(expected.length);
    for (const [index, one] of expected.entries())
      if (typeof one === 'string') expect(problems[index]).toBe(one);
      else expect(problems[index]).toMatch(one);
    expect(parse(text).file?.isBroken).toBe(true);
  });

  test('is reported together with all others, in line order', () => {
    const all = mistakes.slice(3, 5).map(([text]) => text.slice(minimal.length));
    const lines = parse(`retries: x\n${all.join('\n')}\nagents: ann\nmemoryScope: 3`).problems.map(({ line }) => line);
    expect(lines).toEqual([1, 2, 3, 5]);
  });

  test('is reported for the file when its name cannot be a team’s', () => {
    expect(problemTexts(minimal, 'my crew.yaml')).toEqual([
      expect.stringMatching(/name: The file name is not a valid team name/u),
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
  ])('commands, addresses and environment values are not allowed: %s', (line) => {
    expect(problemTexts(line.startsWith('agents') ? line : `${minimal}${line}`)).not.toEqual([]);
  });

  test.each([
    'agents: &a [x]\nname: *a',
    'agents: !!set [x]',
    '%YAML 1.2\n---\nagents: x',
    '[x]',
    'agents: x\nagents: y',
  ])('is a value that only YAML has: %j', (text) => {
    const { file, problems } = parse(text);
    expect(file).toBeNull();
    expect(problems).toHaveLength(1);
    expect(problems[0]!.line).toBeGreaterThan(0);
  });

  test('never throws or takes long, whatever the text', () =>
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), fc.constantFrom(...Object.keys(teamShape.fields)), (text, key) => {
        for (const given of [text, `${key}: ${text}`, `${minimal}${key}:\n  - ${text}`])
          expect(Array.isArray(parse(given).problems)).toBe(true);
      }),
    ));
});
