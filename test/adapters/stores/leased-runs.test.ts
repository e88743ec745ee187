// A store in which a process owns its runs only for as long as its lease lasts.
import { beforeEach, expect, test } from 'vitest';
import type { RunLog } from '#contracts';
import { conformStore, framesOf, newRun } from '../../conformance/store.ts';
import { newMapDisk, openMapStore } from './map-disk.ts';
import type { MapDisk, MapStore } from './map-disk.ts';

type Timer = { readonly at: number; readonly due: () => void };

/** Time passes only when a test says so. */
class TestClock {
  ms = 0;
  #timers: readonly Timer[] = [];

  readonly now = (): number => this.ms;

  readonly timer = (ms: number, due: () => void): (() => void) => {
    const timer = { at: this.ms + ms, due };
    this.#timers = [...this.#timers, timer];
    return () => void (this.#timers = this.#timers.filter((one) => one !== timer));
  };

  async pass(ms: number): Promise<void> {
    const until = this.ms + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= until).toSorted((one, other) => one.at - other.at)[0];
      if (next === undefined) break;
      this.ms = next.at;
      this.#timers = this.#timers.filter((one) => one !== next);
      next.due();
      await settle();
    }
    this.ms = until;
    await settle();
  }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
};

/** One whose requests can be held back on their way to the disk. */
const openLeased = (disk: MapDisk, clock: TestClock) => {
  let gate: PromiseWithResolvers<void> | undefined;
  const store = openMapStore(disk, {
    lease: { now: clock.now, timer: clock.timer, answers: () => gate?.promise ?? Promise.resolve() },
  });
  return {
    store,
    cutOff: () => void (gate = Promise.withResolvers<void>()),
    async connect() {
      gate?.resolve();
      gate = undefined;
      await settle();
    },
  };
};

conformStore('leased log', async () => openMapStore(newMapDisk(), { lease: new TestClock() }));

let disk: MapDisk;
let clock: TestClock;

beforeEach(() => {
  [disk, clock] = [newMapDisk(), new TestClock()];
});

/** A run with one frame on disk. */
const startRun = async (store: MapStore) => {
  const run = newRun();
  const log = await store.acquireRun(run);
  const make = framesOf(run);
  log.append(make.open());
  await log.durable();
  return { run, log, make };
};

const failureOf = (log: RunLog): string[] => {
  const codes: string[] = [];
  log.onFailure?.(({ code }) => void codes.push(code));
  return codes;
};

test('A run whose process renews its lease stays its own, and nobody has to wait', async () => {
  const { store } = openLeased(disk, clock);
  const { log } = await startRun(store);
  for (let second = 0; second < 20; second++) {
    await clock.pass(1000);
    expect(log.durable()).toBeUndefined();
    expect(log.stillOwned?.()).toBeUndefined();
  }
  await expect(openLeased(disk, clock).store.acquireRun((await startRun(store)).run)).rejects.toMatchObject({
    code: 'run_owned',
  });
});

// invariant: durable-while-owned
test('While the lease has lapsed, a run waits; once it is renewed and nobody has taken the run over, it continues', async () => {
  const process = openLeased(disk, clock);
  const { log, make } = await startRun(process.store);
  process.cutOff();
  await clock.pass(2999);
  expect(log.durable()).toBeUndefined();
  await clock.pass(1);
  let isDurable = false;
  void log.durable()!.then(() => (isDurable = true));
  log.append(make.step());
  await clock.pass(5000);
  expect(isDurable).toBe(false);
  await process.connect();
  expect(isDurable).toBe(true);
  expect(log.durable()).toBeUndefined();
});

// invariant: lease-asked-each-second
test('A request for the lease that hangs does not let it lapse', async () => {
  const process = openLeased(disk, clock);
  const { log } = await startRun(process.store);
  process.cutOff();
  await clock.pass(1000);
  await process.connect();
  for (let second = 0; second < 5; second++) {
    process.cutOff();
    await clock.pass(1000);
    await process.connect();
    await clock.pass(1000);
    expect(log.durable()).toBeUndefined();
  }
});

test('Who lost a run is told with the first renewal that comes through, before it does anything', async () => {
  const [first, second] = [openLeased(disk, clock), openLeased(disk, clock)];
  const { run, log, make } = await startRun(first.store);
  const failures = failureOf(log);
  first.cutOff();
  await clock.pass(3000);
  const taken = await second.store.acquireRun(run);
  taken.append(make.step());
  await taken.durable();
  const waiting = log.durable();
  expect(failures).toEqual([]);
  await first.connect();
  await clock.pass(1000);
  expect(failures).toEqual(['run_lost']);
  await expect(waiting).rejects.toMatchObject({ code: 'run_lost' });
  await expect(log.durable()).rejects.toMatchObject({ code: 'run_lost' });
  await expect(log.stillOwned?.()).rejects.toMatchObject({ code: 'run_lost' });
  log.append(make.step());
  await expect(log.close()).rejects.toMatchObject({ code: 'run_lost' });
  await first.store.close();
  expect(disk.state.owners.get(run)?.instance).toBe([...disk.leases.keys()][1]);
  expect(await second.store.read(run)).toHaveLength(2);
  expect(taken.durable()).toBeUndefined();
});

test('A frame of a former owner is refused although its lease is valid again', async () => {
  const [first, second] = [openLeased(disk, clock), openLeased(disk, clock)];
  const { run, log, make } = await startRun(first.store);
  first.cutOff();
  await clock.pass(3000);
  const taken = await second.store.acquireRun(run);
  const step = make.step();
  log.append(step);
  await settle();
  await expect(log.durable()).rejects.toMatchObject({ code: 'run_lost' });
  taken.append(step);
  await taken.durable();
  expect(await second.store.read(run)).toHaveLength(2);
});

test('A commit in the newest term of the lease says whose the run is; it is not asked for again', async () => {
  const process = openLeased(disk, clock);
  const { log, make } = await startRun(process.store);
  process.cutOff();
  await clock.pass(4000);
  await process.connect();
  await clock.pass(1000);
  const before = process.store.transactions();
  log.append(make.step());
  await log.durable();
  expect(log.durable()).toBeUndefined();
  expect(process.store.transactions()).toBe(before + 1);
});

test('A store that closes ends what waits for its lease', async () => {
  const process = openLeased(disk, clock);
  const { log } = await startRun(process.store);
  process.cutOff();
  await clock.pass(3000);
  const waiting = log.durable();
  const closed = process.store.close();
  await expect(waiting).rejects.toMatchObject({ code: 'store_failed' });
  await closed;
});
