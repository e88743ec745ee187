// Third-party servers, as published on npm.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { mcpSource } from '#adapters/mcp';
import type { ListedTools, ResolvedServer } from '#contracts';
import { callText, callTool, failureOf, unabortedSignal, toolOf } from '../../conformance/tool-source.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cloister-mcp-')));
afterAll(() => rmSync(folder, { recursive: true }));

const scriptOf = (name: string): string =>
  join(dirname(createRequire(import.meta.url).resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js');

const stdio = (
  name: string,
  args: readonly string[] = [],
  more: Partial<Extract<ResolvedServer, { type: 'stdio' }>> = {},
): ResolvedServer => ({
  name,
  type: 'stdio',
  command: process.execPath,
  args: [scriptOf(`server-${name}`), ...args],
  env: {},
  cwd: folder,
  ...more,
});

const open = async (server: ResolvedServer): Promise<ListedTools> =>
  mcpSource(server).list({ signal: unabortedSignal() });

/** What the server `everything` answers to a few calls, over any transport. */
const askEverything = async (listed: ListedTools): Promise<readonly string[]> => {
  const stop = new AbortController();
  const long = failureOf(callTool(listed, 'trigger-long-running-operation', { duration: 100, steps: 1 }, stop.signal));
  const answers = [
    await callText(listed, 'echo', { message: 'hello' }),
    await callText(listed, 'get-sum', { a: 2, b: 3 }),
    (await failureOf(callTool(listed, 'get-sum', { a: 2, b: 'x' }))).code,
  ];
  stop.abort();
  return [...answers, (await long).code];
};

const everythingAnswers = ['Echo: hello', 'The sum of 2 and 3 is 5.', 'tool_failed', 'cancelled'];

describe('the "everything" server, over stdio', () => {
  let listed: ListedTools;
  beforeAll(async () => {
    vi.stubEnv('POISON', 'yes');
    const tools = [
      'echo',
      'get-sum',
      'get-env',
      'get-tiny-image',
      'get-structured-content',
      'get-resource-links',
      'get-resource-reference',
      'trigger-long-running-operation',
      'toggle-simulated-logging',
    ];
    listed = await open(stdio('everything', ['stdio'], { trusted: true, tools, env: { GIVEN: 'this' } }));
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await listed.close?.();
  });

  test('offers the tools named in the config, and its hints are used if it is trusted', () => {
    expect(listed.tools).toHaveLength(9);
    expect(toolOf(listed, 'echo').repeat).toBe('free');
    expect(toolOf(listed, 'toggle-simulated-logging').repeat).toBe('never');
  });

  test('answers', async () => {
    expect(await askEverything(listed)).toEqual(everythingAnswers);
  });

  // invariant: mcp-process-environment
  test('sees only the environment it was given', async () => {
    expect(JSON.parse(await callText(listed, 'get-env'))).toEqual({ GIVEN: 'this' });
  });

  test('returns images, links and resources, which are shown as notes', async () => {
    expect(await callText(listed, 'get-tiny-image')).toMatch(/\n\[image image\/png, [\d,]+ bytes: not shown\]\n/u);
    expect(await callText(listed, 'get-resource-links', { count: 1 })).toMatch(
      /\[resource .*demo:\/\/.*: not shown\]/u,
    );
    const [asText, asBlob] = ['Text', 'Blob'].map(async (resourceType) =>
      callText(listed, 'get-resource-reference', { resourceType, resourceId: 1 }),
    );
    expect(await asText).toContain('\nResource 1: This is a plaintext resource');
    expect(await asBlob).toMatch(/\n\[resource text\/plain, \d+ bytes: not shown\]\n/u);
  });

  test('returns structured content, which its text repeats', async () => {
    const answers = await callText(listed, 'get-structured-content', { location: 'Chicago' });
    expect(JSON.parse(answers)).toMatchObject({ humidity: 82 });
  });
});

test.each([
  ['streamableHttp', 'http', '/mcp'],
  ['sse', 'sse', '/sse'],
] as const)('the "everything" server answers over %s', async (mode, type, path) => {
  const port = await freePort();
  const child = spawn(process.execPath, [scriptOf('server-everything'), mode], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stderr });
  await new Promise<void>((ready) => lines.on('line', (line) => (line.includes('on port') ? ready() : undefined)));
  const server = { name: 'everything', type, url: `http://127.0.0.1:${port}${path}`, headers: {} };
  const listed = await open(server);
  expect(await askEverything(listed)).toEqual(everythingAnswers);
  await listed.close?.();
});

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

test('the "filesystem" server reads and writes inside its folder, but not outside', async () => {
  const listed = await open(stdio('filesystem', [folder]));
  onTestFinished(async () => listed.close?.());
  await callTool(listed, 'write_file', { path: join(folder, 'note.txt'), content: 'körper 🧵' });
  expect(readFileSync(join(folder, 'note.txt'), 'utf8')).toBe('körper 🧵');
  writeFileSync(join(folder, 'other.txt'), 'two');
  expect(await callText(listed, 'read_text_file', { path: join(folder, 'other.txt') })).toBe('two');
  const failure = await failureOf(callTool(listed, 'read_text_file', { path: '/etc/passwd' }));
  expect(failure.code).toBe('tool_failed');
  expect(failure.message).toContain('Access denied');
});

test('the "memory" server remembers what it is given', async () => {
  const listed = await open(stdio('memory', [], { env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } }));
  onTestFinished(async () => listed.close?.());
  const entities = [{ name: 'Cloister', entityType: 'project', observations: ['cells'] }];
  await callTool(listed, 'create_entities', { entities });
  expect(JSON.parse(await callText(listed, 'search_nodes', { query: 'cells' }))).toMatchObject({ entities });
});
