import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { readConfigLayers } from '#adapters/config';

const root = mkdtempSync(join(tmpdir(), 'cloister-config-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;
/** A new set of folders, `cwd`, `beside`, `home` and `etc`, with the given files by path. */
const world = (files: Record<string, string | Uint8Array | object> = {}) => {
  const base = join(root, String(count++));
  for (const folder of ['cwd', 'beside', 'home/.ai-agent', 'etc']) mkdirSync(join(base, folder), { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    const raw = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(join(base, path), raw ? content : JSON.stringify(content, null, 2));
  }
  const places = {
    cwd: join(base, 'cwd'),
    beside: join(base, 'beside'),
    home: join(base, 'home'),
    etc: join(base, 'etc'),
  };
  return {
    base,
    read: async (more: Partial<Parameters<typeof readConfigLayers>[0]> = {}) => {
      const { layers, problems } = readConfigLayers({ ...places, env: {}, ...more });
      return {
        layers,
        sources: layers.map(({ source }) => source.replace(`${base}/`, '')),
        problems: problems.map((problem) => ({ ...problem, file: problem.file.replace(`${base}/`, '') })),
      };
    },
  };
};

const server = (command: string) => ({ mcpServers: { it: { command } } });

test('layers are read in order, the shell last, and missing files are skipped', async () => {
  const { base, read } = world({
    'given/my.json': server('given'),
    'given/.ai-agent.env': 'A=given',
    'cwd/.ai-agent.json': server('cwd'),
    'beside/.ai-agent.env': 'A=beside',
    'home/.ai-agent/.ai-agent.json': server('home'),
    'home/.ai-agent/.ai-agent.env': 'A=home',
    'etc/.ai-agent.json': server('etc'),
  });
  const { layers, sources, problems } = await read({ explicit: '../given/my.json', env: { A: 'shell', B: undefined } });
  expect(problems).toEqual([]);
  expect(sources).toEqual([
    'given/my.json',
    'cwd/.ai-agent.json',
    'beside/.ai-agent.env',
    'home/.ai-agent/.ai-agent.json',
    'etc/.ai-agent.json',
    'the shell',
  ]);
  expect(layers.map(({ sidecar }) => ({ ...sidecar }))).toEqual([
    { A: 'given' },
    {},
    { A: 'beside' },
    { A: 'home' },
    {},
    { A: 'shell' },
  ]);
  expect(layers.map(({ folder }) => folder.replace(`${base}/`, ''))).toEqual([
    'given',
    'cwd',
    'beside',
    'home/.ai-agent',
    'etc',
    'cwd',
  ]);
  expect(layers.map(({ servers }) => (servers['it'] as { command?: string } | undefined)?.command)).toEqual([
    'given',
    'cwd',
    undefined,
    'home',
    'etc',
    undefined,
  ]);
  expect((await world().read()).sources).toEqual(['the shell']);
});

// invariant: config-file-counts-once
test('a file reached by several paths counts once', async () => {
  const { base, read } = world({ 'cwd/.ai-agent.json': server('x'), 'cwd/.ai-agent.env': 'oops' });
  symlinkSync(join(base, 'cwd/.ai-agent.json'), join(base, 'beside/.ai-agent.json'));
  const { sources, problems } = await read({ explicit: '.ai-agent.json', etc: join(base, 'cwd') });
  expect(sources).toEqual(['cwd/.ai-agent.json', 'the shell']);
  expect(problems).toHaveLength(1);
});

test('maps have no prototype, so only configured names are found', async () => {
  const { layers } = await world({ 'cwd/.ai-agent.json': { env: { A: '1' }, ...server('x') } }).read({
    env: { B: '2' },
  });
  for (const layer of layers)
    for (const map of [layer.providers, layer.servers, layer.defaults, layer.env, layer.sidecar])
      expect(Object.getPrototypeOf(map)).toBeNull();
});

test('every section of a file is read', async () => {
  const { layers, problems } = await world({
    'cwd/.ai-agent.json': {
      $schema: 'https://example.test/schema.json',
      providers: {
        openai: { apiKey: '${KEY}', api: 'chat' },
        mine: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:1/v1', headers: { 'X-A': '$${A} ${A:-b}' } },
        play: { type: 'rehearsal', script: './play.yaml', models: { m: { price: { input: 1, output: 2 } } } },
      },
      defaults: { models: ['mine/m'], limits: { maxRetries: 1 } },
      agents: ['./agents'],
      env: { REGION: 'eu' },
      plain: ['REGION'],
    },
  }).read();
  expect(problems).toEqual([]);
  expect(layers[0]).toMatchObject({
    providers: {
      openai: { type: 'openai', apiKey: '${KEY}', api: 'chat' },
      mine: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:1/v1', headers: { 'X-A': '$${A} ${A:-b}' } },
      play: { type: 'rehearsal', script: './play.yaml', models: { m: { price: { input: 1, output: 2 } } } },
    },
    defaults: { models: ['mine/m'], limits: { maxRetries: 1 } },
    agents: ['./agents'],
    env: { REGION: 'eu' },
    plain: ['REGION'],
  });
});

test.each([
  ['command means stdio', { command: 'run', args: ['a'] }, { type: 'stdio', command: 'run', args: ['a'] }],
  ['url means http', { url: 'https://a.test' }, { type: 'http', url: 'https://a.test' }],
  ['a socket address means websocket', { url: 'wss://a.test' }, { type: 'websocket', url: 'wss://a.test' }],
  ['module means module', { module: './x.ts' }, { type: 'module', module: './x.ts' }],
  [
    'streamable-http is http',
    { type: 'streamable-http', url: 'https://a.test' },
    { type: 'http', url: 'https://a.test' },
  ],
  ['ws is websocket', { type: 'ws', url: '${URL}' }, { type: 'websocket', url: '${URL}' }],
  ['enabled: true has no effect', { command: 'run', enabled: true }, { type: 'stdio', command: 'run' }],
  ['enabled: false leaves it out, whatever else is set', { enabled: false, nonsense: 1 }, undefined],
])('servers as other programs write them: %s', async (_name, written, expected) => {
  const { layers, problems } = await world({ 'cwd/.ai-agent.json': { mcpServers: { it: written } } }).read();
  expect(problems).toEqual([]);
  expect(layers[0]!.servers['it']).toEqual(expected);
});

const json = (text: string) => ({ 'cwd/.ai-agent.json': text });
const secret = 'sk-must-not-be-shown';

/** Message, location, key and suggestion of each problem. */
const wrong: readonly (readonly [string, string, number | null, string | null, RegExp, string | null])[] = [
  ['not JSON', `{\n  "providers": ${secret}\n}`, 2, null, /Not valid JSON/u, null],
  ['an extra comma', `{\n  "env": {\n    "A": "${secret}",\n  }\n}`, 4, null, /Trailing comma/u, null],
  ['a comment', `{\n  // ${secret}\n}`, 2, null, /Comments/u, null],
  ['an unterminated string', `{\n  "env": { "A": "${secret}\n } }`, 2, null, /not closed/u, null],
  ['a truncated file', `{"env": {"A": "${secret}"`, 1, null, /comma or `\}`/u, null],
  ['an empty file', '', 1, null, /ends unexpectedly/u, null],
  ['a duplicate key', `{\n"env": {},\n"env": {"A": "${secret}"}}`, 3, null, /Duplicate key `env`/u, null],
  ['__proto__', `{\n"__proto__": {"A": "${secret}"}}`, 2, null, /`__proto__` cannot be a key/u, null],
  ['values nested too deeply', '['.repeat(200_000), 1, null, /nested more than 64/u, null],
  ['a list', `["${secret}"]`, 1, null, /Expected an object/u, null],
  [
    'an unknown key',
    `{\n\n  "mcpservers": {}\n}`,
    3,
    'mcpservers',
    /Unknown key; expected providers, mcpServers/u,
    'mcpServers',
  ],
  ['providers as a list', `{"providers": ["${secret}"]}`, 1, 'providers', /Expected an object/u, null],
  ['null for providers', `{"providers": null}`, 1, 'providers', /Expected an object/u, null],
  ['a provider that is a string', `{"providers": {\n"a": "${secret}"}}`, 2, 'providers.a', /Expected an object/u, null],
  [
    'an unknown type',
    `{"providers": {"a": {\n"type": "opnai"}}}`,
    2,
    'providers.a.type',
    /Expected openai, /u,
    'openai',
  ],
  ['no type', `{"providers": {\n"a": {"apiKey": "${secret}"}}}`, 2, 'providers.a', /Expected a `type`/u, null],
  [
    'an unknown key of a provider',
    `{"providers": {"openai": {\n"apikey": "${secret}"}}}`,
    2,
    'providers.openai.apikey',
    /expected type, /u,
    'apiKey',
  ],
  [
    'a key of another type',
    `{"providers": {"google": {\n"api": "chat"}}}`,
    2,
    'providers.google.api',
    /Unknown key/u,
    null,
  ],
  [
    'no base URL',
    `{"providers": {\n"a": {"type": "openai-compatible"}}}`,
    2,
    'providers.a.baseUrl',
    /Missing; expected a string/u,
    null,
  ],
  [
    'an invalid base URL',
    `{"providers": {"openai": {\n"baseUrl": "${secret}"}}}`,
    2,
    'providers.openai.baseUrl',
    /http:\/\/ or https:/u,
    null,
  ],
  [
    'a key that is a number',
    `{"providers": {"openai": {\n"apiKey": 123456789}}}`,
    2,
    'providers.openai.apiKey',
    /a string/u,
    null,
  ],
  [
    'a broken placeholder',
    `{"providers": {"openai": {\n"apiKey": "\${${secret}}"}}}`,
    2,
    'providers.openai.apiKey',
    /\$\{VAR\}/u,
    null,
  ],
  [
    'a negative price',
    '{"providers": {"openai": {"models": {"m": {\n"price": {"input": -1, "output": 1}}}}}}',
    2,
    'providers.openai.models.m.price.input',
    /a number, 0 or more/u,
    null,
  ],
  [
    'an unknown key deep down',
    '{"providers": {"openai": {"models": {"m": {\n"contextToken": 1}}}}}',
    2,
    'providers.openai.models.m.contextToken',
    /expected price, /u,
    'contextTokens',
  ],
  ['a provider’s name', '{"providers": {\n"a/b": {"type": "openai"}}}', 2, 'providers.a/b', /letters, digits/u, null],
  ['a server’s name', '{"mcpServers": {\n"a.b": {"command": "x"}}}', 2, 'mcpServers.a.b', /letters, digits/u, null],
  [
    'a server without a kind',
    '{"mcpServers": {\n"a": {"args": []}}}',
    2,
    'mcpServers.a',
    /`command`, `url` and `module`/u,
    null,
  ],
  [
    'a server of two kinds',
    `{"mcpServers": {\n"a": {"command": "x", "url": "https://${secret}"}}}`,
    2,
    'mcpServers.a',
    /Expected one of/u,
    null,
  ],
  [
    'a server’s wrong type',
    '{"mcpServers": {"a": {\n"type": "stdoi", "command": "x"}}}',
    2,
    'mcpServers.a.type',
    /Expected stdio, http/u,
    'stdio',
  ],
  [
    'an unknown key of a server',
    '{"mcpServers": {"a": {"command": "x",\n"enable": false}}}',
    2,
    'mcpServers.a.enable',
    /expected type, command/u,
    'enabled',
  ],
  [
    'args that are a string',
    `{"mcpServers": {"a": {"command": "x",\n"args": "${secret}"}}}`,
    2,
    'mcpServers.a.args',
    /Expected a list/u,
    null,
  ],
  [
    'an argument that is a number',
    '{"mcpServers": {"a": {"command": "x", "args": ["a",\n1]}}}',
    2,
    'mcpServers.a.args[1]',
    /a string/u,
    null,
  ],
  [
    'a variable in a command',
    '{"mcpServers": {"a": {\n"command": "${SHELL}"}}}',
    2,
    'mcpServers.a.command',
    /not expanded here/u,
    null,
  ],
  [
    'a header of two lines',
    `{"mcpServers": {"a": {"url": "https://a.test", "headers": {\n"X": "a\\n${secret}"}}}}`,
    2,
    'mcpServers.a.headers.X',
    /a single line/u,
    null,
  ],
  [
    'a header without a name',
    `{"mcpServers": {"a": {"url": "https://a.test", "headers": {\n"a b": "${secret}"}}}}`,
    2,
    'mcpServers.a.headers.a b',
    /valid header name/u,
    null,
  ],
  ['a variable in the env block', `{"env": {\n"A": "\${${secret}}"}}`, 2, 'env.A', /not expanded here/u, null],
  ['an invalid variable name', `{"env": {\n"A-B": "${secret}"}}`, 2, 'env.A-B', /a variable name/u, null],
  ['agents that are a string', `{\n"agents": "${secret}"}`, 2, 'agents', /Expected a list/u, null],
  ['defaults that are a list', '{\n"defaults": []}', 2, 'defaults', /Expected an object/u, null],
];

test.each(wrong)(
  'problems name file, line and key, but no value: %s',
  async (_name, text, line, key, message, nearest) => {
    const { problems } = await world(json(text)).read();
    expect(problems).toEqual([
      { file: 'cwd/.ai-agent.json', line, key, message: expect.stringMatching(message), nearest },
    ]);
    expect(problems[0]!.message).toMatch(/^[A-Z`].*\.$/u);
    expect(JSON.stringify(problems)).not.toContain(secret);
  },
);

test('problems of all files come in one report, and valid settings are kept', async () => {
  const { layers, problems } = await world({
    'cwd/.ai-agent.json': {
      provider: {},
      mcpServers: { good: { command: 'x' }, bad: { comand: 'x', url: 1 } },
      agents: [1],
    },
    'cwd/.ai-agent.env': 'GOOD=1\nnonsense',
    'etc/.ai-agent.json': '{',
  }).read();
  expect(problems.map(({ file, line, key }) => `${file}:${line}:${key}`)).toEqual([
    'cwd/.ai-agent.json:2:provider',
    'cwd/.ai-agent.json:8:mcpServers.bad.comand',
    'cwd/.ai-agent.json:9:mcpServers.bad.url',
    'cwd/.ai-agent.json:13:agents[0]',
    'cwd/.ai-agent.env:2:null',
    'etc/.ai-agent.json:1:null',
  ]);
  expect(Object.keys(layers[0]!.servers)).toEqual(['good']);
  expect(layers[0]!.sidecar['GOOD']).toBe('1');
});

test('the default agent’s name follows the rules for agent names', async () => {
  const named = await world({ 'cwd/.ai-agent.json': { defaultAgent: 'lead' } }).read();
  expect(named).toMatchObject({ layers: [{ defaultAgent: 'lead' }, {}], problems: [] });
  for (const given of [5, '', './lead.ai', 'a b', ['lead']]) {
    const { layers, problems } = await world({ 'cwd/.ai-agent.json': { defaultAgent: given } }).read();
    expect(problems).toMatchObject([{ file: 'cwd/.ai-agent.json', line: 2, key: 'defaultAgent' }]);
    expect(layers[0]).not.toHaveProperty('defaultAgent');
  }
  const { problems } = await world({ 'cwd/.ai-agent.json': { defaultAgnet: 'lead' } }).read();
  expect(problems).toMatchObject([{ nearest: 'defaultAgent' }]);
});

test('a file named by --config must exist', async () => {
  const { problems } = await world().read({ explicit: './none.json' });
  expect(problems).toEqual([
    {
      file: 'cwd/none.json',
      line: null,
      key: null,
      message: expect.stringMatching(/does not exist.*--config/u),
      nearest: null,
    },
  ]);
});

test('each kind of unreadable config file has its own error', async () => {
  const large = world(json(' '.repeat(1_000_001)));
  expect((await large.read()).problems[0]!.message).toMatch(/larger than the limit of 1000000 bytes/u);
  const binary = world({ 'cwd/.ai-agent.json': new Uint8Array([0x7b, 0xff, 0x7d]) });
  expect((await binary.read()).problems[0]!.message).toMatch(/not valid UTF-8/u);
  const folder = world();
  mkdirSync(join(folder.base, 'cwd/.ai-agent.json'));
  expect((await folder.read()).problems[0]!.message).toMatch(/Not a regular file/u);
  const pipe = world();
  execFileSync('mkfifo', [join(pipe.base, 'cwd/.ai-agent.env')]);
  expect((await pipe.read()).problems).toMatchObject([
    { file: 'cwd/.ai-agent.env', message: expect.stringMatching(/Not a regular file/u) },
  ]);
  const loop = world();
  symlinkSync(join(loop.base, 'cwd/.ai-agent.json'), join(loop.base, 'cwd/.ai-agent.json'));
  expect((await loop.read()).problems[0]!.message).toMatch(/cannot be read \(ELOOP\)/u);
});

test.skipIf(process.getuid?.() === 0)('a file without read permission is reported', async () => {
  const { base, read } = world(json('{}'));
  chmodSync(join(base, 'cwd/.ai-agent.json'), 0o000);
  expect((await read()).problems[0]!.message).toMatch(/cannot be read \(EACCES\)/u);
});

test('a file of exactly the maximum size, with a byte order mark, is read', async () => {
  const text = `\uFEFF{"plain": ["A"]}`;
  const { layers, problems } = await world(json(text + ' '.repeat(1_000_000 - Buffer.byteLength(text)))).read();
  expect(problems).toEqual([]);
  expect(layers[0]!.plain).toEqual(['A']);
});

test('only what the engine accepts as JSON is accepted, with the same meaning', async () => {
  const spoilt = fc.tuple(
    fc.nat(),
    fc.constantFrom('', '"', '\\', ',', '{', ']', ':', '0', '-', 'e', '\t', '\n', '\\u00', 'tru'),
  );
  const value = fc.jsonValue({ maxDepth: 4 }).filter((one) => !JSON.stringify(one).includes('__proto__'));
  const { base, read } = world();
  await fc.assert(
    fc.asyncProperty(value, fc.constantFrom(undefined, 1, '\t'), fc.option(spoilt), async (content, indent, spoil) => {
      const good = JSON.stringify({ defaults: { content } }, null, indent);
      const at = spoil === null ? 0 : spoil[0] % good.length;
      const text = spoil === null ? good : good.slice(0, at) + spoil[1] + good.slice(at + 1);
      writeFileSync(join(base, 'cwd/.ai-agent.json'), text);
      const { layers, problems } = await read();
      // Refused here, although the engine accepts them.
      fc.pre(!problems.some(({ message }) => /given twice|__proto__/u.test(message)));
      const [expected] = parsed(text);
      expect(problems.some(({ message }) => message.startsWith('Not valid JSON'))).toBe(expected === undefined);
      if (spoil === null) expect(JSON.stringify(layers[0]!.defaults['content'])).toBe(JSON.stringify(content));
    }),
    { numRuns: 500 },
  );
});

const parsed = (text: string): readonly unknown[] => {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
};
