import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { openCloister } from 'cloister';
import { builtPackage } from '../e2e/built-command.ts';
import { listenLoopback } from './loopback.ts';
import { searchFiles, runSecrets } from './redaction-run.ts';
import { answerSecrets, secretFiles, secretGoal } from './redaction-scene.ts';
import { apiKey, secretsIn, token } from './secret-forms.ts';
import { aiFile, temporaryFolder } from './temporary-folder.ts';
import type { Files } from './temporary-folder.ts';

const bin = join(await builtPackage(fileURLToPath(new URL('../../', import.meta.url))), 'bin/cloister.js');

test('secrets that models, tools, servers and providers say are nowhere in the workspace, the events or the answers', async () => {
  const { searched, auditOk, events } = await runSecrets({ openCloister } as Parameters<typeof runSecrets>[0]);
  expect(searched.filter(({ found }) => found.length > 0)).toEqual([]);
  expect(auditOk).toBe(true);
  // The redaction marks and the kinds of places show that the secrets were said at all.
  const places = searched.map(({ place }) => place);
  expect(places).toEqual(
    expect.arrayContaining([
      'lead: live pieces of lead text-delta',
      'lead: live pieces of lead reasoning-delta',
      'lead: live pieces of shaped text-delta',
      'shaped: output',
      'explain refused',
      'open: cloister.db-wal',
      'closed: cloister.db',
      'open: records',
      'closed: records',
      'closed: runs/…/lead-…/outputs/notes.md',
      'closed: runs/…/lead-…/outputs/kit__long_002.txt',
      'closed: runs/…/lead-…/history/step_034.json',
      'closed: runs/…/child-…/outputs/plan.md',
    ]),
  );
  expect(events).toEqual(expect.arrayContaining(['session-start', 'model-end', 'tool-start', 'tool-end', 'crossing']));
});

// ---- the command line

