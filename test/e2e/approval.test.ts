// The example `approval`, with real processes: one asks, is killed while it waits, and another one answers.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, test } from 'vitest';
import { cloister, cloisterJson, command, newFolder, nodeNoise, repo, start, value } from './driver.ts';
import type { StartedProcess } from './driver.ts';

const desk = join(repo, 'examples/approval/desk.ai');
const run = ['run', desk, 'Tell Anna that her bike is ready.'];

/** `script` of util-linux gives the command a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false;
const why = hasScript ? '' : ' (skipped: there is no `script` of util-linux here)';

type OnTerminal = StartedProcess & {
  /** Kills the command itself, as a power cut would. */
  killCommand(): void;
};

const onTerminal = (args: readonly string[], cwd: string): OnTerminal => {
  const words = [process.execPath, command, ...args].map((word) => `'${word}'`).join(' ');
  const line = `stty cols 80 rows 24; echo $$ > pid; exec ${words}`;
  const started = start('script', ['-qefc', line, '/dev/null'], { cwd, env: { TERM: 'xterm' } });
  return { ...started, killCommand: () => process.kill(Number(readFileSync(join(cwd, 'pid'), 'utf8')), 'SIGKILL') };
};

const asked = /a, r, d, e or l> /u;

const mailsIn = (cwd: string): readonly string[] =>
  existsSync(join(cwd, 'outbox.txt')) ? readFileSync(join(cwd, 'outbox.txt'), 'utf8').match(/^To: .*$/gmu)! : [];

const sentOnce = ['To: anna@example.com'];

/** The one question that waits, as the other terminal sees it. */
const findQuestion = async (cwd: string): Promise<{ readonly id: string; readonly sha256: string }> => {
  const [question] = await cloisterJson(['questions'], { cwd });
  expect(question).toMatchObject({ path: ['desk', 'office', 'mailer'], tool: 'mail__send', state: 'open' });
  return question;
};

/** The official client, which starts the server itself, and shows its forms to a person. */
const onStdio = async (cwd: string, answers: (form: any) => Promise<any>): Promise<Client> => {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => answers(params));
  const args = [command, 'serve', '--agent', desk, '--stdio-mcp'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, stderr: 'ignore' }));
  return client;
};

const goal = { name: 'desk', arguments: { prompt: 'Tell Anna that her bike is ready.', format: 'text' } };

