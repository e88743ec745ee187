// `run(agent, input, { env })`: values of variables for one run, from code.
import { chmodSync, cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openCloister, openServer } from 'cloister';
import type { Cloister, CloisterOptions, RunSession } from 'cloister';
import { expect, onTestFinished, test } from 'vitest';
import { unpackRecord } from '#testing/adapters/stores';
import { CloisterError } from '#base';
import { clientError } from '#headends/shared';
import { openConfigured } from '../../src/app/open-cloister.ts';
import { thrownBy } from '../core/session/driver.ts';
import { chatResponse, withFetch } from '../isolation/fake-wire.ts';
import type { ChatReply, Sent } from '../isolation/fake-wire.ts';
import { storedRecords } from '../stored-text.ts';
import { ai, createFolders } from './driver.ts';
import type { TestFolders } from './driver.ts';

const house = { type: 'openai-compatible', baseUrl: 'http://house.invalid/v1', apiKey: '${KEY}' };
const files = {
  'lead.ai': ai('models: house/m\nagents: helper'),
  'helper.ai': ai('models: house/m'),
  '.ai-agent.json': { providers: { house } },
};
const key = 'key-q7Zr2Kx9Wm4Bv8Tn3-of-the-run';
const other = 'key-Yp5Lc8Hd1Gs6Jf0Ra2-of-the-operator';

const open = async (folders: TestFolders, more: Partial<CloisterOptions> = {}): Promise<Cloister> => {
  const { cwd, env } = folders;
  const cloister = await openCloister({ store: 'memory', agents: ['lead.ai'], cwd, env, ...more });
  onTestFinished(() => cloister.close());
  return cloister;
};

/** The keys that models were sent while this was done. */
const keysDuring = async (
  work: () => Promise<unknown>,
  reply: (sent: Sent) => ChatReply = () => ({ text: 'Done.' }),
) => {
  const keys: (string | undefined)[] = [];
  const answer = (sent: Sent): Response => {
    keys.push(sent.headers['authorization']?.replace('Bearer ', ''));
    return chatResponse(reply(sent));
  };
  await withFetch(answer, work);
  return keys;
};

const askHelper = ({ body }: Sent): ChatReply =>
  body.includes('"helper"') && !body.includes('"role":"assistant"')
    ? { calls: [{ id: 'call_0', name: 'helper', input: '{"prompt":"Help."}' }] }
    : { text: 'Done.' };

test('a run uses the values it is given, and so do the agents below it; another run does not', async () => {
  const cloister = await open(createFolders(files, { env: { KEY: other } }));
  const before = { ...process.env };
  const given: Record<string, string> = { KEY: key, UNUSED: 'harmless' };
  const keys = await keysDuring(async () => {
    const session = cloister.run('lead', 'Go.', { env: given });
    given['KEY'] = 'changed-too-late';
    expect(await session.outcome).toMatchObject({ status: 'completed' });
    await cloister.run('lead', 'Go.').outcome;
  }, askHelper);
  expect(keys).toEqual([key, key, key, other, other, other]);
  expect({ ...process.env }).toEqual(before);
});

test('the values of a run come before the `env` block, the sidecar and the shell', async () => {
  const config = { providers: { house }, env: { KEY: 'key-of-the-block' } };
  const folders = createFolders(
    { ...files, '.ai-agent.json': config, '.ai-agent.env': 'KEY=key-of-the-sidecar\n' },
    { env: { KEY: 'key-of-the-shell' } },
  );
  const cloister = await open(folders);
  expect(await keysDuring(() => cloister.run('lead', 'Go.', { env: { KEY: key } }).outcome)).toEqual([key]);
  expect(await keysDuring(() => cloister.run('lead', 'Go.', { env: {} }).outcome)).toEqual(['key-of-the-block']);
});

