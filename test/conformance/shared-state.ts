// What every store must do for processes that share it: runs that are followed, values that all may write, who is still there, and, where
// it can, live words. `openDisk` makes a new disk, and returns how to open a store on it, as any process would.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject, RunId } from '#base';
import type { Frame, Store } from '#contracts';
import { framesOf, newRun } from './store.ts';
import { deletionOf } from './deletions.ts';

type Opener = () => Promise<Store>;

/** `live`: processes of the store hear what others say live. */
type SharedStoreTraits = { readonly live?: boolean };

export const conformSharedState = (name: string, openDisk: () => Opener, traits: SharedStoreTraits = {}): void => {
  describe(`processes that share the ${name} store`, () => {
    const opened: Store[] = [];
    const closeAll = async (): Promise<void> => {
      for (const store of opened.splice(0)) await store.close();
    };
    const newDisk = (): Opener => {
      const open = openDisk();
      return async () => {
        const store = await open();
        if (!opened.includes(store)) opened.push(store);
        return store;
      };
    };
    afterEach(closeAll);

    describeFollow(newDisk, closeAll);
    describeShared(newDisk, closeAll);

    test('are live while their stores are open, and one that was never there is not', async () => {
      const open = newDisk();
      const [one, other] = [await open(), await open()];
      expect(await one.isLive(other.instance)).toBe(true);
      expect(await other.isLive(one.instance)).toBe(true);
      expect(await one.isLive('nobody')).toBe(false);
    });

    test.runIf(traits.live === true)('hear what others say live, in order, and only while they listen', async () => {
      const open = newDisk();
      const [here, there] = [await open(), await open()];
      const run = newRun();
      expect(here.live!.isFollowed(run)).toBe(false);
      const heard: JsonObject[] = [];
      const all = Promise.withResolvers<void>();
      const stop = there.live!.subscribe(run, (piece) => {
        heard.push(piece);
        if (heard.length === 20) all.resolve();
      });
      await expect.poll(() => here.live!.isFollowed(run), { timeout: noticedMs }).toBe(true);
      // Whoever listens in the same process is told without the store.
      expect(there.live!.isFollowed(run)).toBe(false);
      here.live!.publish(newRun(), { text: 'of another run' });
      for (let nth = 0; nth < 20; nth++) here.live!.publish(run, { nth });
      await all.promise;
      expect(heard).toEqual(Array.from({ length: 20 }, (_, nth) => ({ nth })));
      stop();
      await expect.poll(() => here.live!.isFollowed(run), { timeout: noticedMs }).toBe(false);
    });
  });
};

/** Something is noticed within this time, with room for a busy machine. */
const noticedMs = 5_000;

const describeFollow = (newDisk: () => Opener, closeAll: () => Promise<void>): void => {
  // invariant: followed-frames-once
  test('follow a run from any frame on: each frame once, in order, whichever process writes it', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(4), { minLength: 1, maxLength: 8 }),
        fc.nat(20),
        fc.boolean(),
        async (groups, start, early) => {
          const open = newDisk();
          const [writing, following] = [await open(), await open()];
          const run = newRun();
          const make = framesOf(run);
          const frames = [
            make.open(),
            ...groups.flatMap((size) => Array.from({ length: size + 1 }, () => make.step())),
          ];
          const from = Math.min(start, frames.length - 1);
          const log = await writing.acquireRun(run);
          log.append(frames[0]!);
          await log.durable();
          const followers = [writing, following].map((store) => startFollowing(store, run, from));
          const seen = early ? followers.map((one) => one.until(frames.length - from)) : [];
          let at = 1;
          for (const size of groups) {
            for (let nth = 0; nth <= size; nth++) log.append(frames[at++]!);
            await log.durable();
          }
          if (!early) seen.push(...followers.map((one) => one.until(frames.length - from)));
          for (const one of await Promise.all(seen)) expect(one).toEqual(frames.slice(from));
          for (const one of followers) await one.stop();
          await log.close();
          await closeAll();
        },
      ),
      { numRuns: 12 },
    ));

  test('see the frames of a run that another process continues', async () => {
    const open = newDisk();
    const [one, other, third] = [await open(), await open(), await open()];
    const run = newRun();
    const make = framesOf(run);
    const frames = [make.open(), make.step(), make.step()];
    const follower = startFollowing(third, run, 0);
    for (const [nth, store] of [one, other, one].entries()) {
      const log = await store.acquireRun(run);
      log.append(frames[nth]!);
      await log.close();
      expect(await follower.until(nth + 1)).toEqual(frames.slice(0, nth + 1));
    }
    await follower.stop();
  });

  test('stop following while nothing comes', async () => {
    const store = await newDisk()();
    const run = newRun();
    const log = await store.acquireRun(run);
    log.append(framesOf(run).open());
    await log.durable();
    const frames = store.follow(run, 1)[Symbol.asyncIterator]();
    const next = frames.next();
    await frames.return!();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await frames.next()).toEqual({ done: true, value: undefined });
    await log.close();
  });

  test('cannot follow a run that has no frames, or that is deleted meanwhile', async () => {
    const open = newDisk();
    const [here, there] = [await open(), await open()];
    await expect(startFollowing(here, newRun(), 0).until(1)).rejects.toMatchObject({ code: 'run_unknown' });
    const run = newRun();
    const log = await there.acquireRun(run);
    log.append(framesOf(run).open());
    log.append(framesOf(run, 1).close());
    await log.close();
    const follower = startFollowing(here, run, 0);
    await follower.until(2);
    const next = follower.until(3);
    next.catch(() => undefined);
    await there.deleteRuns([{ ...(await deletionOf(there, run)) }]);
    await expect(next).rejects.toMatchObject({ code: 'run_unknown' });
  });

  test('hear that the store was closed', async () => {
    const store = await newDisk()();
    const run = newRun();
    const log = await store.acquireRun(run);
    log.append(framesOf(run).open());
    await log.close();
    const follower = startFollowing(store, run, 0);
    await follower.until(1);
    const next = follower.until(2);
    next.catch(() => undefined);
    await store.close();
    await expect(next).rejects.toMatchObject({ code: 'store_failed' });
  });
};

