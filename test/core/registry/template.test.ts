// The template has every key, states the source of each value, and parses back to the effective values.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseYaml } from '#adapters/yaml';
import { frontmatterTemplate, mergeDefaults, parseAgentFile } from '#core/registry';
import type { Frontmatter } from '#contracts';
import { frontmatterFields, innerFields } from './frontmatter-fields.ts';
import { frontmatters } from './frontmatter-files.ts';

const parse = (template: string, prompt: string): Frontmatter => {
  const { file, problems } = parseAgentFile('new.ai', template + prompt, { parseYaml });
  expect(problems).toEqual([]);
  expect(file!.prompt).toBe(prompt.replaceAll('\r\n', '\n'));
  return file!.frontmatter;
};

const builtIn = {
  output: { format: 'markdown' },
  input: { format: 'text' },
  tools: [],
  skills: [],
  agents: [],
  grants: ['goal', 'result', 'note'],
  caching: 'none',
  asks: false,
} as const;
const builtInLimits = {
  maxToolTurns: 10,
  llmTimeout: 120_000,
  toolTimeout: 60_000,
  maxRetries: 2,
  maxToolCallsPerTurn: 50,
  parallelToolCalls: 4,
  maxHops: 100,
  answersPerMinute: 60,
  questionTimeout: 86_400_000,
};

/** The expected values, computed without the template. */
const resolved = (own: Frontmatter, config: Partial<Frontmatter>): Frontmatter => {
  const merged = mergeDefaults(own, config);
  const { llmTimeout, ...otherLimits } = builtInLimits;
  const fits = (merged.limits?.timeout_ms ?? Infinity) >= llmTimeout;
  return {
    ...builtIn,
    ...merged,
    limits: { ...otherLimits, ...(fits ? { llmTimeout } : {}), ...merged.limits },
  };
};

const placeholder = {
  description: 'Says what it does, so that others know when to call it',
} as const;

/** The agents to spawn, and the tool for it, are the agent's own and have no defaults. */
const asDefaults = ({ spawns: _spawns, tools, ...rest }: Frontmatter): Partial<Frontmatter> => ({
  ...rest,
  ...(tools === undefined ? {} : { tools: tools.filter((tool) => tool !== 'spawn_agent') }),
});

test('without config it has the built-in defaults and can be pasted into a new file', () =>
  expect(parse(frontmatterTemplate({}), '')).toEqual(resolved(placeholder, {})));

test('it parses to the effective values: the file before the config before the defaults', () =>
  fc.assert(
    fc.property(frontmatters('binary'), frontmatters().map(asDefaults), fc.string(), (own, config, prompt) => {
      const text = frontmatterTemplate({ own, config });
      expect(parse(text, prompt.replaceAll(/[\0\uFFFD]/gu, ''))).toEqual(resolved(own, config));
    }),
    { numRuns: 100 },
  ));

test('no line has more than 100 columns', () =>
  fc.assert(
    fc.property(
      frontmatters('binary'),
      frontmatters('binary'),
      fc.string({ maxLength: 200 }),
      (own, config, configSource) => {
        const lines = frontmatterTemplate({ own, config, configSource }).split('\n');
        expect(lines.filter((line) => line.length > 100)).toEqual([]);
      },
    ),
    { numRuns: 60 },
  ));

test('a long and deep schema survives the round trip, within 100 columns', () => {
  const deep = Array.from({ length: 40 }).reduce<object>(
    (schema, _, index) => ({ [`level ${index}: of many`]: schema, 'x-note': 'many words, '.repeat(20) }),
    {
      enum: ['a', 'yes', '12', '', ' x', 'a  b', '\u2028', '#', true, null, 1.5, [], {}],
      list: [[1, [2]], [{ a: 'b' }]],
    },
  );
  const own = { ...placeholder, output: { format: 'json', schema: deep as never } } as const;
  const text = frontmatterTemplate({ own });
  expect(parse(text, '')).toEqual(resolved(own, {}));
  expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
});

test.each([
  `a${' '.repeat(300)}b`,
  `${' '.repeat(99)}x`,
  '\\ '.repeat(80),
  'x'.repeat(400),
  '\n x\n'.repeat(60),
  '\u0007"'.repeat(90),
])('a text that is hard to wrap survives the round trip: %#', (description) => {
  const text = frontmatterTemplate({ own: { ...placeholder, description } });
  expect(parse(text, '').description).toBe(description);
  expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
});

test('it has every key that is not an alias, live or as a comment', () => {
  const lines = frontmatterTemplate({}).split('\n');
  const has = (key: string, indent: number) =>
    lines.some((line) => new RegExp(`^ {${indent}}(?:# )?${key}:`, 'u').test(line));
  const missing = frontmatterFields.flatMap((field) => {
    const { key, group, aliasOf } = field;
    if (aliasOf !== undefined) return [];
    const own = has(key, group === 'limits' && key !== 'limits' ? 2 : 0) ? [] : [key];
    const inner = field.is === 'object' && field.short === undefined ? innerFields(field) : [];
    return [...own, ...inner.filter((one) => one.aliasOf === undefined && !has(one.key, 2)).map((one) => one.key)];
  });
  expect(missing).toEqual([]);
});

test('its commented examples are valid when uncommented', () => {
  const text = frontmatterTemplate({
    own: {
      ...placeholder,
      output: { format: 'json' },
      input: { format: 'json' },
      agents: [{ agent: 'a' }],
      tools: ['spawn_agent'],
    },
  });
  const all = text.replaceAll(/^( *)# (\w+: )/gmu, '$1$2');
  const read = parse(all, 'Work.');
  expect(read).toMatchObject({ gather: { timeoutMs: 120_000 }, budget: { usd: 0.5, ms: 600_000 }, agentsAtOnce: 2 });
  expect(read).toMatchObject({ spawns: { agents: ['./fighter.ai', 'self'] }, topics: ['party-chat'] });
  expect(Object.keys(read.limits!)).toHaveLength(17);
});

const noteOf = (args: Parameters<typeof frontmatterTemplate>[0], key: string): string => {
  const line = frontmatterTemplate(args)
    .split('\n')
    .find((one) => one.trimStart().startsWith(key));
  return line!.split(' # ').at(-1)!;
};

const own = { ...placeholder, limits: { maxRetries: 7 }, models: ['a/b'] };
const config = { limits: { maxRetries: 8, toolTimeout: 9 }, tools: ['browser'] };

test.each([
  ['maxRetries: 7', 'this file'],
  ['toolTimeout: 9', 'from /etc/ai-agent/.ai-agent.json'],
  ['tools: [browser]', 'from /etc/ai-agent/.ai-agent.json'],
  ['models: [a/b]', 'this file'],
  ['maxToolTurns: 10', 'default'],
  ['# toolName: find_facts', 'default: the file name'],
  ['# max_steps: 20', 'default: 20 as a sub-agent, otherwise no limit'],
  ['description: ', 'this file'],
])('%j is annotated with %j', (line, note) =>
  expect(noteOf({ own, config, configSource: '/etc/ai-agent/.ai-agent.json' }, line)).toBe(note),
);

test('a total timeout removes the default timeout of one request', () => {
  const text = frontmatterTemplate({ own: { ...placeholder, limits: { timeout_ms: 5_000 } } });
  expect(text).toMatch(/^ {2}# llmTimeout: 120000 +# default: 120000, within timeout_ms$/mu);
  expect(parse(text, '').limits).not.toHaveProperty('llmTimeout');
});