test('every way to start a run takes values', async () => {
  const folders = createFolders({
    ...files,
    'team.yaml': 'description: Works.\nagents: [helper.ai]\ncoordinator: lead.ai\n',
  });
  const cloister = await open(folders, { agents: ['lead.ai', 'helper.ai', 'team.yaml'] });
  const env = { KEY: key };
  const ways: readonly (() => Promise<unknown>)[] = [
    () => cloister.run('helper', 'Go.', { env }).outcome,
    async () => (await cloister.runTurn('helper', 'Go.', { env })).outcome,
    async () => {
      const session = await cloister.spawn('helper', { message: 'Go.', env });
      await session.answer();
      session.finish();
      return session.outcome;
    },
    () => cloister.runTasks('team', [{ title: 'Do', description: 'Do it.', assignee: 'helper' }], { env }).outcome,
    () => cloister.agentTool('helper', { env }).execute({ prompt: 'Go.' }),
  ];
  for (const way of ways) {
    const keys = await keysDuring(way);
    expect(keys.length).toBeGreaterThan(0);
    expect(new Set(keys)).toEqual(new Set([key]));
  }
  for (const start of [() => cloister.run('helper', 'Go.'), () => cloister.runTeam('team', 'Go.')])
    expect(start).toThrow('Missing: KEY');
  await expect(cloister.runTurn('helper', 'Go.')).rejects.toThrow('Missing: KEY');
  await expect(cloister.agentTool('helper').execute({ prompt: 'Go.' })).rejects.toThrow('Missing: KEY');
});