const describeShared = (newDisk: () => Opener, closeAll: () => Promise<void>): void => {
  test('have one value for each key, and a write that names an older version changes nothing', () =>
    fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 20 }), async (writes) => {
        const open = newDisk();
        const stores = [await open(), await open()];
        const model = new Map<string, { value: JsonObject | null; version: number }>();
        for (const { store, key, value, behind } of writes) {
          const before = model.get(key) ?? { value: null, version: 0 };
          const version = Math.max(before.version - behind, 0);
          const isWritten = await stores[store]!.writeShared(key, value, version);
          expect(isWritten).toBe(version === before.version);
          if (isWritten) model.set(key, { value, version: version + 1 });
          for (const one of stores) expect(await one.readShared(key)).toEqual(model.get(key) ?? before);
        }
        await closeAll();
      }),
      { numRuns: 15 },
    ));

  // invariant: shared-written-once
  test('add up to what each has added, however many write at the same time', async () => {
    const open = newDisk();
    const stores = [await open(), await open(), await open()];
    const add = async (store: Store): Promise<void> => {
      for (;;) {
        const { value, version } = await store.readShared('sum');
        if (await store.writeShared('sum', { sum: Number(value?.['sum'] ?? 0) + 1 }, version)) return;
      }
    };
    await Promise.all(stores.flatMap((store) => Array.from({ length: 5 }, () => add(store))));
    expect(await stores[0]!.readShared('sum')).toEqual({ value: { sum: 15 }, version: 15 });
  });

  test.for([
    ['no key', '', {}, 0, 'options_invalid'],
    ['an endless key', 'x'.repeat(201), {}, 0, 'options_invalid'],
    ['half a character', '\ud800', {}, 0, 'options_invalid'],
    ['a list', 'key', [] as never, 0, 'options_invalid'],
    ['a value that is no JSON', 'key', { n: 1n as never }, 0, 'options_invalid'],
    ['no version', 'key', {}, Number.NaN, 'options_invalid'],
    ['too much', 'key', { text: 'ä'.repeat(600_000) }, 0, 'request_too_large'],
  ] as const)('refuse a shared value with %s', async ([, key, value, version, code]) => {
    const store = await newDisk()();
    await expect(store.writeShared(key, value, version)).rejects.toMatchObject({ code });
    expect(await store.readShared('key')).toEqual({ value: null, version: 0 });
  });

  test('cannot change a value that they have read', async () => {
    const store = await newDisk()();
    await store.writeShared('key', { list: ['a'] }, 0);
    const { value } = await store.readShared('key');
    expect(() => (value!['list'] as string[]).push('b')).toThrow(TypeError);
  });
};

const write = fc.record({
  store: fc.nat(1),
  key: fc.constantFrom('one', 'ünïcode 🧵', "'; --"),
  value: fc.option(fc.record({ text: fc.string({ unit: 'grapheme' }) })),
  behind: fc.constantFrom(0, 0, 0, 1, 2),
});

const startFollowing = (store: Store, run: RunId, from: number) => {
  const iterator = store.follow(run, from)[Symbol.asyncIterator]();
  const seen: Frame[] = [];
  return {
    /** Everything seen, once so many frames have come. */
    async until(count: number): Promise<readonly Frame[]> {
      while (seen.length < count) {
        const { value, done } = await iterator.next();
        if (done === true) throw new Error('There are no more frames.');
        seen.push(...value);
      }
      return seen;
    },
    stop: () => iterator.return?.(),
  };
};
