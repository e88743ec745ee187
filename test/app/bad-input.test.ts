// What people get wrong, and whether they are told what to do next.
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openCloister } from 'cloister';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CloisterError, errorCatalogue } from '#base';
import type { JsonObject } from '#base';
import { thrownBy } from '../core/session/driver.ts';
import { ai, check, ground, load, open, refusal, told } from './driver.ts';
import type { Files } from './driver.ts';

/** The one problem that these files have. */
const problemOf = async (files: Files, ...given: readonly string[]): Promise<string> => {
  const problems = told(await load(ground(files), ...(given.length === 0 ? ['lead.ai'] : given)));
  expect(problems).toHaveLength(1);
  return problems[0]!;
};

describe('a model', () => {
  test('whose key is missing: which variable, and where to define it', async () => {
    expect(await problemOf({ 'lead.ai': ai('models: openai/gpt-5') })).toBe(
      'lead.ai:5 models: Missing: OPENAI_API_KEY; define in shell or .ai-agent.env.',
    );
  });

  test('whose keys are all missing, in every file: all of them at once', async () => {
    const place = ground({
      'lead.ai': ai('models: [openai/gpt-5, anthropic/claude-sonnet-4-5]\nagents: helper'),
      'helper.ai': ai('models: google/gemini-2.5-flash'),
    });
    expect(told(await load(place, 'lead.ai')).toSorted()).toEqual([
      'helper.ai:5 models: Missing: GOOGLE_API_KEY; define in shell or .ai-agent.env.',
      'lead.ai:5 models: Missing: OPENAI_API_KEY, ANTHROPIC_API_KEY; define in shell or .ai-agent.env.',
    ]);
    const error = await refusal(place, ['lead.ai']);
    expect(error).toMatchObject({ code: 'env_missing', suggestion: expect.stringContaining('.ai-agent.env') });
    expect(error.message).toContain('Missing: GOOGLE_API_KEY');
    expect(error.message).toContain('Missing: OPENAI_API_KEY, ANTHROPIC_API_KEY');
  });

  test('whose key is empty is as good as missing one', async () => {
    const place = ground({ 'lead.ai': ai('models: openai/gpt-5'), '.ai-agent.env': 'OPENAI_API_KEY=\n' });
    expect(told(await load({ ...place, env: { OPENAI_API_KEY: '' } }, 'lead.ai'))[0]).toContain(
      'Missing: OPENAI_API_KEY',
    );
  });

  test('of an unknown provider: which there are, and which is near', async () => {
    const problem = await problemOf({ 'lead.ai': ai('models: antropic/claude-sonnet-4-5') });
    expect(problem).toMatch(
      /^lead\.ai:5 models: No provider "antropic" is configured: add it to `providers` in \.ai-agent\.json/u,
    );
    expect(problem).toMatch(/anthropic, google, ollama, openai, openrouter\. \(anthropic\?\)$/u);
  });

  test('of none at all: where to name one', async () => {
    const { cwd, env } = ground({ 'lead.ai': ai() });
    await using cloister = await openCloister({ store: 'memory', agents: ['lead.ai'], cwd, env });
    const error = thrownBy(() => cloister.run('lead', 'Go'));
    expect(error.message).toMatch(/The agent has no model\. Agent "lead"/u);
    expect(error.suggestion).toMatch(/Name one in `models` of the agent/u);
  });
});

