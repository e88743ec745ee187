// What a file may contain, in any notation, and the problems reported for everything else.
import { nearestName } from '#base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { readFileSync } from 'node:fs';
import { defineAgent } from 'cloister';
import type { JsonObject } from '#base';
import { problemsIn, storedShape } from '#base/shapes';
import { parseYaml } from '#adapters/yaml';
import {
  frontmatterShape,
  mergeDefaults,
  parseAgentFile,
  parseDefaults,
  parseDuration,
  resolveLimits,
} from '#core/registry';
import { frontmatterFields, innerFields } from './frontmatter-fields.ts';
import { frontmatters, written } from './frontmatter-files.ts';

const parse = (text: string, path = 'agents/solo.ai') => parseAgentFile(path, text, { parseYaml });
const required = 'description: Works\nusage: a topic\noutput: { format: text }\n';
const withKeys = (keys: string): string => `---\n${required}${keys}\n---\nWork.\n`;

const zeros = { children: 0, perMinute: 0, depth: 0, graceMs: 0 };

const read = (keys: string) => {
  const { file, problems } = parse(withKeys(keys));
  expect(problems).toEqual([]);
  return file!.frontmatter;
};

test('a file with every key is parsed', () => {
  const text = [
    '#!/usr/bin/env cloister',
    '---',
    'description: ICP Intelligence Researcher',
    'usage: company name or contact email',
    'toolName: research.icp',
    'input:',
    '  format: text',
    'output:',
    '  format: json',
    '  schema:',
    '    type: object',
    '    required: [company, insights]',
    'models: anthropic/claude-sonnet-4-5',
    'agents:',
    '  - ./a.ai',
    '  - agent: b',
    '    output: { format: json }',
    'limits:',
    '  maxToolTurns: 6',
    '  llmTimeout: 2m',
    '  parallelToolCalls: true',
    'maxTurns: 6',
    'toolTimeout: 30s',
    'temperature: 0.5',
    'budget: { usd: 0.5, time: 10m }',
    'gather: 90s',
    '---',
    'Research ${TOPIC}.',
    '---',
    'The end.',
    '',
  ].join('\n');
  expect(parse(text, '/home/me/icp.v2.ai')).toEqual({
    problems: [],
    file: {
      path: '/home/me/icp.v2.ai',
      name: 'icp.v2',
      prompt: 'Research ${TOPIC}.\n---\nThe end.\n',
      frontmatter: {
        description: 'ICP Intelligence Researcher',
        usage: 'company name or contact email',
        toolName: 'research.icp',
        input: { format: 'text' },
        output: { format: 'json', schema: { type: 'object', required: ['company', 'insights'] } },
        models: ['anthropic/claude-sonnet-4-5'],
        agents: [{ agent: './a.ai' }, { agent: 'b', output: { format: 'json' } }],
        limits: { maxToolTurns: 6, llmTimeout: 120_000, parallelToolCalls: 4, toolTimeout: 30_000 },
        settings: { temperature: 0.5 },
        budget: { usd: 0.5, ms: 600_000 },
        gather: { timeoutMs: 90_000 },
      },
      ignored: [],
      lines: expect.objectContaining({
        description: 3,
        'output.schema': 10,
        models: 13,
        agents: 14,
        'agents.1': 16,
        'limits.llmTimeout': 20,
        maxTurns: 22,
        'limits.toolTimeout': 23,
        toolTimeout: 23,
        'settings.temperature': 24,
        'budget.time': 25,
        'budget.ms': 25,
        gather: 26,
      }),
    },
  });
});

test('a frontmatter parses to the same result, whichever way it is written', () =>
  fc.assert(
    fc.property(frontmatters(), fc.infiniteStream(fc.nat()), fc.boolean(), (frontmatter, numbers, asJson) => {
      const keys = written(frontmatter, (ways) => numbers.next().value % ways);
      const yaml = asJson
        ? JSON.stringify(keys, null, 1)
        : stringify(keys, { aliasDuplicateObjects: false, lineWidth: 60 });
      const { file, problems } = parse(`---\n${yaml}\n---\nWork.`);
      expect(problems).toEqual([]);
      expect(file!.frontmatter).toEqual(frontmatter);
    }),
    { numRuns: 200 },
  ));

