// `cloister serve --slack` as users run it: a real process, Slack's own SDK, and the fake Slack.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FakeSlack, listenSlack } from '#testkit';
import { cloister, cloisterJson, newFolder, startCloister } from './driver.ts';

const tokens = { botToken: 'xoxb-Qw7Lz2Rk9Tn4Vb8Mc1Xe6Ys3', appToken: 'xapp-Hd5Fj8Gs2Kp7Lw4Zt9Vb1Nc6' };
const env = { SLACK_BOT_TOKEN: tokens.botToken, SLACK_APP_TOKEN: tokens.appToken };

const openFolder = async () => {
  const fake = new FakeSlack({ channels: ['C1'] });
  const wire = await listenSlack(fake, tokens);
  onTestFinished(() => wire.close());
  const cwd = newFolder();
  expect((await cloister(['init', '.'], { cwd })).code).toBe(0);
  const file = join(cwd, '.ai-agent.json');
  const slack = {
    botToken: '${SLACK_BOT_TOKEN}',
    appToken: '${SLACK_APP_TOKEN}',
    team: 'T1',
    apiUrl: wire.url,
    channels: { C1: { agent: 'lead' } },
  };
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), slack }));
  return { fake, wire, cwd };
};

test('a mention is answered by a run that the command line shows; SIGTERM ends the server', async () => {
  const { fake, cwd, wire } = await openFolder();
  const server = startCloister(['serve', '--agent', 'lead.ai', '--slack', '--http', '0'], { cwd, env });
  await expect.poll(() => wire.sockets, { timeout: 30_000 }).toBe(1);
  const asked = fake.mention('U1', 'C1', 'Backups');
  await expect.poll(() => fake.thread('C1', asked.ts).some(({ isByApp }) => isByApp), { timeout: 30_000 }).toBe(true);
  const ended = async (): Promise<unknown> =>
    ((await cloisterJson(['runs'], { cwd })) as { caller: string; state: string }[]).map(({ caller, state }) => [
      caller,
      state,
    ]);
  await expect.poll(ended, { timeout: 30_000, interval: 200 }).toEqual([['slack:T1/U1', 'ended']]);
  server.kill('SIGTERM');
  const { code, stdout, stderr } = await server.ended;
  expect([code, stdout]).toEqual([0, expect.stringContaining('Connected to the Slack workspace')]);
  for (const secret of Object.values(tokens)) expect(stdout + stderr).not.toContain(secret);
}, 120_000);

test('what is wrong is said before anything is served', async () => {
  const { cwd } = await openFolder();
  const serve = (more: Readonly<Record<string, string>>) =>
    cloister(['serve', '--agent', 'lead.ai', '--slack', '--http', '0'], { cwd, env: { ...env, ...more } });
  expect(await serve({ SLACK_APP_TOKEN: '' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Missing: SLACK_APP_TOKEN; define in shell or .ai-agent.env') as string,
  });
  const wrong = await serve({ SLACK_BOT_TOKEN: 'xoxb-Zz7Lz2Rk9Tn4Vb8Mc1Xe6Ys9' });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('Slack refuses `slack.botToken`') as string });
  expect(wrong.stderr).not.toContain('xoxb-Zz7');
  const manifest = await cloisterJson(['slack', 'manifest', '--name', 'Desk'], { cwd });
  expect(manifest).toMatchObject({ display_information: { name: 'Desk' }, settings: { socket_mode_enabled: true } });
  const check = await cloister(['check'], { cwd, env });
  expect(check.stdout).toContain('Slack app (Socket Mode; `cloister slack manifest` prints its settings)');
  expect(check.stdout).toContain('scopes  app_mentions:read, assistant:write');
}, 120_000);
