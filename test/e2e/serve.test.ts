// `cloister serve` as users run it: a real process, real clients, real signals.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { fileAppears, cloister, command, newFolder, pressUntil, repo, team } from './driver.ts';

const folder = async (): Promise<string> => {
  const cwd = newFolder();
  expect((await cloister(['init', '.'], { cwd })).code).toBe(0);
  return cwd;
};

type Line = { readonly type: string; readonly url?: string; readonly token?: string; readonly status?: unknown };

const serving = async (cwd: string, args: readonly string[] = ['--agent', 'lead.ai']) => {
  const child = spawn(process.execPath, [command, 'serve', '--http', '0', '--json', ...args], {
    cwd,
  });
  const lines: Line[] = [];
  const waiting = new Set<() => void>();
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    const whole = out.split('\n');
    out = whole.pop() ?? '';
    lines.push(...whole.map((line) => JSON.parse(line) as Line));
    for (const look of waiting) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const logLine = (type: string, count = 1): Promise<Line> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.filter((line) => line.type === type)[count - 1];
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      void ended.then((code) => reject(new Error(`It ended with ${code}: ${err}`)));
      look();
    });
  const { url = '', token = '' } = await logLine('serving');
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
  return { child, ended, told: logLine, lines, url, token, ask, stderr: () => err };
};

test('an agent is asked by its address; SIGTERM lets it finish, and the run is visible to the command line', async () => {
  const cwd = await folder();
  const { ask, child, ended, told: logLine } = await serving(cwd);
  const answering = ask('/v1/lead?q=Backups');
  const answer = (await (await answering).json()) as { run: string; status: string; output: string };
  expect(answer.status).toBe('completed');
  expect(await logLine('run')).toMatchObject({ status: 'completed', agent: 'lead' });
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  const shown = await cloister(['show', answer.run, '--json'], { cwd });
  expect(JSON.parse(shown.stdout)).toMatchObject({ run: answer.run, output: answer.output });
  expect((await cloister(['audit', answer.run], { cwd })).code).toBe(0);
});

test('tokens in a file are restricted to their agents; a problem in the file is reported with its line', async () => {
  const cwd = await folder();
  const made = JSON.parse((await cloister(['token', 'ci', '--json'], { cwd })).stdout) as {
    token: string;
    entry: object;
  };
  const file = join(cwd, 'tokens.json');
  writeFileSync(file, JSON.stringify({ tokens: [{ ...made.entry, requestsPerMinute: 2 }] }));
  const { url, child, ended } = await serving(cwd, ['--agent', 'lead.ai', '--token-file', 'tokens.json']);
  const ask = () => fetch(`${url}/v1`, { headers: { authorization: `Bearer ${made.token}` } });
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
  const third = await ask();
  expect([third.status, third.headers.get('retry-after')]).toEqual([429, '30']);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);

  writeFileSync(file, `{ "tokens": [\n { "name": "ci", "sha256": "x", "agent": [] }\n] }`);
  const refused = await cloister(['serve', '--agent', 'lead.ai', '--token-file', 'tokens.json'], { cwd });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/tokens\.json:2 tokens\[0\]\.sha256: Expected 64 hex digits/u);
  expect(refused.stderr).toMatch(/tokens\.json:2 tokens\[0\]\.agent: Unknown key.*Did you mean "agents"\?/u);
});

test('what has not ended when the time is up can be resumed', async () => {
  const cwd = newFolder();
  const { ask, child, ended, stderr } = await serving(cwd, ['--agent', team, '--grace', '0']);
  const started = (await (
    await ask('/v1/gated', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'Go.', wait: false }),
    })
  ).json()) as { run: string };
  await fileAppears(join(cwd, 'entered'));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(stderr()).toContain(`npx cloister resume ${started.run}`);
  writeFileSync(join(cwd, 'go'), '');
  const resumed = await cloister(['resume', started.run], { cwd });
  expect([resumed.code, resumed.stdout]).toEqual([0, 'Through the gate.\n']);
});

test('stopped immediately by a second signal, it still says how to resume what was cut off', async () => {
  const cwd = newFolder();
  const { ask, child, ended, stderr } = await serving(cwd, ['--agent', team]);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ input: 'Go.', wait: false });
  const { run } = (await (await ask('/v1/gated', { method: 'POST', headers, body })).json()) as { run: string };
  await fileAppears(join(cwd, 'entered'));
  child.kill('SIGINT');
  // Only what comes after this line is a second key press; notes may come before it.
  while (!stderr().includes('Ctrl-C again stops immediately')) await once(child.stderr, 'data');
  expect(await pressUntil(ended, () => child.kill('SIGINT'))).toBe(130);
  expect(stderr()).toContain(`npx cloister resume ${run}\n`);
  writeFileSync(join(cwd, 'go'), '');
  expect(await cloister(['resume', run], { cwd })).toMatchObject({ code: 0, stdout: 'Through the gate.\n' });
});