describe('a provider', () => {
  const key = 'sk-this-is-the-secret-key-4711';

  /** A run of an agent whose model is at this address. */
  const ask = async (baseUrl: string, provider: JsonObject = { type: 'openai', apiKey: '${OPENAI_API_KEY}' }) => {
    const place = ground(
      {
        'lead.ai': ai('models: [mine/gpt-5]\nmaxRetries: 0'),
        '.ai-agent.json': { providers: { mine: { ...provider, baseUrl } } },
      },
      { env: { OPENAI_API_KEY: key } },
    );
    const { cloister } = await open(place, ['lead.ai']);
    const { outcome, run } = cloister.run('lead', 'Go');
    const { failure, status, output } = await outcome;
    const kept = JSON.stringify([await cloister.show(run), failure]);
    return { failure: failure!, status, output, kept };
  };

  /** Answers every request so, in OpenAI's words. */
  const answering = async (status: number, message: string, code: string): Promise<string> => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  };

  test('that refuses the key: an auth failure, its words without the key', async () => {
    const url = await answering(
      401,
      `Incorrect API key provided: ${key}. You can find yours elsewhere.`,
      'invalid_api_key',
    );
    const { failure, status, output, kept } = await ask(url);
    expect({ status, output }).toEqual({ status: 'failed', output: '' });
    expect(failure.code).toBe('model_auth');
    expect(failure.detail).toMatch(/^Incorrect API key provided/u);
    expect(errorCatalogue.model_auth.suggestion).toMatch(/Check the API key/u);
    expect(kept).not.toContain(key);
  });

  test('that has no such model: the name to check', async () => {
    const url = await answering(
      404,
      'The model `gpt-5` does not exist or you do not have access to it.',
      'model_not_found',
    );
    const { failure, status } = await ask(url);
    expect(status).toBe('failed');
    expect(failure).toMatchObject({ code: 'model_unknown', detail: expect.stringContaining('`gpt-5` does not exist') });
    expect(errorCatalogue.model_unknown.suggestion).toMatch(/Check the model name and the base URL/u);
  });

  test.each<[string, JsonObject]>([
    ['openai', { type: 'openai', apiKey: '${OPENAI_API_KEY}' }],
    ['a compatible one', { type: 'openai-compatible' }],
    ['anthropic', { type: 'anthropic', apiKey: '${OPENAI_API_KEY}' }],
  ])('at an address where nobody listens (%s): a network failure that says what to check', async (_, provider) => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const { failure, status, kept } = await ask(`http://127.0.0.1:${port}/v1`, provider);
    expect(status).toBe('failed');
    expect(failure.code).toBe('model_network');
    expect(errorCatalogue.model_network.suggestion).toMatch(/Check the network and the base URL/u);
    expect(kept).not.toContain(key);
  });

  test.each([
    ['no address', 'api.example', /baseUrl.*http:\/\/ or https:\/\//u],
    ['no address once it is filled in', '${OPENAI_API_KEY}', /providers\.mine\.baseUrl must be an address/u],
  ])('with %s is refused before anything is sent, and no value is shown', async (_, baseUrl, words) => {
    const error = await ask(baseUrl).catch((thrown: unknown) => thrown as CloisterError);
    expect(error).toBeInstanceOf(CloisterError);
    expect((error as CloisterError).message).toMatch(words);
    expect((error as CloisterError).message).not.toContain(key);
  });
});

describe('a tool server', () => {
  const server = (entry: JsonObject): Files => ({
    'lead.ai': ai('agents: helper'),
    'helper.ai': ai('tools: files'),
    '.ai-agent.json': { mcpServers: { files: entry } },
  });
  const absent = { command: 'no-such-program-here', args: ['--stdio'] };

  test('whose command is not there: asked to connect before anything runs, it says which, where it looked, and what to do', async () => {
    const place = ground(server(absent), { env: { PATH: '/nowhere:/bin' } });
    const report = await check(place, ['.'], { connect: true });
    expect(report.ok).toBe(false);
    expect(report.problems).toHaveLength(1);
    const { message, key } = report.problems[0]!;
    expect(key).toBe('tools');
    expect(message).toMatch(/command of a tool server was not found.*"files".*"no-such-program-here".*PATH/u);
    expect(message).toMatch(/Install it, or correct `command` in \.ai-agent\.json/u);
    const error = await refusal(place, ['lead.ai'], { preconnect: true });
    expect(error.message).toMatch(/"no-such-program-here".*Install it/u);
  });

  test('whose command is not there fails the agent that needs it; its caller is told class, summary and remedy', async () => {
    const place = ground(server(absent));
    const says = [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'helper', args: { prompt: 'Go' } }] } },
      { reply: '{{results}}' },
    ];
    const { cloister } = await open(place, ['lead.ai'], { says });
    const { outcome, run } = cloister.run('lead', 'Go');
    expect(await outcome).toMatchObject({ status: 'partial', missing: ['helper'] });
    expect((await outcome).output).toMatch(
      /\(status: failed\)\. Error \(config\): The command of a tool server was not found\. Install it, or correct `command`/u,
    );
    expect((await outcome).output).not.toContain('no-such-program');
    expect(await cloister.audit(run)).toMatchObject({ ok: true });
  });

  test('that cannot be reached: whom, and why', async () => {
    const place = ground(server({ url: 'http://127.0.0.1:9/mcp' }));
    const { problems } = await check(place, ['.'], { connect: true });
    expect(problems.map(({ message }) => message).join()).toMatch(
      /tool server could not be reached.*files.*Check that it runs/u,
    );
  });

  test('whose variable is missing: which', async () => {
    const [problem] = told(await load(ground(server({ command: 'x', env: { TOKEN: '${FILES_TOKEN}' } })), 'helper.ai'));
    expect(problem).toContain('Missing: FILES_TOKEN; define in shell or .ai-agent.env');
  });

  test('that a module should be, and is not: which file, and what it must export', async () => {
    const place = ground({ ...server({ module: './tools.mjs' }), 'tools.mjs': 'export default [{ name: "x" }];' });
    expect(told(await load(place, 'helper.ai'))[0]).toMatch(
      /mcpServers\.files: .*tools\.mjs must export a list of tools/u,
    );
    const gone = ground(server({ module: './gone.mjs' }));
    expect(told(await load(gone, 'helper.ai'))[0]).toMatch(/There is no file .*gone\.mjs/u);
  });
});