describe.concurrent('the example approval', () => {
  test('asks the person in front of an MCP client that has started it', async () => {
    const cwd = newFolder();
    const forms: string[] = [];
    const client = await onStdio(cwd, async ({ message }) => {
      forms.push(message);
      expect(mailsIn(cwd)).toEqual([]);
      return { action: 'accept', content: { allow: true } };
    });
    const { content } = await client.callTool(goal);
    await client.close();
    expect(forms).toEqual([expect.stringMatching(/^mailer wants to call mail__send with \{"to":"anna@example\.com"/u)]);
    expect(JSON.stringify(content)).toContain('The office says: Sent to anna@example.com.');
    expect(mailsIn(cwd)).toEqual(sentOnce);
    expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true });
  });

  test('waits on disk if the MCP client ends while it shows the form, and is answered from a terminal', async () => {
    const cwd = newFolder();
    const shown = Promise.withResolvers<void>();
    const client = await onStdio(cwd, () => {
      shown.resolve();
      return new Promise(() => undefined);
    });
    // The person never decides, so the call never ends.
    void client.callTool(goal).catch(() => undefined);
    await shown.promise;
    await client.close();
    expect(mailsIn(cwd)).toEqual([]);
    const { id, sha256 } = await findQuestion(cwd);
    const answer = await cloister(['answer', id, 'allow', '--sha256', sha256], { cwd });
    expect(answer).toMatchObject({ code: 0, stdout: 'The office says: Sent to anna@example.com.\n' });
    expect(mailsIn(cwd)).toEqual(sentOnce);
  });

  test.skipIf(!hasScript)(`is killed while it asks, answered elsewhere, and sends the mail once${why}`, async () => {
    const cwd = newFolder();
    const { printed, killCommand, ended } = onTerminal(run, cwd);
    await printed(asked);
    killCommand();
    await ended;
    expect(mailsIn(cwd)).toEqual([]);
    const { id, sha256 } = await findQuestion(cwd);
    expect((await cloister(['runs'], { cwd })).stdout).toContain(`npx cloister questions ${id}`);
    const answer = await cloister(['answer', id, 'allow', '--sha256', sha256, '--by', 'anna'], { cwd });
    expect(answer).toMatchObject({ code: 0, stdout: 'The office says: Sent to anna@example.com.\n' });
    expect(answer.stderr).not.toMatch(nodeNoise);
    expect(mailsIn(cwd)).toEqual(sentOnce);
    expect(await cloister(['answer', id, 'deny'], { cwd })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('allowed by anna'),
    });
    expect(await cloisterJson(['audit', 'last'], { cwd })).toMatchObject({ ok: true });
    expect(mailsIn(cwd)).toEqual(sentOnce);
  });

  test.skipIf(!hasScript)(`asks at the terminal until another one has answered${why}`, async () => {
    const cwd = newFolder();
    const { printed, ended } = onTerminal(run, cwd);
    await printed(asked);
    const { id, sha256 } = await findQuestion(cwd);
    const answer = await cloister(['answer', id, 'allow', '--sha256', sha256, '--by', 'anna'], { cwd });
    expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining('The process that owns run') });
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stripVTControlCharacters(stdout)).toMatch(/no longer waits: allowed by anna\.[^]*The office says: Sent to/u);
    expect(mailsIn(cwd)).toEqual(sentOnce);
  });

  test.skipIf(!hasScript)(`takes what is typed after the question, and fits 80 columns${why}`, async () => {
    const cwd = newFolder();
    const { printed, write, ended } = onTerminal(run, cwd);
    // Typed before anything was asked.
    write('a\r');
    await printed(asked);
    expect(mailsIn(cwd)).toEqual([]);
    write('d Not before Monday\r');
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    const lines = stripVTControlCharacters(stdout).split(/[\r\n]+/u);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80);
    expect(lines).toContain('desk > office > mailer wants to call mail__send:');
    expect(mailsIn(cwd)).toEqual([]);
  });

  test.skipIf(!hasScript)(`is cancelled by Ctrl-C at the question${why}`, async () => {
    const cwd = newFolder();
    const { printed, write, ended } = onTerminal(run, cwd);
    await printed(asked);
    write('\u0003');
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout).toContain('stopping…');
    expect(stdout).not.toMatch(nodeNoise);
    expect(await cloisterJson(['questions'], { cwd })).toEqual([]);
  });

  test('is listed as stale while an agent two levels below the first one is not as it was', async () => {
    const cwd = newFolder();
    cpSync(join(repo, 'examples/approval'), cwd, { recursive: true });
    expect((await cloister(['run', 'desk.ai', 'Tell Anna that her bike is ready.', '--json'], { cwd })).code).toBe(6);
    const { id, sha256 } = await findQuestion(cwd);
    const file = join(cwd, 'mailer.ai');
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, `${before}\nBe friendly.\n`);
    expect(await cloisterJson(['questions'], { cwd })).toMatchObject([{ id, state: 'stale' }]);
    const { stdout } = await cloister(['questions', id], { cwd });
    expect(stdout).toMatch(/state +stale: the agents have changed, so no answer can/u);
    expect(stdout).not.toContain('cloister answer');
    const refused = await cloister(['answer', id, 'allow', '--sha256', sha256], { cwd });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('The definition of "mailer" has changed since the run started: prompt.');
    // Nobody can say what has changed in a file that is gone.
    rmSync(file);
    expect(await cloisterJson(['questions'], { cwd })).toMatchObject([{ id, state: 'open' }]);
    writeFileSync(file, before);
    await findQuestion(cwd);
    expect((await cloister(['answer', id, 'allow', '--sha256', sha256], { cwd })).code).toBe(0);
    expect(mailsIn(cwd)).toEqual(sentOnce);
  });

  test('without a terminal, is left with exit code 6, and continues with the answer', async () => {
    const cwd = newFolder();
    const left = await cloister([...run, '--json'], { cwd });
    expect(left.code).toBe(6);
    const { status, questions } = value(left);
    expect(status).toBe('waiting');
    const denied = await cloister(['answer', questions[0].id, 'deny', '--reason', 'Not before Monday'], { cwd });
    expect(denied.code).toBe(0);
    expect(mailsIn(cwd)).toEqual([]);
  });
});