test('a long-lived agent whose server was killed is resumed by the next server, with its party and what nobody had taken', async () => {
  const cwd = newFolder();
  const { token, entry } = JSON.parse((await cloister(['token', 'ci', '--json'], { cwd })).stdout);
  writeFileSync(join(cwd, 'tokens.json'), JSON.stringify({ tokens: [entry] }));
  const agents = ['--agent', join(repo, 'examples/dungeon/game-master.ai'), '--token-file', 'tokens.json'];
  const serve = async () => {
    const { url, child, ended } = await serving(cwd, agents);
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
    return { child, ended, ask };
  };
  const killed = await serve();
  const post = async ({ ask }: Pick<typeof killed, 'ask'>, path: string, body: object) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const reply = await ask(path, init);
    return { status: reply.status, body: (await reply.json()) as any };
  };
  const begun = await post(killed, '/v1/game-master', { input: 'We go in.', resident: true, wait: true });
  expect(begun).toMatchObject({ status: 200, body: { status: 'completed' } });
  const path = `/v1/runs/${begun.body.run}`;
  await post(killed, `${path}/messages`, { text: 'We try the door.' });
  // It is in the log before the next request can be answered.
  while (!(await (await killed.ask(`${path}/messages`)).text()).includes('We try the door.')) await passed(5);
  killed.child.kill('SIGKILL');
  await killed.ended;

  const again = await serve();
  const liveAgents = async (): Promise<readonly any[]> => {
    const { agents: found = [] } = (await (await again.ask(`${path}/agents`)).json()) as { agents?: readonly any[] };
    return found;
  };
  while ((await liveAgents()).length < 4) await passed(5);
  expect((await post(again, `${path}/resume`, {})).status).toBe(409);
  const living = await liveAgents();
  expect(living.map(({ agent }) => agent)).toEqual(['game-master', 'fighter', 'wizard', 'rogue']);
  const answer = await post(again, `${path}/messages`, { text: 'We go on.', answer: true });
  expect(answer).toMatchObject({ status: 200, body: { status: 'completed' } });
  const { messages } = (await (await again.ask(`${path}/messages`)).json()) as { messages: readonly any[] };
  expect(messages.filter(({ by }) => by === 'person').map(({ text }) => text)).toEqual([
    'We go in.',
    'We try the door.',
    'We go on.',
  ]);
  // The answer to the second message is in nobody's hands.
  expect(messages.filter(({ by, delivered }) => by === 'agent' && !delivered).length).toBeGreaterThanOrEqual(1);
  const unread = messages.findLast(({ by, delivered }) => by === 'agent' && !delivered).message;
  await again.ask(`${path}/messages?after=${unread}`);
  const { messages: after } = (await (await again.ask(`${path}/messages`)).json()) as { messages: readonly any[] };
  expect(after.filter(({ by, delivered }) => by === 'agent' && !delivered)).toEqual([]);
  again.child.kill('SIGTERM');
  expect(await again.ended).toBe(0);
});

test('MCP on standard input: a common client lists the agent and calls it', async () => {
  const cwd = await folder();
  const client = new Client({ name: 'test', version: '1' });
  const args = [command, 'serve', '--agent', 'lead.ai', '--stdio-mcp'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, stderr: 'ignore' }));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['lead']);
  const { content } = await client.callTool({ name: 'lead', arguments: { prompt: 'Backups', format: 'text' } });
  expect(JSON.stringify(content)).toContain('Test the restore');
  await client.close();
});

test('a public address must be asked for; a name that is a route is refused; a port in use is named', async () => {
  const cwd = await folder();
  const exposed = await cloister(['serve', '--agent', 'lead.ai', '--host', '0.0.0.0'], { cwd });
  expect([exposed.code, exposed.stderr]).toEqual([1, expect.stringContaining('--expose')]);
  writeFileSync(join(cwd, 'models.ai'), '---\ndescription: Models.\nmodels: [rehearsal/x]\n---\nHello.');
  const named = await cloister(['serve', '--agent', 'models.ai', '--agent', 'lead.ai'], { cwd });
  expect(named.code).toBe(1);
  const { url, child, ended } = await serving(cwd);
  const taken = await cloister(['serve', '--agent', 'lead.ai', '--http', new URL(url).port], { cwd });
  expect([taken.code, taken.stderr]).toEqual([1, expect.stringMatching(/Cannot listen on this address.*EADDRINUSE/u)]);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});
