import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
import type { Store } from '#contracts';
import { birthOf, conformStore, framesOf, newRun } from '../../conformance/store.ts';
import { openWriter } from '../../../src/adapters/stores/writer.ts';
import { openStore } from './fixture.ts';
import { newMapDisk, openMapStore } from './map-disk.ts';
import type { MapDisk, MapStore } from './map-disk.ts';

conformStore('log', async () => openMapStore(newMapDisk()));

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** The fate of one commit. */
type Fate = 'kept' | 'refused' | 'kept, and said to have failed';

const fates: readonly Fate[] = ['kept', 'kept', 'refused', 'kept, and said to have failed'];

/** A store whose commits have these fates, in order. */
const openStoreWithFates = (disk: MapDisk, fate: readonly Fate[]): MapStore => {
  const coming = [...fate];
  return openMapStore(disk, {
    commit(replace) {
      const next = coming.shift() ?? 'kept';
      if (next !== 'refused') replace();
      if (next !== 'kept') throw new Error('disk I/O error');
    },
  });
};

// invariant: durable-after-commit
test('whatever commits do and whenever the process ends, acknowledged frames are there and the next process continues', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...fates), { maxLength: 12 }),
      fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
      fc.nat(30),
      async (fate, sizes, turns) => {
        const disk = newMapDisk();
        const run = newRun();
        const store = openStoreWithFates(disk, fate);
        let acknowledged = 0;
        const work = async (): Promise<void> => {
          const log = await store.acquireRun(run);
          const make = framesOf(run);
          let appended = 0;
          for (const size of sizes) {
            for (let one = 0; one <= size; one++, appended++) log.append(appended === 0 ? make.open() : make.step());
            await log.durable();
            acknowledged = appended;
          }
        };
        work().catch(() => {});
        for (let passed = 0; passed < turns; passed++) await turn();
        store.kill();

        const next = openMapStore(disk);
        const kept = await next.read(run).catch(() => []);
        expect(kept.length).toBeGreaterThanOrEqual(acknowledged);
        expect(kept.map(({ no }) => no)).toEqual(kept.map((_, at) => at));
        const log = await next.acquireRun(run);
        const make = framesOf(run, kept.length);
        log.append(kept.length === 0 ? make.open() : make.step());
        await log.close();
        expect(await next.read(run)).toHaveLength(kept.length + 1);
        await next.close();
      },
    ),
    { numRuns: 300 },
  ));

test('after a commit that failed but was stored, the run continues from what is there', async () => {
  const store = openStoreWithFates(newMapDisk(), ['kept', 'kept', 'kept, and said to have failed', 'refused']);
  const run = newRun();
  const make = framesOf(run);
  const log = await store.acquireRun(run);
  log.append(make.open());
  await log.durable();
  log.append(make.step());
  await expect(log.durable()).rejects.toMatchObject({ code: 'store_failed' });
  await expect(log.close()).rejects.toMatchObject({ code: 'store_failed' });
  expect(await store.read(run)).toHaveLength(2);
  const again = await store.acquireRun(run);
  again.append(make.step());
  await again.durable();
  expect(await store.read(run)).toHaveLength(3);
  again.append(framesOf(run).step());
  await expect(again.durable()).rejects.toThrow('does not follow frame 2');
});

test('a batch after a refused one works', async () => {
  const store = openStoreWithFates(newMapDisk(), ['refused', 'refused']);
  const run = newRun();
  await expect(store.acquireRun(run)).rejects.toMatchObject({ code: 'store_failed' });
  await expect(store.acquireRun(run)).rejects.toMatchObject({ code: 'store_failed' });
  await (await store.acquireRun(run)).close();
});

test('the list of runs is the same whether frames come in one batch or one by one, on any disk', async () => {
  const run = newRun();
  const child = { type: 'begin', op: 0, do: 'child', name: 'c', birth: birthOf('c-1', 'c', 'lead-1') } as const;
  const make = framesOf(run);
  const frames = [make.open(), make.next(child), make.step(), make.next(child), make.close('partial'), make.step()];
  const listOf = async (store: Store, oneByOne: boolean) => {
    const log = await store.acquireRun(run);
    for (const frame of frames) {
      log.append(frame);
      if (oneByOne) await log.durable();
    }
    await log.close();
    return store.list();
  };
  const whole = await listOf(memoryStore(), false);
  expect(whole).toMatchObject([{ cells: 3, state: 'ended', status: 'partial', endedAt: 1004 }]);
  for (const oneByOne of [true, false]) {
    expect(await listOf(openMapStore(newMapDisk()), oneByOne)).toEqual(whole);
    expect(await listOf(await openStore(), oneByOne)).toEqual(whole);
  }
});