describe('a file', () => {
  test.each<[string, Files, RegExp]>([
    [
      'of 5 MB',
      { 'lead.ai': ai('', 'x'.repeat(5_000_000)) },
      /^lead\.ai: It has 5000\d+ bytes; an agent file may have 1000000\. Move data out/u,
    ],
    [
      'that is binary',
      { 'lead.ai': Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 0xff, 0xfe]) },
      /^lead\.ai: The file is not text: expected UTF-8/u,
    ],
    [
      'in another encoding',
      { 'lead.ai': Buffer.from(`\uFEFF${ai()}`, 'utf16le') },
      /^lead\.ai: The file is not text: expected UTF-8/u,
    ],
    ['that is empty', { 'lead.ai': '' }, /^lead\.ai:1: The frontmatter is missing: expected a line `---`/u],
    ['without frontmatter', { 'lead.ai': 'You are an agent.' }, /^lead\.ai:1: The frontmatter is missing/u],
    [
      'whose frontmatter has no end',
      { 'lead.ai': '---\ndescription: x\n' },
      /^lead\.ai:1: .*has no end: expected a line `---`/u,
    ],
  ])('%s', async (_, files, words) => {
    expect(await problemOf(files)).toMatch(words);
  });

  test('that cannot be read: why, and what to check', async () => {
    const place = ground();
    symlinkSync(place.path('lead.ai'), place.path('lead.ai'));
    symlinkSync(place.cwd, place.path('folder.ai'));
    symlinkSync(place.path('gone'), place.path('dangling.ai'));
    expect(told(await load(place, '.')).toSorted()).toEqual([
      expect.stringMatching(/^dangling\.ai: It cannot be read: ENOENT\. Check/u),
      expect.stringMatching(/^folder\.ai: It (?:cannot be read: EISDIR\. Check|is not a regular file)/u),
      expect.stringMatching(/^lead\.ai: It cannot be read: ELOOP\. Check/u),
    ]);
  });

  test('or folder that does not exist, and one that is no agent file', async () => {
    const place = ground({ 'notes.txt': 'x' });
    expect(told(await load(place, 'gone', 'gone.ai', 'notes.txt'))).toEqual([
      'gone: There is no such file or folder.',
      'gone.ai: There is no such file or folder.',
      'notes.txt: Expected an agent file (.ai), a team file (.yaml), a module (.ts, .js, .mjs), or a folder.',
    ]);
  });

  test.each([
    [
      'a schema that is text',
      'output: { format: json, schema: fast }',
      /^lead\.ai:4 output\.schema: Expected a JSON Schema, as a block of keys; got "fast"/u,
    ],
    [
      'a schema that refers to nothing',
      "output: { format: json, schema: { $ref: '#/$defs/x' } }",
      /^lead\.ai:4 output\.schema: This is not a JSON Schema: \/\$ref: there is no schema at/u,
    ],
    [
      'a schema of answers in text',
      'output: { format: text, schema: { type: object } }',
      /^lead\.ai:4 output\.schema: A schema goes with `format: json`/u,
    ],
  ])('with %s', async (_, output, words) => {
    expect(await problemOf({ 'lead.ai': ai().replace('output: { format: text }', output) })).toMatch(words);
  });

  test.each([
    [
      'a URL as a model',
      'models: https://api.example/v1',
      /^lead\.ai:5 models: .*looks like a URL.*\.ai-agent\.json of the operator/u,
    ],
    [
      'a command as a tool',
      'tools: npx -y some-server',
      /^lead\.ai:5 tools: .*looks like a command.*\.ai-agent\.json of the operator/u,
    ],
    ['a secret as a model', 'models: KEY=sk-swordfish/x', /^lead\.ai:5 models: .*looks like an environment value/u],
    ['a variable as an agent', 'agents: ${SECRET}', /^lead\.ai:5 agents: .*looks like an environment value/u],
    ['a URL as an agent', 'agents: https://evil.example/x.ai', /^lead\.ai:5 agents: .*looks like a URL/u],
    [
      'a command',
      'command: rm -rf /',
      /^lead\.ai:5 command: .*`command` belongs in the \.ai-agent\.json of the operator/u,
    ],
    [
      'servers',
      'mcpServers: { x: { command: sh } }',
      /^lead\.ai:5 mcpServers: .*belongs in the \.ai-agent\.json of the operator/u,
    ],
    [
      'an environment',
      'env: { KEY: swordfish }',
      /^lead\.ai:5 env: .*belongs in the \.ai-agent\.json of the operator/u,
    ],
    ['code', 'description2: !!js/function "() => 1"', /^lead\.ai:5: Tags are not allowed/u],
  ])('that brings along %s', async (_, keys, words) => {
    const problem = await problemOf({ 'lead.ai': ai(keys) });
    expect(problem).toMatch(words);
    expect(problem).not.toContain('swordfish');
  });
});

