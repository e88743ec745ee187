import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { mcpSource } from '#adapters/mcp';
import type { ResolvedServer } from '#contracts';
import { callText, eventually, failureOf, unabortedSignal } from '../../conformance/tool-source.ts';
import { stdioServer } from './peers.ts';
import { isAlive, membersOf } from './processes.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cloister-mcp-')));
afterAll(() => rmSync(folder, { recursive: true }));

type Stdio = Extract<ResolvedServer, { type: 'stdio' }>;

const hostile = (change: Partial<Stdio>): Stdio => ({ ...(stdioServer('hostile-stdio.ts') as Stdio), ...change });

const failureWith = async (change: Partial<Stdio>) =>
  (await failureOf(mcpSource(hostile(change)).list({ signal: unabortedSignal() }))).failure;

// invariant: mcp-process-group-dies
test('no server or child of a server outlives a killed process', async () => {
  const script = fileURLToPath(new URL('parent.ts', import.meta.url));
  const parent = spawn(process.execPath, ['--conditions=cloister-source', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const line = await new Promise<string>((told) => createInterface({ input: parent.stdout }).once('line', told));
  const family = JSON.parse(line) as number[];
  expect(family).toHaveLength(6);
  expect(family.every(isAlive)).toBe(true);
  parent.kill('SIGKILL');
  expect(await eventually(() => !family.some(isAlive))).toBe(true);
  expect(await eventually(() => membersOf(family[0]!) + membersOf(family[3]!) === 0)).toBe(true);
});

test.each([
  ['few', { A: '1', EMPTY: '', QUOTED: `a"b'c $HOME \`x\` \n two` }],
  ['those that shells set', { PWD: '/elsewhere', OLDPWD: '/before', SHLVL: '7', _: 'underscore' }],
])('a server has only the variables it is given: %s', async (_, env) => {
  vi.stubEnv('POISON', 'yes');
  vi.stubEnv('OPENAI_API_KEY', 'sk-poison');
  onTestFinished(() => void vi.unstubAllEnvs());
  const listed = await mcpSource(hostile({ env })).list({ signal: unabortedSignal() });
  onTestFinished(async () => listed.close?.());
  expect(JSON.parse(await callText(listed, 'environment'))).toEqual(env);
});

test('arguments and working folder reach a server unchanged', async () => {
  const script = join(folder, 'my server');
  writeFileSync(
    script,
    `#!${process.execPath}\nconsole.error(JSON.stringify([process.cwd(), ...process.argv.slice(2)]));process.exit(4)`,
  );
  chmodSync(script, 0o755);
  const args = ['', 'a b', '$HOME', '"; exit', "'", '-x', 'é\n', '*'];
  const { detail } = await failureWith({ command: './my server', args, cwd: folder });
  expect(detail).toBe(
    `Server "peer" exited with code 4. Its last output on stderr: ${JSON.stringify([folder, ...args])}`,
  );
});

test('a command is looked up in the PATH given to the server', async () => {
  const missing = await failureWith({ command: 'no-such-program', env: { PATH: '/nowhere:/bin' } });
  expect(missing).toEqual({
    code: 'server_missing',
    detail: 'Server "peer": the command "no-such-program" was not found on its PATH.',
  });
  expect((await failureWith({ command: 'node', env: {} })).detail).toContain('which is empty');
  expect((await failureWith({ command: '/no/such' })).detail).toContain('"/no/such" is not an executable file');
  writeFileSync(join(folder, 'text.txt'), 'not a program');
  expect((await failureWith({ command: './text.txt', cwd: folder })).code).toBe('server_missing');
  expect((await failureWith({ command: folder })).code).toBe('server_missing');
  writeFileSync(join(folder, 'lost'), '#!/no/such/interpreter\n');
  chmodSync(join(folder, 'lost'), 0o755);
  expect((await failureWith({ command: 'lost', env: { PATH: folder } })).code).toBe('server_missing');
});

test('an invalid folder or variable is named in the error', async () => {
  expect(await failureWith({ cwd: '/no/such/folder' })).toEqual({
    code: 'config_invalid',
    detail: 'mcpServers.peer.cwd: the folder /no/such/folder does not exist.',
  });
  expect((await failureWith({ env: { 'a-b': 'secret' } })).detail).toMatch(
    /^mcpServers\.peer\.env: "a-b" is not a valid variable name/u,
  );
  const withNul = await failureWith({ env: { A: 'secret\0' } });
  expect(withNul.code).toBe('server_failed');
  expect(withNul.detail).not.toContain('secret');
});