const cli = async (cwd: string, args: readonly string[]): Promise<{ code: number; out: string; err: string }> =>
  new Promise((resolve) => {
    const { PATH = '', HOME = '' } = process.env;
    execFile(process.execPath, [bin, ...args], { cwd, env: { PATH, HOME }, maxBuffer: 1e8 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });

test('the command line shows and stores no form of a secret', async () => {
  await using model = await listenLoopback(answerSecrets);
  await using folder = await temporaryFolder(secretFiles(model.url));
  const printed = [
    await cli(folder.path, ['run', 'lead.ai', secretGoal, '--verbose']),
    await cli(folder.path, ['run', 'lead.ai', secretGoal, '--jsonl']),
    await cli(folder.path, ['show', 'last', '--json']),
    await cli(folder.path, ['explain', 'last', 'lead']),
  ];
  // Two children did not answer, so the runs are partial.
  expect(printed.map(({ code }) => code)).toEqual([5, 5, 0, 0]);
  for (const { out, err } of printed) {
    expect(secretsIn(out)).toEqual([]);
    expect(secretsIn(err)).toEqual([]);
  }
  expect(printed[0]!.out).toContain('At last [redacted] [redacted] and tøk"𝒳[redacted] [redacted]');
  expect((await searchFiles(join(folder.path, '.cloister'), 'closed')).flatMap(({ found }) => found)).toEqual([]);
});

test('an error outside any tool call is reported without the secrets in it', async () => {
  await using model = await listenLoopback(answerSecrets);
  await using folder = await temporaryFolder({
    ...secretFiles(model.url),
    'kit.mjs': strayTool,
    'lead.ai': aiFile({ models: ['stray/m'], tools: ['kit'], limits: { maxRetries: 0 } }),
    '.ai-agent.json': {
      providers: { stray: { type: 'openai-compatible', baseUrl: `${model.url}/stray`, apiKey: '${API_KEY}' } },
      mcpServers: { kit: { type: 'module', module: './kit.mjs' } },
    },
  });
  const { err } = await cli(folder.path, ['run', 'lead.ai', 'Go.']);
  expect(err).toContain('an error outside any tool call');
  expect(secretsIn(err)).toEqual([]);
});

/** Fails on its own while its call is still running. */
const strayTool = `export default [{
  name: 'stray', description: 'Strays.', inputSchema: { type: 'object' },
  execute: () => new Promise((resolve) => {
    setTimeout(() => { throw new Error(${JSON.stringify(apiKey)}); }, 1);
    setTimeout(() => resolve('Done.'), 50);
  }),
}];`;

// ---- what goes wrong before a run

/** The error when its one agent is loaded and run. */
const loadError = async (files: Files): Promise<string> => {
  await using folder = await temporaryFolder(files);
  try {
    await using cloister = await openCloister({ store: 'memory', agents: ['one.ai'], cwd: folder.path, env: {} });
    const { failure } = await cloister.run('one', 'Go.').outcome;
    return JSON.stringify(failure);
  } catch (error) {
    return error instanceof Error ? `${error.message}\n${error.stack}` : String(error);
  }
};

test('problems with a config or its variables are reported without their values', async () => {
  const sidecar = `API_KEY='${apiKey}'\nTOKEN='${token}'\n`;
  const provider = (given: object) => ({ providers: { my: { type: 'openai', ...given } } });
  const server = (web: object) => ({ ...provider({ apiKey: 'none-at-all' }), mcpServers: { web } });
  const configs: readonly object[] = [
    provider({ type: 'openai-compatible', baseUrl: '${API_KEY}' }),
    provider({ apiKey: '${TOKEN}' }),
    provider({ apiKey, baseUrl: apiKey }),
    provider({ type: token, apiKey: '${API_KEY}' }),
    provider({ apiKey: [apiKey], headers: { 'x-key': `${token}\n` } }),
    server({ type: 'http', url: '${TOKEN}' }),
    server({ type: 'http', url: 'http://127.0.0.1:9/${API_KEY}?token=${TOKEN}', headers: { 'x-key': '${API_KEY}' } }),
    server({ type: 'http', url: `ftp://${token}`, headers: { authorization: `${apiKey}\n` } }),
    server({ command: '/nowhere/${TOKEN}', args: ['${API_KEY}${'] }),
    server({ command: '/nowhere', args: ['${API_KEY}'], env: { TOKEN: '${TOKEN}' } }),
  ];
  for (const config of configs) {
    const agent = aiFile({ models: ['my/m'], tools: 'mcpServers' in config ? ['web'] : [] });
    const message = await loadError({ '.ai-agent.json': config, '.ai-agent.env': sidecar, 'one.ai': agent });
    expect(message).toMatch(/\bmy\b|\bweb\b/u);
    expect(secretsIn(message)).toEqual([]);
  }
  const broken = await loadError({
    '.ai-agent.env': `"${apiKey}\n=${token}\nAPI_KEY='${token}`,
    'one.ai': aiFile({}),
  });
  expect(broken).toContain('.ai-agent.env');
  expect(secretsIn(broken)).toEqual([]);
});

// ---- pieces of a secret that are joined only later

type Parts = readonly LanguageModelV4StreamPart[];
const secret = 'sk-live-q7Zr2Kx9Wm4Bv8Tn3';

const partsModel = (turns: readonly Parts[]): LanguageModelV4 => {
  let turn = 0;
  const usage = {
    inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 9, text: 9, reasoning: 0 },
  };
  return {
    specificationVersion: 'v4',
    provider: 'parts',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('every attempt streams')),
    doStream: async () => ({
      stream: ReadableStream.from<LanguageModelV4StreamPart>([
        { type: 'stream-start', warnings: [] },
        ...turns[Math.min(turn++, turns.length - 1)]!,
        { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
      ]),
    }),
  };
};

const begin = (id: string, type: 'text' | 'reasoning' = 'text') => ({ type: `${type}-start` as const, id });
const end = (id: string, type: 'text' | 'reasoning' = 'text') => ({ type: `${type}-end` as const, id });
const piece = (id: string, delta: string, type: 'text' | 'reasoning' = 'text') => ({
  type: `${type}-delta` as const,
  id,
  delta,
});
const block = (id: string, delta: string): Parts => [begin(id), piece(id, delta), end(id)];
const toolCall = (toolName: string, input: string): LanguageModelV4StreamPart => ({
  type: 'tool-call',
  toolCallId: toolName,
  toolName,
  input,
});

/** Everything a run with this model stores and outputs, and whether part of the secret is in it. */
const searchRun = async (
  agent: string,
  turns: readonly Parts[],
  least: number = secret.length,
): Promise<readonly string[]> => {
  await using folder = await temporaryFolder({
    '.ai-agent.json': {
      providers: { my: { type: 'openai', apiKey: '${KEY}' } },
      mcpServers: {
        kit: { type: 'module', module: './kit.mjs' },
        still: { command: '/bin/sh', args: ['-c', floodStderr], env: { KEY: '${KEY}' } },
      },
    },
    'kit.mjs': `export default [{ name: 'fail', description: 'Fails.', inputSchema: { type: 'object' }, execute: () => {
      throw new Error('x'.repeat(1985) + ${JSON.stringify(secret)});
    } }];`,
    'holder.ai': aiFile({ models: ['my/m'] }),
    'plain.ai': aiFile({ tools: ['write_file', 'kit'], agents: ['child'] }),
    'child.ai': aiFile({}),
    'shaped.ai': aiFile({ output: { format: 'json' } }),
    'still.ai': aiFile({ tools: ['still'] }),
  });
  await using work = await temporaryFolder();
  const cloister = await openCloister({
    workspace: work.path,
    agents: ['.'],
    cwd: folder.path,
    env: { KEY: secret, PATH: process.env['PATH'] },
    models: [partsModel(turns)],
  });
  const session = cloister.run(agent, 'Go.');
  const live = { 'text-delta': '', 'reasoning-delta': '' };
  for await (const event of session)
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') live[event.type] += event.text;
  const outcome = JSON.stringify(await session.outcome);
  await cloister.close();
  const { readdir, readFile } = await import('node:fs/promises');
  const entries = await readdir(work.path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(
    files.map(async (file) => [file.split('/').at(-1)!, await readFile(file, 'latin1')]),
  );
  const pieces = Array.from({ length: secret.length - least + 1 }, (_, at) => secret.slice(at, at + least));
  return [['live', Object.values(live).join('\n')], ['outcome', outcome], ...contents]
    .filter(([, content]) => pieces.some((part) => content!.includes(part)))
    .map(([name]) => name!);
};

/** The kept end of a process's output begins in the middle of the secret. */
const floodStderr = `printf %s "$KEY" >&2; head -c 1990 /dev/zero | tr '\\0' x >&2; exit 3`;
const half = 'sk-live-q7Zr';
const otherHalf = '2Kx9Wm4Bv8Tn3';
/** Valid JSON, but in a form that no encoder produces. */
const oddlyEscaped = `s\\u006b-live-q7Zr2Kx9Wm4Bv8Tn3`;

test('a secret that comes in two blocks of text is not reassembled in the answer', async () => {
  expect(await searchRun('plain', [[...block('a', `Key ${half}`), ...block('b', otherHalf)]])).toEqual([]);
});

test('a secret with reasoning in its middle is not streamed live', async () => {
  const thought = [begin('r', 'reasoning'), piece('r', 'hm', 'reasoning'), end('r', 'reasoning')];
  const parts = [begin('a'), piece('a', half), ...thought, piece('a', otherHalf), end('a')];
  expect(await searchRun('plain', [parts])).toEqual([]);
});

test('a secret that is partly escaped in arguments reaches no file and no other cell', async () => {
  const calls = [
    toolCall('write_file', `{"path":"a.txt","content":"${oddlyEscaped}"}`),
    toolCall('child', `{"prompt":"${oddlyEscaped}"}`),
  ];
  expect(await searchRun('plain', [calls, block('a', 'Done.')])).toEqual([]);
});

test('a secret that is partly escaped in a JSON answer is not in its data', async () => {
  expect(await searchRun('shaped', [block('a', `{"key":"${oddlyEscaped}"}`)])).toEqual([]);
});

test('no part of a secret is left where an error text is truncated', async () => {
  expect(await searchRun('plain', [[toolCall('kit__fail', '{}')], block('a', 'Done.')], 10)).toEqual([]);
});

test('no part of a secret is left where the last output of a server is truncated', async () => {
  expect(await searchRun('still', [block('a', 'Done.')], 10)).toEqual([]);
});