test('closing releases the runs that are still owned', async () => {
  const disk = newMapDisk();
  const run = newRun();
  const first = openMapStore(disk);
  await first.acquireRun(run);
  const second = openMapStore(disk);
  await expect(second.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
  await first.close();
  await (await second.acquireRun(run)).close();
});

describe('a run that could not be released when it ended is released when the store closes', () => {
  const endedBadly = async (disk: MapDisk, store: MapStore) => {
    const run = newRun();
    const log = await store.acquireRun(run);
    await expect(log.close()).rejects.toMatchObject({ code: 'store_failed' });
    const other = openMapStore(disk);
    await expect(other.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
    await store.close();
    return other.acquireRun(run);
  };

  test.for([
    ['its commit failed', ['kept', 'refused']],
    ['its commit failed, and so does the next', ['kept', 'refused', 'refused']],
  ] as const)('%s', async ([, fate]) => {
    const disk = newMapDisk();
    const log = await endedBadly(disk, openStoreWithFates(disk, fate));
    await log.close();
    expect(disk.state.owners.size).toBe(0);
  });

  // invariant: writer-close-reaches-thread
  test('the thread died of it', async () => {
    const disk = newMapDisk();
    const log = await endedBadly(disk, openMapStore(disk, { dies: (batch) => batch === 2 }));
    await log.close();
    expect(disk.state.owners.size).toBe(0);
  });
});

// invariant: released-in-the-end
test.for([
  ['its commit failed', ['kept', 'refused']],
  ['its commit failed, and so do the next two', ['kept', 'refused', 'refused', 'refused']],
  ['its commit was kept, and said to have failed', ['kept', 'kept, and said to have failed']],
] as const)(
  'a run that could not be released is released with the next thing that is written: %s',
  async ([, fate]) => {
    const disk = newMapDisk();
    const [run, later] = [newRun(), newRun()];
    const store = openStoreWithFates(disk, fate);
    const log = await store.acquireRun(run);
    await expect(log.close()).rejects.toMatchObject({ code: 'store_failed' });
    const write = () => store.putBlob(new Uint8Array([1]));
    for (const next of fate.slice(2)) await expect(write(), next).rejects.toMatchObject({ code: 'store_failed' });
    await write();
    const other = openMapStore(disk);
    await (await other.acquireRun(run)).close();
    // It can also be what the store itself wants next, and is owned then.
    const again = await store.acquireRun(run);
    await (await store.acquireRun(later)).close();
    await expect(other.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
    await again.close();
  },
);

test('a store that wrote nothing needs no thread to close', async () => {
  const disk = newMapDisk();
  let commits = 0;
  const store = openMapStore(disk, { commit: () => void (commits += 1) });
  await expect(store.read(newRun())).rejects.toMatchObject({ code: 'run_unknown' });
  await store.close();
  expect(commits).toBe(0);
});

test('a run of a dead process is taken over; one of a live process is refused, naming the owner', async () => {
  const disk = newMapDisk();
  const run = newRun();
  const first = openMapStore(disk);
  const log = await first.acquireRun(run);
  log.append(framesOf(run).open());
  await log.durable();
  const second = openMapStore(disk);
  await expect(second.acquireRun(run)).rejects.toThrow(/process \d+ on here since 1970/u);
  first.kill();
  expect(await second.list()).toMatchObject([{ run, state: 'interrupted', owner: null }]);
  await (await second.acquireRun(run)).close();
});

test('a batch keeps its items until it is acknowledged, and no longer', async () => {
  const posted: number[] = [];
  const writer = openWriter(
    {
      startThread: (listener) => ({
        post(message) {
          if (message.type === 'batch') posted.push(message.items.length);
          const ack = { failure: null, refused: [], broken: [], transactions: 1 };
          setImmediate(() => (message.type === 'close' ? listener.ended('') : listener.acknowledge(ack)));
        },
        ref: () => undefined,
        unref: () => undefined,
      }),
      defer: (work) => void setImmediate(work),
      later: () => undefined,
    },
    { onRunFailed: () => undefined, onRunCommitted: () => undefined },
  );
  const run = newRun();
  const batch = writer.add({ do: 'frame', run, no: 0, body: 'x'.repeat(1_000_000), epoch: 1 });
  expect(writer.add({ do: 'frame', run, no: 1, body: 'y', epoch: 1 })).toBe(batch);
  await batch.done;
  await turn();
  expect([posted, batch.items]).toEqual([[2], []]);
  await writer.close();
});
