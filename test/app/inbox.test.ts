// The inbox of a headend: what was accepted stays until it is removed, and one process at a time works on a queue.
// invariants: inbox-durable, inbox-one-worker, queue-is-no-run
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryStore, openSqliteStore } from '#adapters/stores';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { InboxItem, OpenQueue, Redact, Store } from '#contracts';
import { countingIds, virtualClock } from '#testkit';
import { newFolder, openStore, startProcess, writeRun } from '../adapters/stores/fixture.ts';
import { newMapDisk, openMapStore } from '../adapters/stores/map-disk.ts';
import { StoreInbox } from '../../src/app/store-inbox.ts';
import { InterruptedRunResumer } from '../../src/app/serve/interrupted-runs.ts';

const inboxOf = (store: Store, clock = virtualClock(), redact: Redact | null = null): StoreInbox =>
  new StoreInbox('slack', { store, clock, resources: { redactFor: () => redact } });

const item = (id: string, more: Partial<InboxItem> = {}): InboxItem => ({
  id,
  by: 'slack:T1/U1',
  at: 5,
  body: { text: `Text of ${id}` },
  ...more,
});

/** Stores of two processes on one disk; in memory there is only one. */
const disks: Readonly<Record<string, () => () => Promise<Store & { kill?(): void }>>> = {
  memory: () => {
    const store = memoryStore();
    return async () => store;
  },
  sqlite: () => {
    const folder = newFolder();
    return () => openSqliteStore(folder);
  },
  log: () => {
    const disk = newMapDisk();
    return async () => openMapStore(disk);
  },
};

const act = fc.record({
  process: fc.constantFrom(0, 1),
  does: fc.constantFrom('put', 'put', 'open', 'remove', 'close', 'crash'),
  queue: fc.constantFrom('a', 'b'),
  id: fc.constantFrom('1', '2', '3'),
});

describe.for(Object.keys(disks))('an inbox in the %s store', (kind) => {
  test('keeps items as a list without duplicates does, and has one worker a queue', () =>
    fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (acts) => {
        const open = disks[kind]!();
        const stores = [await open(), await open()];
        const inboxes = stores.map((store) => inboxOf(store));
        const model = new Map<string, InboxItem[]>();
        const held = new Map<string, { readonly process: number; readonly queue: OpenQueue }>();
        const listOf = (queue: string): InboxItem[] => model.get(queue) ?? model.set(queue, []).get(queue)!;
        for (const { process, does, queue, id } of acts) {
          const owned = held.get(queue);
          const one = item(id);
          switch (does) {
            case 'put': {
              const isNew = !listOf(queue).some((other) => other.id === id);
              expect(await inboxes[process]!.put(queue, one)).toBe(isNew);
              if (isNew) listOf(queue).push(one);
              break;
            }
            case 'open': {
              const opened = await inboxes[process]!.open(queue);
              expect(opened === undefined).toBe(owned !== undefined);
              if (opened !== undefined) held.set(queue, { process, queue: opened });
              break;
            }
            case 'remove':
              await owned?.queue.remove(id);
              if (owned !== undefined)
                model.set(
                  queue,
                  listOf(queue).filter((other) => other.id !== id),
                );
              break;
            case 'close':
              await owned?.queue.close();
              held.delete(queue);
              break;
            case 'crash': {
              const { kill } = stores[process]!;
              if (kill === undefined) break;
              kill();
              for (const [name, other] of held) if (other.process === process) held.delete(name);
              stores[process] = await open();
              inboxes[process] = inboxOf(stores[process]);
              break;
            }
          }
          for (const [name, { queue: opened }] of held) expect(await opened.items()).toEqual(listOf(name));
          const waiting = [...model].flatMap(([name, items]) => (items.length > 0 ? [name] : []));
          expect((await inboxes[process]!.queues()).toSorted()).toEqual(waiting.toSorted());
        }
        for (const { queue } of held.values()) await queue.close();
        for (const store of stores) await store.close();
      }),
      { numRuns: kind === 'sqlite' ? 5 : 60 },
    ));

  test('is unknown to lists of runs, rebuilds, readers and the resumption of interrupted runs', async () => {
    const store = await disks[kind]!()();
    onTestFinished(() => store.close());
    const inbox = inboxOf(store);
    await inbox.put('thread', item('1'));
    const opened = (await inbox.open('thread'))!;
    const resumed: string[] = [];
    const resumer = new InterruptedRunResumer({
      clock: virtualClock(),
      cloister: { runs: () => store.list(), resumeTimes: async () => [], questions: async () => [] },
      agents: ['lead'],
      tokens: { entry: () => ({ name: 'any', sha256: '' }) },
      isLive: () => false,
      resume: async (_caller, run) => void resumed.push(run),
    });
    const check = async (): Promise<void> => {
      expect(await store.list()).toEqual([]);
      expect(await store.list({ runs: ['inbox.slack.thread' as RunId] })).toEqual([]);
      expect(await store.list({ caller: 'slack:T1/U1' })).toEqual([]);
      expect(await store.rebuild()).toMatchObject({ runs: 0, listed: [], files: 0, skipped: [] });
      await expect(store.read('inbox.slack.thread' as RunId)).rejects.toMatchObject({ code: 'run_unknown' });
      await resumer.resume();
      expect(resumed).toEqual([]);
    };
    await check();
    await opened.close();
    await check();
  });

  test('calls its listeners for new items, and for a queue that was refused and may be free', async () => {
    const open = disks[kind]!();
    const [store, other] = [await open(), await open()];
    onTestFinished(async () => {
      await store.close();
      if (other !== store) await other.close();
    });
    const clock = virtualClock();
    const inbox = inboxOf(store, clock);
    let told = 0;
    const stop = inbox.watch(() => void told++);
    await inboxOf(other).put('thread', item('1'));
    await expect.poll(() => told).toBeGreaterThan(0);
    const opened = (await inboxOf(other).open('thread'))!;
    expect(await inbox.open('thread')).toBeUndefined();
    expect(await inbox.open('thread')).toBeUndefined();
    await opened.close();
    const before = told;
    expect(clock.waiting).toBe(1);
    await clock.advance(1_000);
    expect(told).toBeGreaterThan(before);
    expect(await inbox.open('thread')).toBeDefined();
    await inbox.open('thread');
    stop();
    expect(clock.waiting).toBe(0);
  });
});

