// Values that code gives to one run: only that run uses them, only that run redacts them, and no log holds them.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as cloister from 'cloister';
import { expect, test } from 'vitest';
import { testRuns, testSeed } from '../test-seed.ts';
import { chatResponse, withFetch } from './fake-wire.ts';
import type { Sent } from './fake-wire.ts';
import { compareEnvs, watchRun } from './run-env-two-run.ts';
import { aiFile, temporaryFolder } from './temporary-folder.ts';

const again = testSeed();

// invariants: env-of-one-run, redactor-by-own-run
test('whatever another run of the same agents was given, a run sends, shows and records the same', async () => {
  const pairs = testRuns(30);
  const { difference, runs, sights } = await compareEnvs(cloister, { pairs, ...again });
  expect(difference).toBeNull();
  if (again.path === undefined) expect(runs).toBe(2 * pairs);
  // Four requests to models, one call of the server, and four readings of the log.
  expect(sights / runs).toBe(9);
});

test('the comparison sees the values of the run itself, in headers only', async () => {
  const one = { KEY: 'key-of-the-one-0123456789', REGION: 'region-of-the-one', TOKEN: 'token-of-the-one-0123456789' };
  const other = { KEY: 'key-of-another', REGION: 'region-of-another', TOKEN: 'token-of-another' };
  const guess = Object.values(one).join(' ');
  const seen = await watchRun(cloister, { one, other }, { hops: [0], otherFirst: true, guess });
  const models = seen.filter(({ sink }) => sink.startsWith('model'));
  expect(models).toHaveLength(4);
  for (const { bytes } of models) expect(bytes).toMatch(/^\["Bearer key-of-the-one-0123456789","region-of-the-one",/u);
  const [server] = seen.filter(({ sink }) => sink === 'server');
  expect(server!.bytes).toBe('["Bearer token-of-the-one-0123456789",null,""]');
  const recorded = seen.filter(({ sink }) => /^written: (?:outcome|transcript|events)/u.test(sink));
  expect(recorded).toHaveLength(3);
  // `lead` does not hold the token of its helper's server, which can be guessed: it is redacted in the helper only.
  const withoutToken = recorded.map(({ bytes }) => bytes.replaceAll(one.TOKEN, ''));
  for (const bytes of withoutToken) {
    expect(bytes).toContain('[redacted]');
    expect(bytes).not.toMatch(/-of-the-one/u);
  }
});

test('tool servers of concurrent runs are processes with the values of their own run', async () => {
  const script = fileURLToPath(new URL('recording-stdio-server.js', import.meta.url));
  const path = { PATH: '/usr/bin:/bin' };
  await using folder = await temporaryFolder({
    '.ai-agent.json': {
      providers: { my: { type: 'openai-compatible', baseUrl: 'http://x.invalid/v1' } },
      mcpServers: {
        recorder: {
          command: process.execPath,
          args: [script, './told', '', '--mine=${TOKEN}'],
          env: { TOKEN: '${TOKEN}' },
        },
      },
    },
    'lead.ai': aiFile({
      models: ['my/m'],
      tools: ['spawn_agent'],
      spawns: { agents: ['helper'], pool: { helper: 1 } },
    }),
    'helper.ai': aiFile({ models: ['my/m'], tools: ['recorder'] }),
  });
  const tokens = ['north', 'south', 'east'].map((name) => `token-of-${name}-q7Zr2Kx9Wm4Bv8Tn3`);
  const before = { ...process.env };
  const answer = ({ body }: Sent) => {
    if (body.includes('"role":"assistant"')) return chatResponse({ text: 'Done.' });
    const isLead = body.includes('spawn_agent');
    const name = isLead ? 'spawn_agent' : 'recorder__environment';
    const input = isLead ? '{"agent_id":"helper","initial_message":"Go."}' : '{}';
    return chatResponse({ calls: [{ id: 'call_0', name, input }] });
  };
  await withFetch(answer, async () => {
    await using opened = await cloister.openCloister({
      workspace: join(folder.path, 'kept'),
      agents: ['lead.ai'],
      cwd: folder.path,
      env: path,
    });
    const sessions = tokens.map((TOKEN) => opened.run('lead', `Go with ${tokens.join(' ')}.`, { env: { TOKEN } }));
    const outcomes = await Promise.all(sessions.map(({ outcome }) => outcome));
    expect(outcomes.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    for (const [index, { run }] of sessions.entries()) {
      const shown = JSON.stringify([await opened.transcript(run), await opened.show(run, { details: true })]);
      // The helper was shown its server's environment, and the goal names the tokens of all three.
      expect(/TOKEN\W+\[redacted\]/u.test(shown)).toBe(true);
      for (const [at, token] of tokens.entries()) expect(shown.includes(token), `${index} ${at}`).toBe(at !== index);
      expect(await opened.audit(run)).toMatchObject({ ok: true, problems: [] });
      expect(await opened.replay(run)).toMatchObject({ ok: true });
    }
  });
  expect({ ...process.env }).toEqual(before);
  const records = await Promise.all(
    (await readdir(join(folder.path, 'told'))).map(async (name) => readFile(join(folder.path, 'told', name), 'utf8')),
  );
  const processes = records.map((text) => JSON.parse(text.split('\n')[0]!) as { argv: string[]; env: object });
  // Some are kept ready and not used.
  expect(processes.length).toBeGreaterThanOrEqual(3);
  const used = processes.map(({ argv, env }) => ({ argv: argv.at(-1), env }));
  for (const token of tokens) expect(used).toContainEqual({ argv: `--mine=${token}`, env: { ...path, TOKEN: token } });
  for (const one of used) expect(tokens.map((token) => `--mine=${token}`)).toContain(one.argv);
});