test.each([
  ['toolResponseMaxBytes: 8001', { max_tokens_per_step: 2_001 }],
  ['limits: { parallelToolCalls: false }', { parallelToolCalls: 1 }],
  ['parallelToolCalls: true', { parallelToolCalls: 4 }],
  ['llmTimeout: 1.5s', { llmTimeout: 1_500 }],
  ['timeout_ms: 2h', { timeout_ms: 7_200_000 }],
  ['maxTurns: 3\nlimits: { maxToolTurns: 3, maxTurns: 3 }', { maxToolTurns: 3 }],
])('%j gives the limits %j', (keys, limits) => expect(read(keys).limits).toEqual(limits));

test.each(['limits:', 'limits: {}', 'budget:', 'budget:\n  # tokens: 5'])('%j sets nothing', (keys) =>
  expect(read(keys)).toEqual({ description: 'Works', usage: 'a topic', output: { format: 'text' } }),
);

const spawning = 'tools: [read_file, spawn_agent]\n';

test.each([
  ['spawns: fighter', { agents: ['fighter'] }],
  ['spawns: [fighter, ./my party/wizard.ai, self]', { agents: ['fighter', './my party/wizard.ai', 'self'] }],
  ['spawns: { agents: [self], children: 0, perMinute: 0, depth: 0, grace: 0 }', { ...zeros, agents: ['self'] }],
  ['spawns: { templates: true }', { templates: true }],
  ['spawns: { templates: { tools: read_file } }', { templates: { tools: ['read_file'] } }],
  ['spawns: { agents: ./wizard.ai, pool: { wizard: 2 } }', { agents: ['./wizard.ai'], pool: { wizard: 2 } }],
  ['spawns: { agents: a, share: context, grace: 2s }', { agents: ['a'], share: ['context'], graceMs: 2_000 }],
])('%j sets which agents it may spawn', (keys, spawns) => expect(read(`${spawning}${keys}`).spawns).toEqual(spawns));

test('messages and topics are lists or single values, and topics may be split into say and hear', () => {
  expect(read('messages: parent\ntopics: party-chat')).toMatchObject({ messages: ['parent'], topics: ['party-chat'] });
  expect(read('topics: { hear: [a, b], say: c }').topics).toEqual({ hear: ['a', 'b'], say: ['c'] });
  expect(read('messages: []').messages).toEqual([]);
});

test.each([
  ['tools:', { tools: [] }],
  ['agents:', { agents: [] }],
  ['tools: read_file, github/search ,write_file,', { tools: ['read_file', 'github/search', 'write_file'] }],
  ['models: a/b, c/d', { models: ['a/b', 'c/d'] }],
  ['agents: ./a.ai, b', { agents: [{ agent: './a.ai' }, { agent: 'b' }] }],
  ['grants: goal, result', { grants: ['goal', 'result'] }],
])('%j is read as a list', (keys, values) => expect(read(keys)).toMatchObject(values));

test('a key of another runtime that only tunes has no effect, and its line is named', () => {
  const { file, problems } = parse(withKeys('temperature: 1\ncache: 1h\nrepeatPenalty: 1.1\ntoolOutput: { a: 1 }'));
  expect(problems).toEqual([]);
  expect(file!.ignored.map(({ key, line }) => [key, line])).toEqual([
    ['cache', 6],
    ['repeatPenalty', 7],
    ['toolOutput', 8],
  ]);
  expect(file!.frontmatter).toEqual(read('temperature: 1'));
});