test('an item is on disk without secrets', async () => {
  const store = memoryStore();
  const redact = { json: (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('hush', '***')) as unknown };
  const inbox = inboxOf(store, virtualClock(), redact as Redact);
  await inbox.put('thread', item('1', { body: { text: 'The key is hush.' } }));
  expect((await store.signals())[0]!.body).toEqual({ text: 'The key is ***.' });
});

test('names of headends and queues cannot reach other ids', async () => {
  const store = memoryStore();
  const ports = { store, clock: virtualClock(), resources: { redactFor: () => null } };
  for (const name of ['', 'Slack', 'slack.a', 'a'.repeat(17)])
    expect(() => new StoreInbox(name, ports)).toThrow(CloisterError);
  const inbox = inboxOf(store);
  for (const queue of ['', 'a.b', '../x', 'a'.repeat(41)]) {
    await expect(inbox.put(queue, item('1'))).rejects.toMatchObject({ code: 'name_invalid' });
    await expect(inbox.open(queue)).rejects.toMatchObject({ code: 'name_invalid' });
  }
  await new StoreInbox('other', ports).put('thread', item('1'));
  expect(await inbox.queues()).toEqual([]);
});

test('in memory, a queue that is opened more often than ended runs are kept keeps its items, and the runs stay', async () => {
  const store = memoryStore({ runs: 2 });
  const run = await writeRun(store as Parameters<typeof writeRun>[0]);
  const inbox = inboxOf(store);
  const ids = countingIds();
  await inbox.put('thread', item('1'));
  for (let nth = 0; nth < 10; nth++) {
    await (await inbox.open('thread'))!.close();
    await (await inbox.open(ids.random()))!.close();
  }
  expect(await inbox.queues()).toEqual(['thread']);
  expect((await store.list()).map((one) => one.run)).toEqual([run]);
});

test('what a process had accepted and worked on is there for another one after it is killed', async () => {
  const folder = newFolder();
  const inbox = inboxOf(await openStore(folder));
  await inbox.put('thread', item('first'));
  // It owns the queue, and puts items into it.
  const other = startProcess('signal', folder, 'inbox.slack.thread');
  while (Number(await other.line()) < 20);
  expect(await inbox.open('thread')).toBeUndefined();
  await other.kill();
  let acknowledged = 20;
  for (let line = await other.line(); line !== undefined; line = await other.line()) acknowledged = Number(line);
  const opened = (await inbox.open('thread'))!;
  const ids = (await opened.items()).map(({ id }) => id);
  expect(ids).toEqual(['first', ...ids.slice(1).map((_, nth) => `s${nth}`)]);
  expect(ids.length).toBeGreaterThan(acknowledged + 1);
  for (const id of ids) await opened.remove(id);
  expect(await opened.items()).toEqual([]);
  await opened.close();
});
