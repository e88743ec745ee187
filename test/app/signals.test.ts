// What another process asks of a run: stored before it is told, carried out once by whoever owns the run, also after a crash.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { memoryCellFolders } from '#adapters/cell-folders';
import { validate } from '#adapters/schemas';
import { memoryStore, openSqliteStore } from '#adapters/stores';
import { CloisterError, recordFormats } from '#base';
import type { RunId } from '#base';
import type { JsonObject } from '#base';
import type { RunCommand, RunLog, RunSession, Signal, Store } from '#contracts';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { countingIds, rehearse, virtualClock } from '#testkit';
import { LocalCloister } from '../../src/app/local-cloister.ts';
import { compileCache } from '../compile-cache.ts';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { gatedAgent } from './serve/gated-agent.ts';
import { signalAgents } from './signal-agents.ts';

const workspaceFor = (): string => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  return workspace;
};

const open = async (workspace: string, agents = signalAgents()): Promise<Cloister> => {
  const cloister = await openCloister({ workspace, agents });
  onTestFinished(() => cloister.close());
  return cloister;
};

/** Two Cloisters on one workspace: the one owns a long-lived run, the other does not. */
const openPair = async () => {
  const workspace = workspaceFor();
  const [owner, other] = [await open(workspace), await open(workspace)];
  const session = await owner.spawn('clerk');
  await session.durable();
  return { workspace, owner, other, session, run: session.run };
};

/** The store of a workspace, opened by somebody else. */
const storeOf = async (workspace: string): Promise<Store> => {
  const store = await openSqliteStore(workspace);
  onTestFinished(() => store.close());
  return store;
};

