// What every store must do with signals. `openDisk` makes a new disk, and returns how to open a store on it, as any process would.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunId } from '#base';
import type { Signal, Store } from '#contracts';
import { newRun } from './store.ts';

export const signalOf = (run: string, id: string, more: Partial<Signal> = {}): Signal => ({
  run: run as RunId,
  id,
  by: 'operator',
  at: 1000,
  body: { command: { do: 'cancel' } },
  ...more,
});

/** A signal is noticed within this time, with room for a busy machine. */
const noticedMs = 5_000;

type Opener = () => Promise<Store>;

export const conformSignals = (name: string, openDisk: () => Opener): void => {
  describe(`signals in the ${name} store`, () => {
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

    // invariant: signal-once
    test('are kept, found and removed as in a list without duplicates', () =>
      fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
          const open = newDisk();
          const stores = [await open(), await open()];
          let model: readonly Signal[] = [];
          for (const { store: which, does, signal } of operations) {
            const store = stores[which]!;
            const isSame = (one: Signal): boolean => one.run === signal.run && one.id === signal.id;
            if (does === 'put') {
              const isNew = !model.some(isSame);
              expect(await store.putSignal(signal)).toBe(isNew);
              if (isNew) model = [...model, signal];
            } else {
              await store.removeSignal(signal.run, signal.id);
              model = model.filter((one) => !isSame(one));
            }
            expect(await store.signals()).toEqual(model);
            expect(await store.signals(signal.run)).toEqual(model.filter(({ run }) => run === signal.run));
          }
          await closeAll();
        }),
        { numRuns: 15 },
      ));

    test('of many that are put at once come in that order, each once', async () => {
      const open = newDisk();
      const [one, other] = [await open(), await open()];
      const run = newRun();
      const stored = await Promise.all(
        Array.from({ length: 200 }, (_, nth) => (nth % 2 === 0 ? one : other).putSignal(signalOf(run, `s${nth >> 1}`))),
      );
      expect(stored.filter(Boolean)).toHaveLength(100);
      const found = await one.signals(run);
      expect(found.map(({ id }) => id).toSorted()).toEqual(
        Array.from({ length: 100 }, (_, nth) => `s${nth}`).toSorted(),
      );
      expect(await other.signals(run)).toEqual(found);
    });

    test('cannot be changed by whoever put or read them', async () => {
      const store = await newDisk()();
      const run = newRun();
      const body = { list: ['a'] };
      const put = store.putSignal(signalOf(run, 'one', { body }));
      body.list.push('b');
      await put;
      const [found] = await store.signals(run);
      expect(found!.body).toEqual({ list: ['a'] });
      expect(() => (found!.body['list'] as string[]).push('c')).toThrow(TypeError);
    });

    test('wake those who watch, in this store and in others of the disk, until they stop', async () => {
      const open = newDisk();
      const [here, there] = [await open(), await open()];
      const run = newRun();
      for (const [nth, putting] of [here, there, here].entries()) {
        const woken = [here, there].map((store) => nextSignal(store));
        expect(await putting.putSignal(signalOf(run, `s${nth}`))).toBe(true);
        expect(await Promise.all(woken)).toEqual(['noticed', 'noticed']);
      }
      let calls = 0;
      const stop = here.watchSignals(() => void calls++);
      stop();
      stop();
      const woken = nextSignal(there);
      await here.putSignal(signalOf(run, 'after'));
      expect([await woken, calls]).toEqual(['noticed', 0]);
    });

    test('wake nobody during the call that puts them, and only once they can be read', async () => {
      const store = await newDisk()();
      const run = newRun();
      const found = Promise.withResolvers<readonly Signal[]>();
      let isCalling = true;
      let duringCall = false;
      const stop = store.watchSignals(() => {
        duringCall ||= isCalling;
        const read = store.signals(run);
        // It may call more than once, the last time when the store is about to be closed.
        read.catch(() => undefined);
        found.resolve(read);
      });
      const put = store.putSignal(signalOf(run, 'one'));
      isCalling = false;
      await put;
      expect((await found.promise).map(({ id }) => id)).toEqual(['one']);
      expect(duringCall).toBe(false);
      stop();
    });

    // invariant: signals-bounded
    test('of one run are bounded, and leave room for those of others', async () => {
      const store = await newDisk()();
      const [full, other] = [newRun(), newRun()];
      const put = (nth: number): Promise<boolean> => store.putSignal(signalOf(full, `s${nth}`));
      await Promise.all(Array.from({ length: 1_000 }, (_, nth) => put(nth)));
      await expect(put(1_000)).rejects.toMatchObject({ code: 'mailbox_full' });
      expect(await put(7)).toBe(false);
      expect(await store.putSignal(signalOf(other, 's'))).toBe(true);
      await store.removeSignal(full, 's3');
      expect(await put(1_000)).toBe(true);
      expect((await store.signals(full)).at(-1)!.id).toBe('s1000');
    });

    test.for([
      ['a run that is no name', { run: '../x' as RunId }, 'name_invalid'],
      ['a run that is no text', { run: 7 as unknown as RunId }, 'name_invalid'],
      ['no id', { id: '' }, 'options_invalid'],
      ['an endless id', { id: 'x'.repeat(201) }, 'options_invalid'],
      ['half a character', { id: '\ud800' }, 'options_invalid'],
      ['no sender', { by: undefined as unknown as string }, 'options_invalid'],
      ['no time', { at: Number.NaN }, 'options_invalid'],
      ['a list', { body: [] as never }, 'options_invalid'],
      ['no body', { body: undefined as never }, 'options_invalid'],
      ['a body that is no JSON', { body: { n: 1n } as never }, 'options_invalid'],
      ['too much', { body: { text: 'ä'.repeat(600_000) } }, 'request_too_large'],
    ] as const)('with %s are refused, and nothing is stored', async ([, wrong, code]) => {
      const store = await newDisk()();
      await expect(store.putSignal(signalOf('run', 'one', wrong))).rejects.toMatchObject({ code });
      expect(await store.signals()).toEqual([]);
    });

    test('that nobody has can be removed', async () => {
      const store = await newDisk()();
      await store.removeSignal(newRun(), 'none');
      expect(await store.signals()).toEqual([]);
    });
  });
};

const operation = fc.record({
  store: fc.nat(1),
  does: fc.constantFrom('put', 'put', 'remove'),
  signal: fc
    .record({
      run: fc.constantFrom('run-a', 'run-b'),
      id: fc.constantFrom('one', 'two', 'ünïcode 🧵', "'; --"),
      by: fc.constantFrom('ann', 'the operator'),
      at: fc.nat(),
      text: fc.string({ unit: 'binary' }),
    })
    .map(({ run, id, by, at, text }) => signalOf(run, id, { by, at, body: { text } })),
});

/** Resolves once the store calls its listener. */
const nextSignal = (store: Store): Promise<'noticed' | 'missed'> =>
  new Promise((resolve) => {
    const stop = store.watchSignals(() => over('noticed'));
    const timer = setTimeout(() => over('missed'), noticedMs);
    const over = (how: 'noticed' | 'missed'): void => {
      clearTimeout(timer);
      stop();
      resolve(how);
    };
  });
