// What every store must do with runs that are deleted and imported. `openDisk` makes a new disk, and returns how to open a store on it.
import { afterEach, describe, expect, test } from 'vitest';
import type { Hash, RunId } from '#base';
import type { RunDeletion, Store, Tombstone } from '#contracts';
import { signalOf } from './signals.ts';
import { framesOf, newRun } from './store.ts';

/** Of a run as it is now. */
export const deletionOf = async (store: Store, run: RunId, more: Partial<Tombstone> = {}): Promise<RunDeletion> => {
  const { frames, hash } = await store.hashPrefix(run);
  const tombstone: Tombstone = {
    format: 1,
    run,
    startedAt: 1000,
    endedAt: 1002,
    frames,
    head: hash,
    deletedAt: 5000,
    by: 'operator',
    why: 'a test',
    key: null,
    signature: null,
    ...more,
  };
  return { tombstone, cleanup: { of: run } };
};

export const recordRun = async (
  store: Store,
  run: RunId = newRun(),
  texts: readonly string[] = ['one'],
): Promise<RunId> => {
  const log = await store.acquireRun(run);
  const make = framesOf(run);
  log.append(make.open(texts[0]));
  for (const text of texts) log.append(make.step(text));
  log.append(make.close());
  await log.close();
  return run;
};

type Opener = () => Promise<Store>;