/** Waits until the run's owner has carried out everything. */
const whenCarriedOut = async (store: Store, run: RunId): Promise<void> => {
  while ((await store.signals(run)).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
};

const messageIds = async (cloister: Cloister, run: string): Promise<readonly string[]> =>
  (await cloister.mail(run)).filter(({ agent_id: from }) => from === null).map(({ id }) => id);

const keyedId = (nth: number): string => `m-${nth.toString(16).padStart(16, '0')}-00000000`;

const send = (text: string, nth?: number): RunCommand<'send'> => ({
  do: 'send',
  text,
  ...(nth === undefined ? {} : { id: keyedId(nth) }),
});

const raw = (run: string, id: string, command: unknown): Signal => ({
  run: run as RunId,
  id,
  by: 'test',
  at: 1000,
  body: { command } as JsonObject,
});

// invariant: signal-only-for-owner
test('a run is cancelled from another process, in the middle of its work', async () => {
  const workspace = workspaceFor();
  const { agent, gate } = gatedAgent();
  const [owner, other] = [await open(workspace, [agent]), await open(workspace, [agent])];
  const session = owner.run('gated', 'Go.');
  await gate.arrived(1);
  await session.durable();
  expect(await other.signal(session.run, { do: 'cancel' })).toEqual({ id: 'cancel', isNew: true, live: false });
  expect(await session.outcome).toMatchObject({ status: 'cancelled' });
  expect(await (await storeOf(workspace)).signals()).toEqual([]);
  expect(await other.audit(session.run)).toMatchObject({ ok: true, problems: [] });
});

test('messages from another process arrive in order, with the ids that their sender was told, and are answered', async () => {
  const { owner, other, session, run, workspace } = await openPair();
  const receipts = [];
  for (let nth = 0; nth < 20; nth++) receipts.push(await other.signal(run, send(`Number ${nth}.`), { by: 'ann' }));
  expect(receipts.every(({ isNew, live }) => isNew && !live)).toBe(true);
  await whenCarriedOut(await storeOf(workspace), run);
  expect(await messageIds(owner, run)).toEqual(receipts.map(({ id }) => id));
  expect(await session.answer(receipts[0]!.id)).toMatchObject({ text: 'Noted.' });
});

// invariant: same-id-sent-once
test('a message that is sent again arrives once: while it waits, when it was sent, and by its owner too', async () => {
  const { owner, other, session, run, workspace } = await openPair();
  const first = await Promise.all(Array.from({ length: 5 }, () => other.signal(run, send('Hello.', 1))));
  expect(first.filter(({ isNew }) => isNew)).toHaveLength(1);
  const store = await storeOf(workspace);
  await whenCarriedOut(store, run);
  expect(await other.signal(run, send('Hello.', 1))).toMatchObject({ id: keyedId(1), isNew: false });
  expect(session.do(send('Hello.', 1))).toBe(keyedId(1));
  expect(await owner.signal(run, send('Hello.', 1))).toMatchObject({ isNew: false, live: true });
  // As if somebody had stored it at the same moment.
  await store.putSignal(raw(run, 'again', send('Hello.', 1)));
  await whenCarriedOut(store, run);
  expect(await messageIds(owner, run)).toEqual([keyedId(1)]);
  const other1 = { ...send('Goodbye.', 1), id: keyedId(1).replace(/0{8}$/u, '00000001') };
  await expect(other.signal(run, other1)).rejects.toMatchObject({ code: 'key_reused' });
  expect(() => session.do(other1)).toThrow('used for another request');
});

test('a run finishes when another process asks it to, after the work that it has', async () => {
  const { other, session, run, workspace } = await openPair();
  await other.signal(run, send('Hello.', 1));
  await other.signal(run, { do: 'finish' });
  expect(await session.outcome).toMatchObject({ status: 'completed' });
  expect(await messageIds(other, run)).toEqual([keyedId(1)]);
  expect(await (await storeOf(workspace)).signals()).toEqual([]);
});

test('a signal for a run that has ended is refused and not kept, and so is one for an unknown run', async () => {
  const { owner, other, session, run, workspace } = await openPair();
  session.finish();
  await session.outcome;
  for (const one of [owner, other])
    await expect(one.signal(run, { do: 'cancel' })).rejects.toMatchObject({ code: 'run_ended' });
  await expect(other.signal('nobody', { do: 'cancel' })).rejects.toMatchObject({ code: 'run_unknown' });
  await expect(other.signal('../x', { do: 'cancel' })).rejects.toMatchObject({ code: 'run_unknown' });
  expect(await (await storeOf(workspace)).signals()).toEqual([]);
});

test.for([
  ['no command', null, 'options_invalid'],
  ['an unknown command', { do: 'explode' }, 'options_invalid'],
  ['a field too many', { do: 'cancel', all: true }, 'options_invalid'],
  ['a command that only its own process can carry out', { do: 'spawn', agent: 'clerk' }, 'options_invalid'],
  ['an empty message', { do: 'send', text: ' ' }, 'mail_invalid'],
  ['a message id of another kind', { do: 'send', text: 'a', id: 'x' }, 'options_invalid'],
  ['a topic that nobody hears', { do: 'send', text: 'a', topic: 'news' }, 'mail_invalid'],
] as const)('%s is refused before anything is stored', async ([, command, code]) => {
  const { other, run, workspace } = await openPair();
  await expect(other.signal(run, command as RunCommand)).rejects.toMatchObject({ code });
  expect(await (await storeOf(workspace)).signals()).toEqual([]);
});

test('what is no command, or is refused by the run, is removed, and the next one is carried out', async () => {
  const { owner, run, workspace } = await openPair();
  const store = await storeOf(workspace);
  for (const [nth, command] of [
    undefined,
    'cancel',
    { do: 'explode' },
    { do: 'add-context', text: 'Listen.' },
    { do: 'send', text: 'Hi.', to: 'nobody' },
    { do: 'send', text: 7 },
    { do: 'finish', name: 'nobody' },
    send('Hello.', 1),
  ].entries())
    await store.putSignal(raw(run, `s${nth}`, command));
  await store.putSignal({ ...raw(run, 'none', null), body: {} });
  await whenCarriedOut(store, run);
  expect(await messageIds(owner, run)).toEqual([keyedId(1)]);
  expect(await owner.show(run)).toMatchObject({ status: 'running' });
});

test('250 messages from another process arrive, each once and in order, although a mailbox has room for a hundred', async () => {
  const { owner, other, run, workspace } = await openPair();
  const count = 250;
  const store = await storeOf(workspace);
  await Promise.all(
    Array.from({ length: count }, (_, nth) => store.putSignal(raw(run, keyedId(nth), send(`${nth}`, nth)))),
  );
  // A cancelled run takes no more messages, so this waits until the last one has arrived.
  await whenCarriedOut(store, run);
  expect(await messageIds(owner, run)).toEqual(Array.from({ length: count }, (_, nth) => keyedId(nth)));
  await other.signal(run, { do: 'cancel' });
}, 60_000);

type Owner = { readonly run: string; readonly kill: () => Promise<void> };

const startOwner = async (workspace: string): Promise<Owner> => {
  const script = fileURLToPath(new URL('signal-owner.ts', import.meta.url));
  const child = spawn(process.execPath, ['--conditions=cloister-source', script, workspace], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: compileCache(),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const run = (await lines.next()).value as string;
  const kill = async (): Promise<void> => {
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return { run, kill };
};

// invariant: signal-kept-until-durable
test('whenever the owner is killed, every message that was acknowledged is in the log exactly once', async () => {
  const workspace = workspaceFor();
  const owner = await startOwner(workspace);
  const other = await open(workspace);
  const sent: string[] = [];
  for (let nth = 0; nth < 60; nth++) {
    sent.push((await other.signal(owner.run, send(`Number ${nth}.`, nth))).id);
    if (nth === 40) await owner.kill();
  }
  const session = await other.resume(owner.run);
  const store = await storeOf(workspace);
  await whenCarriedOut(store, session.run);
  expect(await messageIds(other, owner.run)).toEqual(sent);
  await other.signal(owner.run, { do: 'finish' });
  expect(await session.outcome).toMatchObject({ status: 'completed' });
  expect(await other.audit(owner.run)).toMatchObject({ ok: true, problems: [] });
}, 60_000);

// invariant: signal-kept-until-durable
test('what was recorded before a crash and not yet removed is not done again by whoever resumes the run', async () => {
  const workspace = workspaceFor();
  const owner = await startOwner(workspace);
  const store = await storeOf(workspace);
  const run = owner.run as RunId;
  await store.putSignal(raw(run, keyedId(1), send('Hello.', 1)));
  await whenCarriedOut(store, run);
  await owner.kill();
  await store.putSignal(raw(run, keyedId(1), send('Hello.', 1)));
  const other = await open(workspace);
  const session = await other.resume(run);
  await whenCarriedOut(store, run);
  expect(await messageIds(other, run)).toEqual([keyedId(1)]);
  session.finish();
  await session.outcome;
});

test('a run that nobody owns is cancelled when it is resumed, before it asks a model', async () => {
  const workspace = workspaceFor();
  const owner = await startOwner(workspace);
  await owner.kill();
  const model = rehearse([{ reply: 'Noted.' }]);
  const other = await open(workspace, signalAgents(model.model));
  await other.signal(owner.run, send('Hello.', 1));
  expect(await other.signal(owner.run, { do: 'cancel' })).toEqual({ id: 'cancel', isNew: true, live: false });
  expect(await other.signal(owner.run, { do: 'cancel' })).toMatchObject({ isNew: false });
  const session = await other.resume(owner.run);
  expect(await session.outcome).toMatchObject({ status: 'cancelled' });
  expect(model.requests).toHaveLength(0);
  expect(await (await storeOf(workspace)).signals()).toEqual([]);
  expect(await other.audit(owner.run)).toMatchObject({ ok: true, problems: [] });
});

test('a run that nobody owns finishes when it is resumed, if it was asked to', async () => {
  const workspace = workspaceFor();
  const owner = await startOwner(workspace);
  await owner.kill();
  const other = await open(workspace);
  await other.signal(owner.run, { do: 'finish' });
  expect(await (await other.resume(owner.run)).outcome).toMatchObject({ failure: { code: 'shut_down' } });
});

test('that a run was asked to finish is kept until it has ended, because its log does not say so', async () => {
  const workspace = workspaceFor();
  const { agent, gate } = gatedAgent();
  const [owner, other] = [await open(workspace, [agent]), await open(workspace, [agent])];
  const session = await owner.spawn('gated', { message: 'Go.' });
  await gate.arrived(1);
  await other.signal(session.run, { do: 'finish' });
  // Removed after the first one was carried out.
  await other.signal(session.run, { do: 'finish', name: 'nobody' });
  const store = await storeOf(workspace);
  while ((await store.signals()).length > 1) await new Promise((resolve) => setTimeout(resolve, 10));
  expect((await store.signals()).map(({ id }) => id)).toEqual(['finish']);
  gate.open();
  expect(await session.outcome).toMatchObject({ status: 'completed' });
  expect(await store.signals()).toEqual([]);
});

/** A Cloister in memory whose store counts who watches it. */
const openWatched = () => {
  const inner = memoryStore();
  let watching = 0;
  /** `pending`: what the logs wait for until their frames are durable. */
  const disk: { pending: Promise<void> | undefined; onAppend: () => void } = {
    pending: undefined,
    onAppend: () => undefined,
  };
  const store: Store = {
    ...inner,
    acquireRun: async (run) => {
      const log = await inner.acquireRun(run);
      const append: RunLog['append'] = (frame) => {
        log.append(frame);
        disk.onAppend();
      };
      return { append, durable: () => disk.pending, close: () => log.close() };
    },
    watchSignals: (listener) => {
      watching++;
      const stop = inner.watchSignals(listener);
      return () => {
        watching--;
        stop();
      };
    },
  };
  const model = rehearse([{ reply: 'Yes.' }]).model;
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models: [model] });
  const clock = virtualClock();
  const redactText = (text: string): string => text.replaceAll('hunter2', '[secret]');
  const redact = {
    text: redactText,
    json: <T>(value: T): T => JSON.parse(redactText(JSON.stringify(value))) as T,
    bytes: (bytes: Uint8Array) => bytes,
    stream: () => ({ push: (piece: string) => piece, end: () => '' }),
  };
  const cloister = new LocalCloister([agent], {
    store,
    workspaces: memoryCellFolders(),
    validate,
    schemaProblem: () => null,
    toolSchemaProblem: () => null,
    clock,
    ids: countingIds(),
    lanes: new Map(),
    resources: {
      agents: [agent],
      redactFor: () => redact,
      prepare: async () => undefined,
      resourcesFor: () => ({ models: [model], sources: [] }),
      modelsOf: () => [model],
    },
    startInfo: undefined,
    recordedBy: { format: recordFormats.newest, build: 'test' },
  });
  onTestFinished(() => cloister.close());
  return { cloister, store, clock, disk, watching: () => watching };
};

const finish = async (session: RunSession): Promise<void> => {
  session.finish();
  await session.outcome;
};

// invariant: signals-watched-while-live
test('the store is watched once while runs are live, with no timer, and not at all before and after', async () => {
  const { cloister, clock, watching } = openWatched();
  expect(watching()).toBe(0);
  const sessions = [await cloister.spawn('lead'), await cloister.spawn('lead')];
  for (const session of sessions) await session.durable();
  expect([watching(), clock.waiting]).toEqual([1, 0]);
  await finish(sessions[0]!);
  expect(watching()).toBe(1);
  await finish(sessions[1]!);
  expect(watching()).toBe(0);
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

// invariant: signal-kept-until-durable
test.for([
  ['is removed when what it asked for is on disk, and not before', 'written', []],
  ['is kept if that could not be written', 'failed', [keyedId(1)]],
] as const)('a signal %s', async ([, fate, left]) => {
  const { cloister, store, disk } = openWatched();
  const session = await cloister.spawn('lead');
  await session.durable();
  const writing = Promise.withResolvers<void>();
  writing.promise.catch(() => undefined);
  onTestFinished(() => {
    disk.pending = undefined;
    writing.resolve();
  });
  disk.onAppend = () => void (disk.pending = writing.promise);
  await store.putSignal(raw(session.run, keyedId(1), send('Hello.', 1)));
  await settled();
  expect(disk.pending).toBe(writing.promise);
  expect((await store.signals()).map(({ id }) => id)).toEqual([keyedId(1)]);
  disk.onAppend = () => undefined;
  if (fate === 'written') writing.resolve();
  else writing.reject(new CloisterError('store_failed', 'The disk is full.'));
  await settled();
  expect((await store.signals()).map(({ id }) => id)).toEqual(left);
});

test('secrets that are known here are not in what is stored', async () => {
  const { cloister, store } = openWatched();
  const session = await cloister.spawn('lead');
  await session.durable();
  const stored: string[] = [];
  const stop = store.watchSignals(() => void store.signals().then((all) => stored.push(JSON.stringify(all))));
  await cloister.signal(session.run, send('It is hunter2.', 1));
  await finish(session);
  stop();
  expect(stored.join()).toContain('It is [secret].');
  expect(stored.join()).not.toContain('hunter2');
});

test('a store that cannot be read for a while delays signals, and loses none', async () => {
  const { cloister, store, clock } = openWatched();
  const session = await cloister.spawn('lead');
  await session.durable();
  const { signals } = store;
  let failures = 0;
  (store as { signals: Store['signals'] }).signals = async () => {
    failures++;
    throw new Error('disk I/O error');
  };
  await store.putSignal(raw(session.run, 'cancel', { do: 'cancel' }));
  await clock.advance(500);
  expect(failures).toBe(1);
  (store as { signals: Store['signals'] }).signals = signals;
  await clock.advance(1_000);
  expect(await session.outcome).toMatchObject({ status: 'cancelled' });
  expect(clock.waiting).toBe(0);
});