test('a run without a variable is refused before anything is recorded, with every agent that lacks one', async () => {
  const folders = createFolders({
    ...files,
    'helper.ai': ai('models: house/m\ntools: web'),
    '.ai-agent.json': {
      providers: { house },
      mcpServers: { web: { url: 'http://web.invalid/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } } },
    },
  });
  const cloister = await open(folders);
  const error = thrownBy(() => cloister.run('lead', 'Go.', { env: { TOKEN: key } }));
  expect(error).toMatchObject({ code: 'env_missing' });
  expect(error.message.split('\n').slice(1)).toEqual([
    '  lead.ai:5 models: Missing: KEY; define in shell or .ai-agent.env.',
    '  helper.ai:5 models: Missing: KEY; define in shell or .ai-agent.env.',
    'To give values to one run alone, pass them in its options: { env: { NAME: value } }.',
  ]);
  expect(thrownBy(() => cloister.run('lead', 'Go.', { env: { KEY: key } })).message).toContain(
    'helper.ai:6 tools: Missing: TOKEN',
  );
  expect(await cloister.runs()).toEqual([]);
});

test('where no run can bring values, a missing variable is reported at once', async () => {
  const { cwd, env } = createFolders(files);
  const options = { store: 'memory', agents: ['lead.ai'], cwd, env } as const;
  await expect(openConfigured(options)).rejects.toThrow('Missing: KEY');
  await expect(openCloister({ ...options, preconnect: true })).rejects.toThrow('Missing: KEY');
  await using cloister = await openCloister(options);
  await expect(openServer(cloister)).rejects.toMatchObject({ code: 'env_missing' });
  const wrapped = new Proxy(cloister, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  await expect(openServer(wrapped)).rejects.toMatchObject({ code: 'env_missing' });
  // What else is wrong is reported when it is opened.
  const broken = createFolders({ ...files, 'helper.ai': ai('models: huose/m') });
  await expect(openCloister({ ...options, cwd: broken.cwd })).rejects.toThrow('No provider "huose" is configured');
});

test('a client of a server is not told which variables are missing', () => {
  const failure = clientError(new CloisterError('env_missing', 'Missing: KEY; …'));
  expect(failure).toMatchObject({ status: 500, code: 'env_missing' });
  expect(JSON.stringify(failure)).not.toContain('KEY');
});

test.each<[what: string, env: unknown, message: string]>([
  ['a list', [key], 'env: expected an object of names and values.'],
  ['null', null, 'env: expected an object of names and values.'],
  ['text', `KEY=${key}`, 'env: expected an object of names and values.'],
  ['a number', { KEY: 2_389_471_203_984 }, 'env.KEY: expected a string, not number.'],
  ['undefined', { KEY: undefined }, 'env.KEY: expected a string, not undefined.'],
  ['an object', { KEY: { key } }, 'env.KEY: expected a string, not object.'],
  ['an empty value', { KEY: '' }, 'env.KEY: the value is empty. Leave it out to use the value from the config.'],
  ['a NUL', { KEY: `${key}\0` }, 'env.KEY: the value contains a NUL character.'],
  [
    'a name with a dash',
    { 'MY-KEY': key },
    'env.MY-KEY: a variable name has letters, digits and underscores, and does not start with a digit.',
  ],
  [
    'a name with =',
    { 'KEY=x': key },
    'env.KEY=x: a variable name has letters, digits and underscores, and does not start with a digit.',
  ],
  [
    'no name',
    { '': key },
    'env.: a variable name has letters, digits and underscores, and does not start with a digit.',
  ],
  [
    'a name with a digit first',
    { '1A': key },
    'env.1A: a variable name has letters, digits and underscores, and does not',
  ],
  ['a list as a value', { KEY: [key] }, 'env.KEY: expected a string, not a list.'],
])('%s is refused, without showing the value', async (_, env, message) => {
  const cloister = await open(createFolders(files, { env: { KEY: other } }));
  const options = { env: env as Record<string, string> };
  const error = thrownBy(() => cloister.run('lead', 'Go.', options));
  expect(error).toMatchObject({ code: 'options_invalid', message: expect.stringContaining(message) });
  expect(error.message).not.toMatch(/q7Zr|2389471203984/u);
  expect(thrownBy(() => cloister.agentTool('lead', options))).toMatchObject({ code: 'options_invalid' });
  expect(await cloister.runs()).toEqual([]);
});

test('inherited names are not values of the run', async () => {
  const cloister = await open(createFolders(files, { env: { KEY: other } }));
  const env = Object.create({ KEY: key }) as Record<string, string>;
  expect(await keysDuring(() => cloister.run('helper' in env ? 'x' : 'lead', 'Go.', { env }).outcome)).toEqual([other]);
});

test('a value named __proto__ is a value like any other', async () => {
  const cloister = await open(createFolders(files, { env: { KEY: other } }));
  const env = JSON.parse(`{"__proto__":"${key}"}`) as Record<string, string>;
  expect(await keysDuring(() => cloister.run('lead', 'Go.', { env }).outcome)).toEqual([other]);
});

test('an agent whose definition contains the value is refused, because definitions are recorded', async () => {
  const cloister = await open(createFolders({ ...files, 'helper.ai': ai('models: house/m', `The key is ${key}.`) }));
  const error = thrownBy(() => cloister.run('lead', 'Go.', { env: { KEY: key } }));
  expect(error.message).toMatch(/agent "helper" The file contains the value of a secret/u);
  expect(error.message).not.toContain(key);
});

type Interrupted = { readonly workspace: string; start(cloister: Cloister): RunSession | Promise<RunSession> };

/** Starts a run, and copies its workspace as if the process died while the helper's model, or that after it, is asked. */
const interrupt = async (folders: TestFolders, { workspace, start }: Interrupted) => {
  const copy = `${workspace}-copy`;
  const { promise: asked, resolve: arrived } = Promise.withResolvers<void>();
  const answer = async (sent: Sent): Promise<Response> => {
    const reply = askHelper(sent);
    if (reply.calls !== undefined) return chatResponse(reply);
    arrived();
    return new Promise(() => undefined);
  };
  const { cwd, env } = folders;
  await using cloister = await openCloister({ agents: ['lead.ai'], workspace, cwd, env });
  const run = await withFetch(answer, async () => {
    const session = await start(cloister);
    await asked;
    cpSync(workspace, copy, { recursive: true });
    using database = new DatabaseSync(join(copy, 'cloister.db'));
    database.exec('DELETE FROM owners');
    session.cancel();
    await session.outcome;
    return session.run;
  });
  return { run, copy };
};

const interruptWithEnv = (folders: TestFolders) =>
  interrupt(folders, {
    workspace: folders.path('workspace'),
    start: (cloister) => cloister.run('lead', `Go with ${key}.`, { env: { KEY: key, UNUSED: 'x' } }),
  });

const openWorkspace = async ({ cwd, env }: TestFolders, workspace: string): Promise<Cloister> => {
  const cloister = await openCloister({ agents: ['lead.ai'], workspace, cwd, env });
  onTestFinished(() => cloister.close());
  return cloister;
};

const again = `Missing: KEY; code gave the run values of its own, which are not recorded. Continue it from code with { env: { KEY: … } }.`;

/** All bytes below the folder of a workspace, and what is packed in them. */
const bytesBelow = (folder: string): string =>
  storedRecords(folder) +
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');

// invariant: env-of-one-run
test('a run that was given values is resumed with them, never with those of the operator', async () => {
  const folders = createFolders(files, { env: { KEY: other } });
  const { run, copy } = await interruptWithEnv(folders);
  const cloister = await openWorkspace(folders, copy);
  await expect(cloister.resume(run)).rejects.toMatchObject({
    code: 'env_missing',
    message: expect.stringContaining(again),
  });
  await expect(cloister.resume(run, { env: { UNUSED: 'x' } })).rejects.toThrow(again);
  await expect(cloister.resume(run, { env: { KEY: '' } })).rejects.toMatchObject({ code: 'options_invalid' });
  expect(await cloister.replay(run)).toMatchObject({ ok: true });
  const keys = await keysDuring(async () => {
    const session = await cloister.resume(run, { env: { KEY: key } });
    expect(await session.outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  });
  expect(keys).toEqual([key, key]);
  expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  expect(await cloister.replay(run)).toMatchObject({ ok: true });
  await cloister.close();
  const bytes = bytesBelow(copy);
  expect(bytes).toContain('Go with [redacted].');
  expect(bytes).not.toMatch(/q7Zr2Kx9Wm4Bv8Tn3/u);
  using database = new DatabaseSync(join(copy, 'cloister.db'));
  const records = database.prepare('SELECT body FROM frames WHERE run = ? ORDER BY no').all(run);
  const named = records
    .map(({ body }) => JSON.parse(String(unpackRecord(body))).record)
    .filter(({ env }) => env !== undefined);
  expect(named.map(({ type, env }) => [type, env])).toEqual([
    ['open', ['KEY']],
    ['resume', ['KEY']],
  ]);
});

test('values that are first given when a run is resumed must be given from then on', async () => {
  const folders = createFolders(files, { env: { KEY: other } });
  const before = await interrupt(folders, {
    workspace: folders.path('workspace'),
    start: (cloister) => cloister.run('lead', 'Go.'),
  });
  const { run, copy } = await interrupt(folders, {
    workspace: before.copy,
    start: (cloister) => cloister.resume(before.run, { env: { KEY: key } }),
  });
  const cloister = await openWorkspace(folders, copy);
  await expect(cloister.resume(run)).rejects.toThrow(again);
  const keys = await keysDuring(async () => (await cloister.resume(run, { env: { KEY: key } })).outcome);
  expect(keys).toEqual([key, key]);
});

test('forks, and runs that continue from a checkpoint, need the values too', async () => {
  const folders = createFolders(files, { env: { KEY: other } });
  const { run, copy } = await interruptWithEnv(folders);
  const cloister = await openWorkspace(folders, copy);
  const { cells } = await cloister.show(run);
  const { id } = await cloister.checkpoints.create(run);
  const at = cells[0]!.cell;
  const env = { KEY: key };
  for (const continued of [
    cloister.fork(run, { at, goal: 'Continue.' }),
    cloister.checkpoints.branch(id),
    cloister.checkpoints.restore(id),
  ])
    await expect(continued).rejects.toThrow(again);
  const keys = await keysDuring(async () => {
    const fork = await cloister.fork(run, { at, goal: `Resume with ${key}.`, env });
    expect(await fork.outcome).toMatchObject({ status: 'completed' });
    expect((await cloister.show(fork.run)).goal).toBe('Resume with [redacted].');
    const { session } = await cloister.checkpoints.branch(id, { env });
    await session!.outcome;
    await (await cloister.checkpoints.restore(id, { env }))!.outcome;
  });
  expect(keys.length).toBeGreaterThanOrEqual(4);
  expect(new Set(keys)).toEqual(new Set([key]));
});

test('a fork to another model can be given its key, is refused without it each time, and is replayed without it', async () => {
  const config = { providers: { house, vault: { ...house, apiKey: '${VAULT}' } } };
  const cloister = await open(createFolders({ ...files, '.ai-agent.json': config }, { env: { KEY: other } }));
  const reply = () => chatResponse({ text: 'Done.' });
  const run = await withFetch(reply, async () => (await cloister.run('lead', 'Go.').outcome).run);
  const at = (await cloister.show(run)).cells[0]!.cell;
  await expect(cloister.fork(run, { at, model: 'vault/m' })).rejects.toThrow('Missing: VAULT');
  await expect(cloister.fork(run, { at, model: 'vault/m' })).rejects.toThrow('Missing: VAULT');
  const forked: string[] = [];
  const keys = await keysDuring(async () => {
    const fork = await cloister.fork(run, { at, model: 'vault/m', env: { VAULT: key } });
    forked.push((await fork.outcome).run);
  });
  expect(keys).toEqual([key]);
  expect(await cloister.replay(forked[0]!)).toMatchObject({ ok: true });
});

test('the values of one fork do not decide what is found for another', async () => {
  const config = {
    providers: { house, vault: { ...house, apiKey: '${VAULT}' } },
    mcpServers: { box: { type: 'stdio', command: 'box', env: { PATH: '${BOX_PATH}' } } },
  };
  const folders = createFolders(
    { 'lead.ai': ai('models: house/m\ntools: box'), '.ai-agent.json': config, 'bin/box': '#!/bin/sh\nexit 1\n' },
    { env: { KEY: other, VAULT: other } },
  );
  chmodSync(folders.path('bin/box'), 0o755);
  const cloister = await open(folders);
  const withPath = (path: string) => ({ env: { BOX_PATH: folders.path(path) } });
  const { run } = await cloister.run('lead', 'Go.', withPath('bin')).outcome;
  const at = (await cloister.show(run)).cells[0]!.cell;
  const failures: (string | undefined)[] = [];
  for (const path of ['nowhere', 'bin']) {
    const fork = await cloister.fork(run, { at, model: 'vault/m', ...withPath(path) });
    failures.push((await fork.outcome).failure?.code);
  }
  // In the second, the command is found, and exits.
  expect(failures).toEqual(['server_missing', 'server_failed']);
});

test('a run is not refused for a model that has another to fall back on, and uses both if it is given the key', async () => {
  const config = {
    providers: { house, open: { type: 'openai-compatible', baseUrl: 'http://open.invalid/v1' } },
  };
  const folders = createFolders({ 'lead.ai': ai('models: [house/m, open/m]'), '.ai-agent.json': config });
  const cloister = await open(folders);
  const hosts: string[] = [];
  const answer = ({ host }: Sent) => {
    hosts.push(host);
    return chatResponse({ text: 'Done.' });
  };
  await withFetch(answer, async () => {
    await cloister.run('lead', 'Go.').outcome;
    await cloister.run('lead', 'Go.', { env: { KEY: key } }).outcome;
  });
  expect(hosts).toEqual(['open.invalid', 'house.invalid']);
});
