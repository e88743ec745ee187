// Common mistakes, and whether the error says what to do next.
import { once } from 'node:events';
import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openCloister } from 'cloister';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CloisterError, errorCatalogue } from '#base';
import type { JsonObject } from '#base';
import { thrownBy } from '../core/session/driver.ts';
import { ai, check, createFolders, load, open, openError, problemLines } from './driver.ts';
import type { Files } from './driver.ts';

/** The only problem of these files. */
const problemOf = async (files: Files, ...given: readonly string[]): Promise<string> => {
  const problems = problemLines(await load(createFolders(files), ...(given.length === 0 ? ['lead.ai'] : given)));
  expect(problems).toHaveLength(1);
  return problems[0]!;
};

describe('a model', () => {
  test('whose key is missing: which variable, and where to define it', async () => {
    expect(await problemOf({ 'lead.ai': ai('models: openai/gpt-5') })).toBe(
      'lead.ai:5 models: Missing: OPENAI_API_KEY; define in shell or .ai-agent.env.',
    );
  });

  test('whose keys are all missing, in every file: all of them in one report', async () => {
    const folders = createFolders({
      'lead.ai': ai('models: [openai/gpt-5, anthropic/claude-sonnet-4-5]\nagents: helper'),
      'helper.ai': ai('models: google/gemini-2.5-flash'),
    });
    expect(problemLines(await load(folders, 'lead.ai')).toSorted()).toEqual([
      'helper.ai:5 models: Missing: GOOGLE_API_KEY; define in shell or .ai-agent.env.',
      'lead.ai:5 models: Missing: OPENAI_API_KEY, ANTHROPIC_API_KEY; define in shell or .ai-agent.env.',
    ]);
    const { cwd, env } = folders;
    await using cloister = await openCloister({ store: 'memory', agents: ['lead.ai'], cwd, env });
    const error = thrownBy(() => cloister.run('lead', 'Go.'));
    expect(error).toMatchObject({ code: 'env_missing', suggestion: expect.stringContaining('.ai-agent.env') });
    expect(error.message).toContain('Missing: GOOGLE_API_KEY');
    expect(error.message).toContain('Missing: OPENAI_API_KEY, ANTHROPIC_API_KEY');
  });

  test('whose key is empty counts as missing', async () => {
    const folders = createFolders({ 'lead.ai': ai('models: openai/gpt-5'), '.ai-agent.env': 'OPENAI_API_KEY=\n' });
    expect(problemLines(await load({ ...folders, env: { OPENAI_API_KEY: '' } }, 'lead.ai'))[0]).toContain(
      'Missing: OPENAI_API_KEY',
    );
  });

  test('of an unknown provider: which providers exist, and which name is similar', async () => {
    const problem = await problemOf({ 'lead.ai': ai('models: antropic/claude-sonnet-4-5') });
    expect(problem).toMatch(
      /^lead\.ai:5 models: No provider "antropic" is configured\. Add it to `providers` in \.ai-agent\.json/u,
    );
    expect(problem).toMatch(/anthropic, google, ollama, openai, openrouter\. \(anthropic\?\)$/u);
  });

  test('that is not configured: where to name one', async () => {
    const { cwd, env } = createFolders({ 'lead.ai': ai() });
    await using cloister = await openCloister({ store: 'memory', agents: ['lead.ai'], cwd, env });
    const error = thrownBy(() => cloister.run('lead', 'Go'));
    expect(error.message).toMatch(/No model is configured for the agent\. Agent "lead"/u);
    expect(error.suggestion).toMatch(/Set `models` in the agent/u);
  });
});