// The keys above each case take lines 2 to 4; the first key of a case is on line 5.
test.each([
  ['modles: a/b', 5, 'modles', /Unknown key `modles`/u, 'models'],
  ['maxToolTurn: 5', 5, 'maxToolTurn', /Unknown key/u, 'maxToolTurns'],
  ['max_tool_turns: 5', 5, 'max_tool_turns', /Unknown key/u, 'maxToolTurns'],
  ['TEMPERATURE: 1', 5, 'TEMPERATURE', /Unknown key/u, 'temperature'],
  ['zzzzzz: 5', 5, 'zzzzzz', /Unknown key/u, null],
  ['constructor: 5', 5, 'constructor', /Unknown key/u, null],
  ['limits:\n  maxRetrys: 5', 6, 'limits.maxRetrys', /Unknown key/u, 'maxRetries'],
  ['limits:\n  temperature: 1', 6, 'limits.temperature', /top level, not in `limits`/u, 'temperature'],
  ['budget: { token: 5 }', 5, 'budget.token', /Unknown key/u, 'tokens'],
  ['name: x', 5, 'name', /named after its file/u, null],
  ['advisors: [a]', 5, 'advisors', /List them in `agents`/u, null],
  ['router: { destinations: [a] }', 5, 'router', /destinations in `agents`/u, null],
  ['handoff: a', 5, 'handoff', /List the agent in `agents`/u, null],
  ['model: sonnet', 5, 'model', /Use `models`/u, null],
  ['tools: read_file, npx x', 5, 'tools.1', /looks like a command/u, null],
  ['tools: a, a', 5, 'tools.1', /"a" is listed twice/u, null],
  ['prompt: x', 5, 'prompt', /below the closing/u, null],
  ['mcpServers: {}', 5, 'mcpServers', /the operator's \.ai-agent\.json/u, null],
  ['env: { KEY: 1 }', 5, 'env', /the operator's \.ai-agent\.json/u, null],
  ['maxRetries: ten', 5, 'maxRetries', /whole number, 0 or more; got "ten"/u, null],
  ['maxRetries: "2"', 5, 'maxRetries', /whole number, 0 or more; got "2"/u, null],
  ['maxRetries: -1', 5, 'maxRetries', /whole number, 0 or more; got -1/u, null],
  ['maxRetries: 1.5', 5, 'maxRetries', /whole number, 0 or more; got 1.5/u, null],
  ['maxRetries: 1e300', 5, 'maxRetries', /whole number/u, null],
  ['maxRetries:', 5, 'maxRetries', /whole number, 0 or more; got nothing/u, null],
  ['maxOutputTokens: 0', 5, 'maxOutputTokens', /whole number, 1 or more/u, null],
  ['parallelToolCalls: 0', 5, 'parallelToolCalls', /true, false, or a whole number, 1 or more/u, null],
  ['topP: 1.1', 5, 'topP', /number from 0 to 1; got 1.1/u, null],
  ['seed: 0.5', 5, 'seed', /a whole number; got 0.5/u, null],
  ['reasoning: hi', 5, 'reasoning', /none, minimal, low, medium, high, xhigh or max; got "hi"/u, 'high'],
  ['caching: ful', 5, 'caching', /full or none/u, 'full'],
  ['grants: [goal, reslt]', 5, 'grants.1', /goal, result, note or history; got "reslt"/u, 'result'],
  ['agentsAtOnce: 0', 5, 'agentsAtOnce', /whole number, 1 or more/u, null],
  ['toolName: find facts', 5, 'toolName', /letters, digits/u, null],
  ['llmTimeout: 30 sec', 5, 'llmTimeout', /500ms, 30s, 5m or 2h; got "30 sec"/u, null],
  ['llmTimeout: -5s', 5, 'llmTimeout', /500ms, 30s/u, null],
  ['budget: { time: soon }', 5, 'budget.time', /500ms, 30s/u, null],
  ['budget: 5', 5, 'budget', /block with `tokens`, `usd`, `spawns`, `memory` or `time`; got 5/u, null],
  ['gather:', 5, 'gather', /500ms, 30s.*got nothing/u, null],
  ['gather: 5m', 5, 'gather', /at least one sub-agent/u, null],
  ['gather: 5m\nagents: []', 5, 'gather', /at least one sub-agent/u, null],
  ['gather: {}\nagents: a', 5, 'gather.timeout', /`timeout` is missing/u, null],
  ['models: []', 5, 'models', /at least one/u, null],
  ['models: gpt-5', 5, 'models', /`<provider>\/<model>`.*got "gpt-5"/u, null],
  ['models:\n  - a/b\n  - https://api.example.com/v1', 7, 'models.1', /looks like a URL.*\.ai-agent\.json/u, null],
  ['models: a/http://x', 5, 'models', /looks like a URL/u, null],
  ['models: [a/b, a/b]', 5, 'models.1', /"a\/b" is listed twice/u, null],
  ['models: { a: b }', 5, 'models', /got a block of keys/u, null],
  ['tools: npx -y @me/server', 5, 'tools', /looks like a command.*\.ai-agent\.json/u, null],
  ['tools: ["TOKEN=abc"]', 5, 'tools.0', /looks like an environment value/u, null],
  ['tools: ["${TOKEN}"]', 5, 'tools.0', /looks like an environment value/u, null],
  ['tools: [http://x]', 5, 'tools.0', /looks like a URL/u, null],
  ['tools: [a/b/c]', 5, 'tools.0', /`<server>\/<tool>`; got "a\/b\/c"/u, null],
  ['tools: [3]', 5, 'tools.0', /got 3/u, null],
  ['agents: [https://x/y.ai]', 5, 'agents.0', /looks like a URL/u, null],
  ['agents: [node x.js]', 5, 'agents.0', /looks like a command/u, null],
  ['agents: [a, { agent: a }]', 5, 'agents.1', /"a" is listed twice/u, null],
  ['agents:\n  - agent: a\n    outptu: x', 7, 'agents.0.outptu', /Unknown key/u, 'output'],
  ['agents: [{ output: { format: text } }]', 5, 'agents.0.agent', /`agent` is missing/u, null],
  ['agents: [{ agent: a, output: { format: text, schema: {} } }]', 5, 'agents.0.output.schema', /format: json/u, null],
  ['input: json', 5, 'input', /block with `format` or `schema`; got "json"/u, null],
  ['input: { format: markdown }', 5, 'input.format', /text or json/u, null],
  ['input: { format: text, schema: {} }', 5, 'input.schema', /`format: json`; the format here is text/u, null],
  ['input:\n  format: json\n  schema: { type: string }', 7, 'input.schema', /`type: object`/u, null],
  ['input: { schema: {} }', 5, 'input.format', /`format` is missing/u, null],
  ['input: { format: json, schema: 5 }', 5, 'input.schema', /JSON Schema/u, null],
  ['llmTimeout: 2m\ntimeout_ms: 60s', 5, 'llmTimeout', /at most `timeout_ms` \(60000\)/u, null],
  ['limits: { timeout_ms: 5 }\nllmTimeout: 6', 6, 'llmTimeout', /at most `timeout_ms`/u, null],
  ['maxRetries: 1\nlimits:\n  maxRetries: 2', 7, 'limits.maxRetries', /2, but `maxRetries` on line 5 says 1/u, null],
  ['maxTurns: 1\nmaxToolTurns: 2', 6, 'maxToolTurns', /`maxTurns` on line 5 says 1: keep one/u, null],
  ['budget: { ms: 1, time: 2 }', 5, 'budget.time', /`budget.ms` on line 5 says 1/u, null],
  ['spawns: fighter', 5, 'spawns', /needs `spawn_agent` in `tools`/u, null],
  ['tools: read_file\nspawns: fighter', 6, 'spawns', /needs `spawn_agent` in `tools`/u, null],
  ['tools: spawn_agent', 5, 'tools', /needs `agents` or `templates` in `spawns`/u, null],
  ['tools: spawn_agent\nspawns: []', 6, 'spawns', /at least one/u, null],
  ['tools: spawn_agent\nspawns: {}', 6, 'spawns', /at least one of `agents` or `templates`/u, null],
  ['tools: spawn_agent\nspawns: { children: 3 }', 6, 'spawns', /at least one of `agents` or `templates`/u, null],
  ['tools: spawn_agent\nspawns: 5', 6, 'spawns', /path of an `.ai` file.*got 5/u, null],
  ['tools: spawn_agent\nspawns: [https://x/y.ai]', 6, 'spawns.0', /looks like a URL/u, null],
  ['tools: spawn_agent\nspawns: { agents: npx -y x }', 6, 'spawns.agents', /looks like a command/u, null],
  ['tools: spawn_agent\nspawns: { agents: ["K=v"] }', 6, 'spawns.agents.0', /an environment value/u, null],
  ['tools: spawn_agent\nspawns: [a, a]', 6, 'spawns.1', /"a" is listed twice/u, null],
  ['tools: spawn_agent\nspawns: [a, ./b/a.ai]', 6, 'spawns', /Two of these agents are named "a"/u, null],
  ['tools: spawn_agent\nspawns:\n  agents: a\n  childs: 3', 8, 'spawns.childs', /Unknown key `childs`/u, null],
  ['tools: spawn_agent\nspawns: { agents: a, perminute: 3 }', 6, 'spawns.perminute', /Unknown key/u, 'perMinute'],
  [
    'tools: spawn_agent\nspawns:\n  agents: a\n  children: -1',
    8,
    'spawns.children',
    /number, 0 or more; got -1/u,
    null,
  ],
  ['tools: spawn_agent\nspawns: { agents: a, depth: 1.5 }', 6, 'spawns.depth', /whole number/u, null],
  ['tools: spawn_agent\nspawns: { agents: a, perMinute: 1e300 }', 6, 'spawns.perMinute', /whole number/u, null],
  ['tools: spawn_agent\nspawns: { agents: a, grace: soon }', 6, 'spawns.grace', /500ms, 30s/u, null],
  ['tools: spawn_agent\nspawns: { agents: a, share: all }', 6, 'spawns.share', /system or context; got "all"/u, null],
  [
    'tools: spawn_agent\nspawns: { agents: a, templates: yes }',
    6,
    'spawns.templates',
    /true, false, or a block/u,
    null,
  ],
  ['tools: spawn_agent\nspawns: { templates: {} }', 6, 'spawns.templates.tools', /`tools` is missing/u, null],
  [
    'tools: [spawn_agent, read_file]\nspawns: { templates: { tools: [read_files] } }',
    6,
    'spawns.templates.tools.0',
    /"read_files" is not one of its own `tools`/u,
    'read_file',
  ],
  ['tools: spawn_agent\nspawns: { agents: a, pool: 2 }', 6, 'spawns.pool', /a value for each name; got 2/u, null],
  ['tools: spawn_agent\nspawns: { agents: a, pool: { a: x } }', 6, 'spawns.pool.a', /whole number/u, null],
  [
    'tools: spawn_agent\nspawns:\n  agents: ./fighter.ai\n  pool:\n    figter: 1',
    9,
    'spawns.pool.figter',
    /"figter" is not in `spawns.agents`/u,
    'fighter',
  ],
  ['messages: [parent, "a b"]', 5, 'messages.1', /`siblings`, or an agent name; got "a b"/u, null],
  ['messages: [../x]', 5, 'messages.0', /or an agent name/u, null],
  ['messages: { parent: true }', 5, 'messages', /got a block of keys/u, null],
  ['topics: [party-*]', 5, 'topics.0', /topic name.*got "party-\*"/u, null],
  ['topics: ["a\\u0007b"]', 5, 'topics.0', /topic name/u, null],
  [`topics: ${'x'.repeat(65)}`, 5, 'topics', /at most 64 characters/u, null],
  ['topics: { hear: [a, " b"] }', 5, 'topics.hear.1', /topic name/u, null],
  ['topics: { hears: a }', 5, 'topics.hears', /Unknown key/u, 'hear'],
  ['topics: {}', 5, 'topics', /at least one of `hear` or `say`/u, null],
  ['maxHops: -1', 5, 'maxHops', /whole number, 0 or more/u, null],
  ['a: 1\na: 2', 6, null, /Duplicate key `a`/u, null],
  ['description: again', 5, null, /Duplicate key `description`/u, null],
  ['tools: *all', 5, null, /Aliases/u, null],
  ['tools: [', 6, null, /Not valid YAML/u, null],
])('%j: line %j, key %j', (keys, line, key, message, meant) => {
  const { file, problems } = parse(withKeys(keys));
  expect(file).toBeNull();
  expect(problems).toEqual([
    { file: 'agents/solo.ai', line, key, message: expect.stringMatching(message), nearest: meant },
  ]);
});

test('line numbers are those of the file: shebang, byte order mark and CRLF included', () => {
  const text = `\uFEFF#!/usr/bin/env cloister\n${withKeys('modles: a/b')}`.replaceAll('\n', '\r\n');
  expect(parse(text).problems).toMatchObject([{ line: 6, key: 'modles', nearest: 'models' }]);
});

test('all problems are reported together, in line order', () => {
  const text =
    '---\ndescripton: x\nusage: 5\noutput: { format: jsn }\nlimits:\n  maxRetries: x\n  llmTimeout: y\n---\n';
  const { problems } = parse(text, 'my agents/bad name.ai');
  expect(problems.map(({ line, key, nearest: meant }) => [line, key, meant])).toEqual([
    [null, null, null],
    [1, 'description', null],
    [2, 'descripton', 'description'],
    [3, 'usage', null],
    [4, 'output.format', 'json'],
    [6, 'limits.maxRetries', null],
    [7, 'limits.llmTimeout', null],
  ]);
});

test('an empty frontmatter reports each missing required key', () =>
  expect(parse('---\n---\nWork.').problems.map(({ line, key, message }) => [line, key, message])).toEqual([
    [1, 'description', expect.stringMatching(/missing: one sentence that says what the agent does/u)],
  ]));

test('a hundred problems are reported one by one, then the number of the others', () => {
  const { problems } = parse(withKeys(Array.from({ length: 5_000 }, (_, index) => `unknown${index}: 1`).join('\n')));
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)).toMatchObject({ line: null, message: 'There are 4900 more problems.' });
});

