// Redaction must not say what another agent holds: a value that can be guessed is replaced only in the cells of the agent whose
// own overlay holds it.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openCloister, openServer, hashToken } from 'cloister';
import type { ScriptedReply } from 'cloister/testkit';
import { rehearse } from 'cloister/testkit';
import { checkAgents } from '../../src/app/agents/check-agents.ts';
import { systemLaunchEnvironment } from '../../src/app/system-world.ts';
import { chatResponse, withFetch } from './fake-wire.ts';
import type { ChatReply } from './fake-wire.ts';
import { aiFile, temporaryFolder } from './temporary-folder.ts';

const weak = 'Summer2026!';
const guesses = `Summer2025! ${weak} Winter2026!`;
const strong = 'sk-live-q7Zr2Kx9Wm4Bv8Tn3';

const files = {
  '.ai-agent.json': {
    providers: {
      house: {
        type: 'openai-compatible',
        baseUrl: 'http://ops.invalid/v1',
        apiKey: '${OPS_KEY}',
        headers: { 'x-password': '${OPS_PASSWORD}' },
      },
    },
    mcpServers: { kit: { type: 'module', module: './kit.mjs' } },
  },
  'kit.mjs': `export default [
    { name: 'say', description: 'Says it.', inputSchema: { type: 'object' }, repeat: 'free', execute: ({ text }) => text },
    { name: 'fail', description: 'Fails.', inputSchema: { type: 'object' }, repeat: 'free', execute: ({ text }) => { throw new Error(text); } },
  ];`,
  'ops.ai': aiFile({ models: ['house/m'], tools: ['kit'], agents: ['helper'] }),
  'helper.ai': aiFile({ tools: ['kit', 'write_file'] }),
};

type Scene = {
  /** The replies of `ops`, in order, and those of `helper`. */
  readonly ops?: readonly ChatReply[];
  readonly helper?: readonly ScriptedReply[];
  readonly password?: string;
  readonly workspace?: string;
};

const open = async (folder: string, { ops = [], helper = [], password = weak, workspace }: Scene) => {
  let turn = 0;
  const model = rehearse([...helper.map((reply) => ({ reply, times: 1 })), { reply: 'Done.' }]);
  const sent: string[] = [];
  const cloister = await openCloister({
    ...(workspace === undefined ? { store: 'memory' } : { workspace }),
    agents: ['.'],
    cwd: folder,
    env: { OPS_PASSWORD: password, OPS_KEY: strong },
    models: [model],
  });
  const during = <T>(work: () => Promise<T>): Promise<T> =>
    withFetch(({ body }) => {
      sent.push(body);
      return chatResponse(ops[turn++] ?? { text: 'Done.' });
    }, work);
  return { cloister, model, during, sent };
};

const call = (name: string, text: string) => ({ id: `call_${name}`, name, input: JSON.stringify({ text }) });

// invariant: redactor-by-own-agent
test('a cell is shown what its tools return, whatever another agent’s password is', async () => {
  await using folder = await temporaryFolder(files);
  const scene = await open(folder.path, {
    helper: [
      {
        calls: [
          { tool: 'kit__say', args: { text: guesses } },
          { tool: 'kit__fail', args: { text: guesses } },
        ],
      },
      { text: `It is ${guesses}.` },
    ],
  });
  await using cloister = scene.cloister;
  const { output } = await cloister.run('helper', `Which of ${guesses}?`).outcome;
  expect(output).toBe(`It is ${guesses}.`);
  const shown = JSON.stringify(scene.model.requests);
  expect(shown).not.toContain('[redacted]');
  // The goal and two results in each request, and the arguments of both calls.
  expect(shown.split(guesses).length).toBeGreaterThan(5);
});

test('a key that nobody can guess is replaced in every cell, and a weak value in those that hold it', async () => {
  await using folder = await temporaryFolder(files);
  const scene = await open(folder.path, {
    helper: [{ calls: [{ tool: 'kit__say', args: { text: `${strong} ${weak}` } }] }],
    ops: [{ calls: [call('kit__say', `${strong} ${guesses}`)] }, { text: `Found ${guesses}` }],
  });
  await using cloister = scene.cloister;
  await scene.during(async () => {
    await cloister.run('helper', `Use ${strong}.`).outcome;
    const { output } = await cloister.run('ops', `Use ${guesses}.`).outcome;
    expect(output).toBe('Found Summer2025! [redacted] Winter2026!');
  });
  const shown = JSON.stringify(scene.model.requests);
  expect(shown).toContain(`[redacted] ${weak}`);
  expect(shown).not.toContain(strong);
  const toOps = scene.sent.join('\n');
  expect(toOps).toContain('Use Summer2025! [redacted] Winter2026!.');
  expect(toOps).toContain('[redacted] Summer2025! [redacted] Winter2026!');
  expect(toOps).not.toContain(weak);
});

test('what crosses is what the sender recorded: nothing is replaced a second time', async () => {
  await using folder = await temporaryFolder(files);
  const scene = await open(folder.path, {
    ops: [{ calls: [{ id: 'c', name: 'helper', input: JSON.stringify({ prompt: `Try ${guesses}.` }) }] }],
    helper: [{ text: `I tried ${guesses}.` }],
  });
  await using cloister = scene.cloister;
  const session = await scene.during(async () => {
    const started = cloister.run('ops', 'Go.');
    await started.outcome;
    return started;
  });
  // The goal is as `ops` recorded it, and the result as `helper` did.
  expect(JSON.stringify(scene.model.requests)).toContain('Try Summer2025! [redacted] Winter2026!.');
  expect(scene.sent.at(-1)).toContain(`I tried ${guesses}.`);
  expect(await cloister.audit(session.run)).toMatchObject({ ok: true });
});