describe('agents that do not go together', () => {
  test('two with one name as tools: which name, and in which file', async () => {
    const problem = await problemOf({
      'lead.ai': ai('agents: [a, b]'),
      'a.ai': ai('toolName: find'),
      'b.ai': ai('toolName: find'),
    });
    expect(problem).toMatch(
      /^lead\.ai:5 agents: Agent "lead", tools: expected one tool per name; "find" is there twice/u,
    );
  });

  test.each([
    ['itself', { 'a.ai': ai('agents: a') }, 'a → a', 'a.ai:5'],
    ['each other', { 'a.ai': ai('agents: b'), 'b.ai': ai('agents: a') }, 'a → b → a', 'b.ai:5'],
    [
      'one that calls the first again',
      { 'a.ai': ai('agents: [x, b]'), 'b.ai': ai('agents: c'), 'c.ai': ai('tools: []\nagents: [x, a]'), 'x.ai': ai() },
      'a → b → c → a',
      'c.ai:6',
    ],
  ])('one that calls %s: the whole path, and what to do', async (_, files, path, where) => {
    const place = ground(files);
    const problems = told(await load(place, 'a.ai'));
    expect(problems).toEqual([
      `${where} agents: Agents may not call each other in a circle: ${path}. Take one of them out of \`agents\`.`,
    ]);
    expect((await check(place, ['a.ai'])).cycles.length).toBe(1);
  });
});

test('among 10,000 files, the one that is broken is found, and the others are fine', async () => {
  const files: Record<string, string> = {};
  for (let at = 0; at < 10_000; at++)
    files[`agents/a${at}.ai`] = ai(at % 10 === 0 && at > 0 ? `agents: a${at - 1}` : '');
  files['agents/a7777.ai'] = ai('tools: [read_file');
  const place = ground(files);
  const report = await check(place, ['agents']);
  expect(told(report)).toEqual([expect.stringMatching(/^agents\/a7777\.ai:\d: This is not YAML/u)]);
  expect(report.agents).toHaveLength(9_999);
  expect(report.ok).toBe(false);
});

test('--syntax-only looks each file over by itself: no keys, providers, servers, sub-agents or config', async () => {
  const place = ground({
    'lead.ai': ai('models: nobody/x\ntools: nowhere\nagents: nobody'),
    'wrong.ai': ai('tols: x'),
    '.ai-agent.json': '{ broken',
  });
  const report = await check(place, ['.'], { syntaxOnly: true });
  expect(told(report)).toEqual([expect.stringMatching(/^wrong\.ai:5 tols: /u)]);
  expect(report).toMatchObject({ ok: false, cycles: [], reach: {}, tree: [] });
});