export const conformDeletions = (name: string, openDisk: () => Opener): void => {
  describe(`deletions in the ${name} store`, () => {
    const opened: Store[] = [];
    const newDisk = (): Opener => {
      const open = openDisk();
      return async () => {
        const store = await open();
        if (!opened.includes(store)) opened.push(store);
        return store;
      };
    };
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    // invariants: deletion-in-one-commit, deletion-finished-last
    test('leave a tombstone and nothing else of a run, and the other runs as they were', async () => {
      const store = await newDisk()();
      const [gone, kept] = [await recordRun(store), await recordRun(store)];
      const before = { frames: await store.read(kept), listed: await store.list({ runs: [kept] }) };
      await store.putSignal(signalOf(gone, 'one'));
      const deletion = await deletionOf(store, gone);
      await store.deleteRuns([deletion]);
      const reads = ['read', 'inspect', 'hashPrefix', 'readBodies'] as const;
      for (const read of reads) await expect(store[read](gone)).rejects.toMatchObject({ code: 'run_unknown' });
      expect((await store.list()).map(({ run }) => run)).toEqual([kept]);
      expect(await store.list({ runs: [gone] })).toEqual([]);
      expect(await store.signals()).toEqual([]);
      expect(await store.tombstone(gone)).toEqual(deletion.tombstone);
      expect(await store.tombstone(kept)).toBeNull();
      expect((await store.readWorkspaceLog()).map(({ record }) => record)).toEqual([
        { type: 'tombstone', tombstone: deletion.tombstone },
      ]);
      expect({ frames: await store.read(kept), listed: await store.list({ runs: [kept] }) }).toEqual(before);
      expect([...(await store.runBytes()).keys()]).toEqual([kept]);
    });

    test('stay noted until they are finished, also for other stores on the disk', async () => {
      const open = newDisk();
      const store = await open();
      const run = await recordRun(store);
      await store.deleteRuns([await deletionOf(store, run)]);
      expect(await (await open()).pendingDeletions()).toEqual([{ run, cleanup: { of: run } }]);
      expect(await store.finishDeletions([run])).toMatchObject({ isFinished: true, blobs: 0 });
      expect(await store.pendingDeletions()).toEqual([]);
      // Again, as whoever finds it at the same time does.
      await store.finishDeletions([run]);
      expect(await store.tombstone(run)).toMatchObject({ run });
    });

    // invariant: deletion-all-or-none
    test('are refused for a run that somebody owns, that has changed, or if the workspace log has moved', async () => {
      const store = await newDisk()();
      const [run, other] = [await recordRun(store), await recordRun(store)];
      const deletion = await deletionOf(store, run);
      const log = await store.acquireRun(run);
      await expect(store.deleteRuns([deletion])).rejects.toMatchObject({ code: 'run_owned' });
      log.append(framesOf(run, deletion.tombstone.frames).step());
      await log.close();
      // Both or none.
      const both = [await deletionOf(store, other), deletion];
      await expect(store.deleteRuns(both)).rejects.toMatchObject({ code: 'run_kept' });
      expect(await store.read(other)).toHaveLength(3);
      const now = await deletionOf(store, run);
      await store.appendRecord({ type: 'forget', checkpoints: [] });
      await expect(store.deleteRuns([now], -1)).rejects.toMatchObject({ code: 'book_moved' });
      expect(await store.tombstone(run)).toBeNull();
      await store.deleteRuns([now, await deletionOf(store, other)], 0);
      expect(await store.list()).toEqual([]);
    });

    test('keep the id of a run from being used again', async () => {
      const store = await newDisk()();
      const run = await recordRun(store);
      await store.deleteRuns([await deletionOf(store, run)]);
      await expect(async () => store.acquireRun(run)).rejects.toMatchObject({ code: 'run_exists' });
      await store.finishDeletions([run]);
      await expect(async () => store.acquireRun(run)).rejects.toMatchObject({ code: 'run_exists' });
    });

    test('take along blobs to which no other run refers, and no others', async () => {
      const store = await newDisk()();
      const put = (text: string): Promise<string> => store.putBlob(Buffer.from(text));
      const [mine, shared, again, named, foreign] = await Promise.all(
        ['mine', 'shared', 'again', 'named', 'foreign'].map(put) as [Promise<string>, ...Promise<string>[]],
      );
      const gone = await recordRun(store, newRun(), [`${mine} ${shared}`, `a record with ${again}`]);
      await recordRun(store, newRun(), [`it has ${shared}`]);
      await store.deleteRuns([{ ...(await deletionOf(store, gone)), blobs: [named!] }]);
      // Somebody stores it again, and is about to refer to it.
      await put('again');
      expect(await store.finishDeletions([gone])).toMatchObject({ blobs: 2 });
      for (const ref of [mine, named!])
        await expect(store.getBlob(ref)).rejects.toMatchObject({ code: 'file_missing' });
      for (const ref of [shared!, again!, foreign!]) await store.getBlob(ref);
    });

    // invariant: deletion-names-the-log
    test('can be undone by importing the same records, which are then as they were', async () => {
      const store = await newDisk()();
      const run = await recordRun(store, newRun(), ['körper 🧵', 'line\nbreak \u0000 \ud800']);
      const [frames, bodies, before] = [
        await store.read(run),
        await store.readBodies(run),
        await store.hashPrefix(run),
      ];
      const [listed] = await store.list();
      await store.deleteRuns([await deletionOf(store, run)]);
      await store.finishDeletions([run]);
      const record = { run, frames: bodies.length, head: before.hash, by: 'operator' };
      for (const [wrongBodies, wrongRecord] of [
        [bodies.slice(0, -1), record],
        [bodies, { ...record, run: newRun() }],
        [bodies, { ...record, head: '0'.repeat(64) as Hash }],
        [bodies.map((body) => body.replace('körper', 'kopf')), record],
        [['{', ...bodies.slice(1)], record],
        [[], { ...record, frames: 0 }],
      ] as const)
        await expect(store.importRun(wrongBodies, wrongRecord)).rejects.toMatchObject({ code: 'archive_invalid' });
      expect(await store.list()).toEqual([]);
      await store.importRun(bodies, record);
      expect(await store.read(run)).toEqual(frames);
      expect(await store.readBodies(run)).toEqual(bodies);
      expect(await store.hashPrefix(run)).toEqual(before);
      expect(await store.list()).toEqual([listed]);
      expect(await store.tombstone(run)).toBeNull();
      await expect(store.importRun(bodies, record)).rejects.toMatchObject({ code: 'run_exists' });
      expect((await store.readWorkspaceLog()).at(-1)?.record).toEqual({ type: 'import', ...record });
      // It can be continued.
      const log = await store.acquireRun(run);
      log.append(framesOf(run, bodies.length).step());
      await log.close();
      expect(await store.read(run)).toHaveLength(bodies.length + 1);
    });

    test('find the records that make a run a fork', async () => {
      const store = await newDisk()();
      const [origin, run] = [await recordRun(store), newRun()];
      const log = await store.acquireRun(run);
      const make = framesOf(run);
      log.append(make.open());
      const from = { run: origin, frames: 1, hash: '0'.repeat(64) as Hash, at: 'lead-1/0', forkedAt: 1 };
      log.append(make.next({ type: 'fork', from, amendment: { agent: 'lead' } }));
      await log.close();
      const found = (await store.forkRecords()).map((body) => JSON.parse(body).record);
      expect(found.filter(({ type }) => type === 'fork')).toEqual([
        { type: 'fork', from, amendment: { agent: 'lead' } },
      ]);
    });
  });
};