test('context, history, messages and the goal of a fork are judged by the agent that they are for', async () => {
  await using folder = await temporaryFolder(files);
  const scene = await open(folder.path, {});
  await using cloister = scene.cloister;
  await scene.during(async () => {
    const given = { context: [`Context ${weak}`], history: [{ by: 'person' as const, text: `Earlier ${weak}` }] };
    for (const agent of ['ops', 'helper']) await cloister.run(agent, 'Go.', given).outcome;
    const run = cloister.run('ops', 'Go.');
    const { cell } = await run.outcome.then(async () => (await cloister.show(run.run)).cells[0]!);
    await (
      await cloister.fork(run.run, { at: cell, goal: `Now ${weak}` })
    ).outcome;
    for (const agent of ['ops', 'helper']) {
      const resident = await cloister.spawn(agent);
      resident.send(`Message ${weak}`);
      resident.finish();
      await resident.outcome;
    }
  });
  const toOps = scene.sent.join('\n');
  const toHelper = JSON.stringify(scene.model.requests);
  expect(toOps).not.toContain(weak);
  for (const words of ['Context', 'Earlier', 'Now', 'Message']) expect(toOps).toContain(`${words} [redacted]`);
  for (const words of ['Context', 'Earlier', 'Message']) expect(toHelper).toContain(`${words} ${weak}`);
  expect(toHelper).not.toContain('[redacted]');
});

test('over HTTP a right guess gets the same answer as a wrong one, and a key is not repeated', async () => {
  await using folder = await temporaryFolder(files);
  const scene = await open(folder.path, {});
  await using cloister = scene.cloister;
  const server = await openServer(cloister, { tokens: [{ name: 'ann', sha256: hashToken('clo_ann') }] });
  const caller = { host: '127.0.0.1', authorization: 'Bearer clo_ann' };
  const answers = async (guess: string): Promise<string> => {
    const encoded = encodeURIComponent(guess);
    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      new Request(`http://127.0.0.1${path}`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { ...caller, 'content-type': 'application/json', ...headers },
      });
    const get = (path: string, headers: Record<string, string> = {}) =>
      new Request(`http://127.0.0.1${path}`, { headers: { ...caller, ...headers } });
    const requests = [
      get(`/v1/${encoded}?q=x`),
      get(`/v1/runs?${encoded}=1`),
      get(`/v1/runs/${encoded}`),
      get('/v1', { 'x-request-id': encoded, accept: encoded }),
      post(`/v1/${encoded}`, { input: guess }),
      post('/v1/helper', { input: 'Go.', [guess]: guess }),
      post('/v1/helper', `{"input": ${guess}`),
      post('/v1/helper', { input: guess }, { 'idempotency-key': encoded, 'content-type': encoded }),
      post('/v1/chat/completions', { model: guess, messages: [{ role: 'user', content: guess }] }),
      post('/v1/responses', { model: 'helper', input: guess, previous_response_id: guess }),
      post('/v1/messages', { model: guess, max_tokens: 9, messages: [{ role: 'user', content: guess }] }),
    ];
    const got: string[] = [];
    for (const request of requests) {
      const response = await server.fetch(request);
      got.push(`${response.status} ${await response.text()}`);
    }
    return got
      .join('\n')
      .replaceAll(encoded, '<guess>')
      .replaceAll(guess, '<guess>')
      .replaceAll(/[\da-f]{12}/gu, '<id>')
      .replaceAll(/\d+(?=,)/gu, '<n>');
  };
  const wrong = await answers('Summer2027!');
  expect(await answers(weak)).toBe(wrong);
  expect(wrong).toContain('<guess>');
  expect(await answers(strong)).not.toContain('<guess>');
  await server.stop(0);
});

test('a run is replayed, audited and continued as it was recorded, also under another password', async () => {
  await using folder = await temporaryFolder(files);
  await using work = await temporaryFolder();
  const first = await open(folder.path, { ops: [{ text: `Found ${guesses}` }], workspace: work.path });
  const run = await first.during(async () => {
    const session = first.cloister.run('ops', `Use ${guesses}.`);
    await session.outcome;
    return session.run;
  });
  await first.cloister.close();
  const { cloister } = await open(folder.path, { password: 'Winter2026!', workspace: work.path });
  expect(await cloister.replay(run)).toMatchObject({ ok: true });
  expect(await cloister.audit(run)).toMatchObject({ ok: true });
  expect(JSON.stringify(await cloister.show(run))).toContain('Found Summer2025! [redacted] Winter2026!');
  await cloister.close();
  const database = (await readdir(work.path)).find((name) => name === 'cloister.db')!;
  expect(await readFile(join(work.path, database), 'latin1')).not.toContain(weak);
});

test('`check` names every weak variable and says what would be long enough', async () => {
  await using folder = await temporaryFolder({
    ...files,
    '.ai-agent.env': `OPS_PASSWORD='${weak}'\nOPS_KEY=${strong}\n`,
    // A guess of another agent's password in a prompt is no finding.
    'guess.ai': aiFile({}, `Could it be ${weak}?`),
  });
  const launch = { ...systemLaunchEnvironment(), cwd: folder.path, env: {} };
  const { warnings, problems } = await checkAgents(['.'], { launch });
  expect(JSON.stringify(problems)).not.toContain('value of a secret');
  expect(warnings.filter(({ code }) => code === 'secret-weak')).toEqual([
    {
      code: 'secret-weak',
      agent: 'ops',
      message: expect.stringMatching(/^OPS_PASSWORD: easy to guess, .*32 random letters and digits are long enough/u),
    },
  ]);
});