test('text that looks like a secret is not repeated in the message', () => {
  const { problems } = parse(withKeys('apiKey: hunter2\ntools: ["KEY=hunter2"]\nmodels: ["https://me:hunter2@x"]'));
  expect(problems).toHaveLength(3);
  expect(JSON.stringify(problems)).not.toContain('hunter2');
});

test('an invalid schema is reported with the reason', () => {
  const checkSchema = (schema: JsonObject) => (schema['type'] === 'strnig' ? '`type` is no type.' : null);
  const text = `---\ndescription: x\nusage: x\noutput:\n  format: json\n  schema: { type: strnig }\n---\n`;
  expect(parseAgentFile('a.ai', text, { parseYaml, checkSchema }).problems).toMatchObject([
    { line: 6, key: 'output.schema', message: 'This schema cannot be used: `type` is no type.' },
  ]);
});

test.each(['.ai', 'a b.ai', '../..ai', `${'x'.repeat(65)}.ai`, '-x.ai', 'a..b.ai'])(
  '%j is no valid agent file name',
  (path) => {
    const message = expect.stringMatching(/file name is the agent name/u) as string;
    expect(parse(withKeys(''), path).problems).toEqual([{ file: path, line: null, key: null, message, nearest: null }]);
  },
);

test.each([
  ['/a/b/lead.ai', 'lead'],
  ['C:\\agents\\lead.ai', 'lead'],
  ['lead.prompt', 'lead.prompt'],
])('the agent in %j is named %j', (path, name) => expect(parse(withKeys(''), path).file).toMatchObject({ name }));