describe('a provider', () => {
  const key = 'sk-this-is-the-secret-key-4711';

  /** A run of an agent whose model is at this address. */
  const ask = async (baseUrl: string, provider: JsonObject = { type: 'openai', apiKey: '${OPENAI_API_KEY}' }) => {
    const folders = createFolders(
      {
        'lead.ai': ai('models: [mine/gpt-5]\nmaxRetries: 0'),
        '.ai-agent.json': { providers: { mine: { ...provider, baseUrl } } },
      },
      { env: { OPENAI_API_KEY: key } },
    );
    const { cloister } = await open(folders, ['lead.ai']);
    const { outcome, run } = cloister.run('lead', 'Go');
    const { failure, status, output } = await outcome;
    const kept = JSON.stringify([await cloister.show(run), failure]);
    return { failure: failure!, status, output, kept };
  };

  /** Answers every request with this error, in OpenAI's format. */
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

  test('that refuses the key: an auth failure, with its message but without the key', async () => {
    const url = await answering(
      401,
      `Incorrect API key provided: ${key}. You can find yours elsewhere.`,
      'invalid_api_key',
    );
    const { failure, status, output, kept } = await ask(url);
    expect({ status, output }).toEqual({ status: 'failed', output: '' });
    expect(failure.code).toBe('model_auth');
    expect(failure.detail).toMatch(/^Incorrect API key provided/u);
    expect(errorCatalogue.model_auth.suggestion).toMatch(/Check that provider's API key/u);
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
  ])('at an address where nothing listens (%s): a network failure that says what to check', async (_, provider) => {
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
    ['an invalid address', 'api.example', /baseUrl.*http:\/\/ or https:\/\//u],
    ['an invalid address after substitution', '${OPENAI_API_KEY}', /providers\.mine\.baseUrl must be a URL/u],
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

  test('whose command does not exist: preconnecting reports which one, where it looked, and what to do', async () => {
    const folders = createFolders(server(absent), { env: { PATH: '/nowhere:/bin' } });
    const report = await check(folders, ['.'], { connect: true });
    expect(report.ok).toBe(false);
    expect(report.problems).toHaveLength(1);
    const { message, key } = report.problems[0]!;
    expect(key).toBe('tools');
    expect(message).toMatch(/tool server's command was not found.*"files".*"no-such-program-here".*PATH/u);
    expect(message).toMatch(/Install it, or fix `command` in \.ai-agent\.json/u);
    const error = await openError(folders, ['lead.ai'], { preconnect: true });
    expect(error.message).toMatch(/"no-such-program-here".*Install it/u);
  });

  test('whose command does not exist stops a run before anything is spent, at any depth', async () => {
    const error = await openError(createFolders(server(absent)), ['lead.ai']);
    expect(error.message).toMatch(/helper\.ai.*"no-such-program-here" was not found on its PATH.*Install it/u);
  });

  test('whose command goes away later fails the agent that needs it; its caller gets class, summary and remedy', async () => {
    const folders = createFolders({ 'gone-program': '#!/bin/sh' });
    const program = folders.path('gone-program');
    chmodSync(program, 0o755);
    folders.write(server({ command: program }));
    const says = [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'helper', args: { prompt: 'Go' } }] } },
      { reply: '{{results}}' },
    ];
    const { cloister } = await open(folders, ['lead.ai'], { says });
    rmSync(program);
    const { outcome, run } = cloister.run('lead', 'Go');
    expect(await outcome).toMatchObject({ status: 'partial', missing: ['helper'] });
    expect((await outcome).output).toMatch(
      /\(status: failed\)\. Error \(config\): The tool server's command was not found\. Install it, or fix `command`/u,
    );
    expect((await outcome).output).not.toContain('gone-program');
    expect(await cloister.audit(run)).toMatchObject({ ok: true });
  });

  test('that cannot be reached: which one, and why', async () => {
    const folders = createFolders(server({ url: 'http://127.0.0.1:9/mcp' }));
    const { problems } = await check(folders, ['.'], { connect: true });
    expect(problems.map(({ message }) => message).join()).toMatch(
      /tool server is unreachable or has exited.*files.*Check that it is running/u,
    );
  });

  test('whose variable is missing: which one', async () => {
    const [problem] = problemLines(
      await load(createFolders(server({ command: 'x', env: { TOKEN: '${FILES_TOKEN}' } })), 'helper.ai'),
    );
    expect(problem).toContain('Missing: FILES_TOKEN; define in shell or .ai-agent.env');
  });

  test('whose module exports the wrong thing: which file, and what it must export', async () => {
    const folders = createFolders({
      ...server({ module: './tools.mjs' }),
      'tools.mjs': 'export default [{ name: "x" }];',
    });
    expect(problemLines(await load(folders, 'helper.ai'))[0]).toMatch(
      /mcpServers\.files: .*tools\.mjs must export a list of tools/u,
    );
    const typed = createFolders({
      'lead.ai': ai('tools: files/peeek'),
      '.ai-agent.json': { mcpServers: { files: { module: './tools.mjs' } } },
      'tools.mjs': 'export default [{ name: "peek", description: "Peeks.", inputSchema: {}, execute: () => "" }];',
    });
    const { message } = await openError(typed, ['lead.ai']);
    expect(message).toContain(
      'files has no tool "peeek"; did you mean "peek"? `cloister check --connect` finds this too',
    );
    expect((await check(typed, ['.'])).problems).toEqual([]);
    expect((await check(typed, ['.'], { connect: true })).problems).not.toEqual([]);
    const gone = createFolders(server({ module: './gone.mjs' }));
    expect(problemLines(await load(gone, 'helper.ai'))[0]).toMatch(/No such file: .*gone\.mjs/u);
  });
});

describe('a file', () => {
  test.each<[string, Files, RegExp]>([
    [
      'of 5 MB',
      { 'lead.ai': ai('', 'x'.repeat(5_000_000)) },
      /^lead\.ai: The file has 5000\d+ bytes; the limit for agent files is 1000000\. Move data out/u,
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
    ['that is empty', { 'lead.ai': '' }, /^lead\.ai:1: The frontmatter is missing: expected a `---` line/u],
    ['without frontmatter', { 'lead.ai': 'You are an agent.' }, /^lead\.ai:1: The frontmatter is missing/u],
    [
      'whose frontmatter never ends',
      { 'lead.ai': '---\ndescription: x\n' },
      /^lead\.ai:1: .*is not closed: expected a `---` line/u,
    ],
  ])('%s', async (_, files, words) => {
    expect(await problemOf(files)).toMatch(words);
  });

  test('that cannot be read: why, and what to check', async () => {
    const folders = createFolders();
    symlinkSync(folders.path('lead.ai'), folders.path('lead.ai'));
    symlinkSync(folders.cwd, folders.path('folder.ai'));
    symlinkSync(folders.path('gone'), folders.path('dangling.ai'));
    expect(problemLines(await load(folders, '.')).toSorted()).toEqual([
      expect.stringMatching(/^dangling\.ai: The file cannot be read: ENOENT\. Check/u),
      expect.stringMatching(/^folder\.ai: (?:The file cannot be read: EISDIR\. Check|Not a regular file)/u),
      expect.stringMatching(/^lead\.ai: The file cannot be read: ELOOP\. Check/u),
    ]);
  });

  test('or folder that does not exist, and one that is not an agent file', async () => {
    const folders = createFolders({ 'notes.txt': 'x' });
    expect(problemLines(await load(folders, 'gone', 'gone.ai', 'notes.txt'))).toEqual([
      'gone: No such file or folder; check the path.',
      'gone.ai: No such file or folder; check the path.',
      'notes.txt: Expected an agent file (.ai, or .md of another runtime), a team file (.yaml), a module (.ts, .js, .mjs), or a folder.',
    ]);
  });

  test('that does not exist, beside one with a similar name: did you mean it', async () => {
    const folders = createFolders({ 'root.ai': ai(), 'team/crew.yaml': 'x', 'rot.txt': 'x' });
    expect(problemLines(await load(folders, 'rot.ai', 'team/crw.yaml'))).toEqual([
      'rot.ai: No such file or folder; check the path. (root.ai?)',
      'team/crw.yaml: No such file or folder; check the path. (crew.yaml?)',
    ]);
  });

  test.each([
    [
      'a schema that is a string',
      'output: { format: json, schema: fast }',
      /^lead\.ai:4 output\.schema: Expected a JSON Schema, as a block of keys; got "fast"/u,
    ],
    [
      'a schema that refers to nothing',
      "output: { format: json, schema: { $ref: '#/$defs/x' } }",
      /^lead\.ai:4 output\.schema: This schema cannot be used: \/\$ref: there is no schema at/u,
    ],
    [
      'a schema for answers as text',
      'output: { format: text, schema: { type: object } }',
      /^lead\.ai:4 output\.schema: A schema needs `format: json`/u,
    ],
  ])('with %s', async (_, output, words) => {
    expect(await problemOf({ 'lead.ai': ai().replace('output: { format: text }', output) })).toMatch(words);
  });

  test.each([
    [
      'a URL as a model',
      'models: https://api.example/v1',
      /^lead\.ai:5 models: .*looks like a URL.*operator.s \.ai-agent\.json/u,
    ],
    [
      'a command as a tool',
      'tools: npx -y some-server',
      /^lead\.ai:5 tools: .*looks like a command.*operator.s \.ai-agent\.json/u,
    ],
    ['a secret as a model', 'models: KEY=sk-swordfish/x', /^lead\.ai:5 models: .*looks like an environment value/u],
    ['a variable as an agent', 'agents: ${SECRET}', /^lead\.ai:5 agents: .*looks like an environment value/u],
    ['a URL as an agent', 'agents: https://evil.example/x.ai', /^lead\.ai:5 agents: .*looks like a URL/u],
    ['a command', 'command: rm -rf /', /^lead\.ai:5 command: .*`command` belongs in the operator.s \.ai-agent\.json/u],
    [
      'servers',
      'mcpServers: { x: { command: sh } }',
      /^lead\.ai:5 mcpServers: .*belongs in the operator.s \.ai-agent\.json/u,
    ],
    ['an environment', 'env: { KEY: swordfish }', /^lead\.ai:5 env: .*belongs in the operator.s \.ai-agent\.json/u],
    ['code', 'description2: !!js/function "() => 1"', /^lead\.ai:5: Tags are not allowed/u],
  ])('that brings along %s', async (_, keys, words) => {
    const problem = await problemOf({ 'lead.ai': ai(keys) });
    expect(problem).toMatch(words);
    expect(problem).not.toContain('swordfish');
  });
});

describe('agents that conflict', () => {
  test('two with the same tool name: which name, and in which file', async () => {
    const problem = await problemOf({
      'lead.ai': ai('agents: [a, b]'),
      'a.ai': ai('toolName: find'),
      'b.ai': ai('toolName: find'),
    });
    expect(problem).toMatch(
      /^lead\.ai:5 agents: Agent "lead", tools: expected unique tool names; "find" is used twice/u,
    );
  });

  test('two whose tool names are the same to models: how each writes it, and what to do', async () => {
    const problem = await problemOf({
      'lead.ai': ai('agents: [a, b]'),
      'a.ai': ai('toolName: find.facts'),
      'b.ai': ai('toolName: find_facts'),
    });
    expect(problem).toBe(
      'lead.ai:5 agents: Agent "lead", tools: expected unique tool names; "find_facts" is used twice. ' +
        'Models see it for "find.facts" of agent "a" and for "find_facts" of agent "b". ' +
        'Set another `toolName` in one of them.',
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
    const folders = createFolders(files);
    const problems = problemLines(await load(folders, 'a.ai'));
    expect(problems).toEqual([
      `${where} agents: Agents cannot call each other in a cycle: ${path}. Remove one of them from \`agents\`.`,
    ]);
    expect((await check(folders, ['a.ai'])).cycles.length).toBe(1);
  });
});

test('the one broken file among 10,000 is found, and the others are fine', async () => {
  const files: Record<string, string> = {};
  for (let at = 0; at < 10_000; at++)
    files[`agents/a${at}.ai`] = ai(at % 10 === 0 && at > 0 ? `agents: a${at - 1}` : '');
  files['agents/a7777.ai'] = ai('tools: [read_file');
  const folders = createFolders(files);
  const report = await check(folders, ['agents']);
  expect(problemLines(report)).toEqual([expect.stringMatching(/^agents\/a7777\.ai:\d: Not valid YAML/u)]);
  expect(report.agents).toHaveLength(9_999);
  expect(report.ok).toBe(false);
});

test('--syntax-only checks each file on its own: no keys, providers, servers, sub-agents or config', async () => {
  const folders = createFolders({
    'lead.ai': ai('models: nobody/x\ntools: nowhere\nagents: nobody'),
    'wrong.ai': ai('tols: x'),
    '.ai-agent.json': '{ broken',
  });
  const report = await check(folders, ['.'], { syntaxOnly: true });
  expect(problemLines(report)).toEqual([expect.stringMatching(/^wrong\.ai:5 tols: /u)]);
  expect(report).toMatchObject({ ok: false, cycles: [], reach: {}, tree: [] });
});