test('config defaults take the same keys, require none, and problems name their location', () => {
  const where = { file: '.ai-agent.json', under: ['defaults'] };
  expect(parseDefaults({ maxTurns: 5, limits: { llmTimeout: '30s' }, models: 'a/b' }, where)).toEqual({
    frontmatter: { limits: { maxToolTurns: 5, llmTimeout: 30_000 }, models: ['a/b'] },
    problems: [],
    keys: expect.any(Array),
  });
  expect(
    parseDefaults(JSON.parse('{"__proto__":{"x":1},"limits":{"maxRetrys":1}}') as JsonObject, where),
  ).toMatchObject({
    frontmatter: null,
    problems: [
      { file: '.ai-agent.json', line: null, key: 'defaults.__proto__', nearest: null },
      { file: '.ai-agent.json', line: null, key: 'defaults.limits.maxRetrys', nearest: 'maxRetries' },
    ],
  });
});

test('a file’s keys override the defaults one by one; a default that contradicts the file is dropped', () => {
  const own = { ...read('maxRetries: 1\ntemperature: 1\nllmTimeout: 90s'), output: { format: 'json' as const } };
  const config = {
    limits: { maxRetries: 5, toolTimeout: 5, timeout_ms: 60_000 },
    settings: { seed: 1, temperature: 0 },
    budget: { tokens: 5 },
    output: { format: 'json' as const, schema: {} },
    gather: { timeoutMs: 5 },
  };
  expect(mergeDefaults(own, config)).toEqual({
    ...own,
    limits: { maxRetries: 1, toolTimeout: 5, llmTimeout: 90_000 },
    settings: { temperature: 1, seed: 1 },
    budget: { tokens: 5 },
  });
});

test.each([
  [0, 0],
  [1_500, 1_500],
  ['500ms', 500],
  ['30s', 30_000],
  ['30 s', 30_000],
  ['0.5s', 500],
  ['5m', 300_000],
  ['2h', 7_200_000],
  [1.5, null],
  [-1, null],
  [Number.NaN, null],
  ['', null],
  ['5', null],
  ['5d', null],
  ['5 minutes', null],
  ['999999999999h', null],
  [`${'1'.repeat(50_000)}s`, null],
  [null, null],
])('the duration %.20s', (text, ms) => expect(parseDuration(text)).toBe(ms));

test.each([
  ['modles', 'models'],
  ['Tools', 'tools'],
  ['tool-name', 'toolName'],
  ['agnets', 'agents'],
  ['x', null],
  ['', null],
  ['completely different', null],
  ['y'.repeat(100_000), null],
])('the name nearest to %.20j', (name, expected) =>
  expect(nearestName(name, ['models', 'tools', 'toolName', 'agents'])).toBe(expected),
);

test('the limits in the table of defaults are those that sessions use', () => {
  const agent = defineAgent({ name: 'solo', description: 'Works', prompt: '' });
  const [run, called] = [resolveLimits(agent.caps.limits, true), resolveLimits(agent.caps.limits, false)];
  const limits = frontmatterFields.filter(
    ({ key, group, aliasOf }) => group === 'limits' && key !== 'limits' && !aliasOf,
  );
  expect(limits.map(({ key }) => key).sort()).toEqual(Object.keys(run).sort());
  for (const { key, default: value, otherwise } of limits) {
    const [one, other] = [run[key as keyof typeof run], called[key as keyof typeof run]];
    if (value !== undefined) expect([key, one, other]).toEqual([key, value, value]);
    else if (one === 0) expect(otherwise).toMatch(/^the model's/u);
    else
      expect([key, otherwise]).toEqual([
        key,
        `${other} as a sub-agent, otherwise ${one === Infinity ? 'no limit' : one}`,
      ]);
  }
});

test('the other defaults in the table are those of an agent', () => {
  const agent = defineAgent({ name: 'solo', description: 'Works', prompt: '' });
  const { signature, resources, caps, children, permissions } = agent;
  const fields: Record<string, unknown> = {
    ...agent,
    ...signature,
    ...resources,
    ...caps,
    ...children,
    ...permissions,
  };
  const others = frontmatterFields.filter((field) => field.group !== 'limits' && field.default !== undefined);
  expect(others.map(({ key }) => [key, fields[key]])).toEqual(others.map((field) => [field.key, field.default]));
});

test('every number that a file may contain is also valid in code, and no other', () => {
  const stored = storedShape(frontmatterShape) as typeof frontmatterShape;
  for (const block of ['limits', 'budget'] as const)
    for (const [key, shape] of Object.entries((stored.fields[block] as typeof stored).fields))
      for (const value of [-1, 0, 0.5, 1, 7, NaN, 1e300]) {
        const make = () => defineAgent({ name: 'solo', description: 'x', prompt: '', [block]: { [key]: value } });
        const isValid = problemsIn(shape, value).length === 0;
        if (isValid) expect(make, `${key}: ${value}`).not.toThrow();
        else expect(make, `${key}: ${value}`).toThrow(/expected/u);
      }
  const unlimited = { limits: { maxRetries: Infinity }, budget: { tokens: Infinity } };
  expect(() => defineAgent({ name: 'solo', description: 'x', prompt: '', ...unlimited })).not.toThrow();
});

test('the docs have a row for each key', () => {
  const docs = readFileSync('docs/AGENT-FILES.md', 'utf8');
  const rows = frontmatterFields.flatMap((field) => {
    const inner = innerFields(field).map((one) => ({ ...one, key: `${field.key}.${one.key}` }));
    return field.key === 'limits' ? [field] : [field, ...inner];
  });
  const missing = rows
    .map(({ key, about: description, default: value, otherwise }) => {
      const held = value === undefined ? (otherwise ?? '') : `\`${JSON.stringify(value).replaceAll('"', '')}\``;
      return `| \`${key}\` | ${description} | ${held} |`;
    })
    .filter((row) => !docs.includes(row));
  expect(missing).toEqual([]);
});
