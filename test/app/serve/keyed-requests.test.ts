// Requests with one key that arrive while the first of them is still being started.
// invariants: same-key-same-run
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { RunReport, RunSummary, ServedRun } from '#contracts';
import { virtualClock } from '#testkit';
import { KeyedRequests } from '../../../src/app/serve/keyed-requests.ts';

type Only = Parameters<Parameters<KeyedRequests['start']>[2]>[0];

const slowStart = () => {
  const first = Promise.withResolvers<ServedRun>();
  const arrived = Promise.withResolvers<void>();
  let stored: Only | null = null;
  let starts = 0;
  const keyed = new KeyedRequests({
    elsewhere: undefined as never,
    cloister: {
      storage: { tombstone: async () => null } as never,
      runs: async () => (stored === null ? [] : [{ run: stored.run, state: 'ended' } as unknown as RunSummary]),
      show: async () =>
        ({
          ...stored,
          agent: 'lead',
          cells: [{ cell: 'lead-1', outcome: { status: 'completed', output: 'Yes.', failure: null } }],
          events: [],
          causes: [],
        }) as unknown as RunReport,
    },
    clients: {} as never,
    // No wait takes any time: twenty tries are over before anything else happens.
    clock: { now: () => 0, timer: (_ms, due) => (due(), () => undefined) },
    findActive: () => undefined,
    resume: () => Promise.reject(new Error('Nothing was interrupted.')),
  });
  const ask = () =>
    keyed.start({ name: 'ann' }, { agent: 'lead', input: 'Go.', key: 'k1' }, async (only) => {
      starts += 1;
      if (starts > 1 && stored === null) throw new CloisterError('run_owned', 'Owner: this process.');
      arrived.resolve();
      const served = await first.promise;
      stored = only;
      return served;
    });
  return { ask, arrived: arrived.promise, first, starts: () => starts };
};

test('a request that is sent again gets the same run, however long that takes to start', async () => {
  const { ask, arrived, first, starts } = slowStart();
  const one = ask();
  await arrived;
  const [two, three] = [ask(), ask()];
  first.resolve({ run: 'r' } as unknown as ServedRun);
  expect(await one).toEqual({ run: 'r' });
  expect((await (await two).outcome).output).toBe('Yes.');
  expect((await (await three).outcome).output).toBe('Yes.');
  expect(starts()).toBe(1);
});

/** Runs of a key that ended when a test says so, in a store that is read as little as it must be. */
const expiring = (keyMs?: number) => {
  const clock = virtualClock(1_000_000_000);
  const runs = new Map<string, { endedAt: number | null; hash: string; deletedAt?: number }>();
  let reads = 0;
  const keyed = new KeyedRequests({
    elsewhere: undefined as never,
    cloister: {
      storage: {
        tombstone: async (run: string) => {
          const { deletedAt } = runs.get(run) ?? {};
          return deletedAt === undefined ? null : { run, endedAt: null, deletedAt };
        },
      } as never,
      runs: async ({ run = '' } = {}) => {
        reads += 1;
        const known = runs.get(run);
        if (known === undefined || known.deletedAt !== undefined) return [];
        const state = known.endedAt === null ? 'interrupted' : 'ended';
        return [{ run, state, endedAt: known.endedAt } as unknown as RunSummary];
      },
      show: async (run: string) =>
        ({
          run,
          requestHash: runs.get(run)!.hash,
          cells: [{ cell: 'lead-1', outcome: { status: 'completed', output: 'Yes.', failure: null } }],
        }) as unknown as RunReport,
    },
    clients: {} as never,
    clock,
    ...(keyMs === undefined ? {} : { keyMs }),
    findActive: () => undefined,
    resume: async (_caller, run) => ({ run }) as ServedRun,
  });
  const ask = async (input = 'Go.', lastingKey = false): Promise<string> => {
    const request = { agent: 'lead', input, key: 'k1', ...(lastingKey ? { lastingKey } : {}) };
    const { run } = await keyed.start({ name: 'ann' }, request, async (only) => {
      runs.set(only.run, { endedAt: clock.now(), hash: only.requestHash });
      return { run: only.run } as ServedRun;
    });
    return run;
  };
  return { clock, runs, ask, reads: () => reads };
};

const dayMs = 24 * 3_600_000;

// invariant: key-expires-after-end
test('a key holds for a day after the end of its run, and then stands for another run, whatever is requested', async () => {
  const { clock, ask } = expiring();
  const first = await ask();
  await clock.advance(dayMs - 1);
  expect(await ask()).toBe(first);
  await expect(ask('Stop.')).rejects.toMatchObject({ code: 'key_reused' });
  await clock.advance(1);
  const second = await ask('Stop.');
  expect(second).not.toBe(first);
  expect(await ask('Stop.')).toBe(second);
});

test('a run that has not ended keeps its key, however old it is; so does one whose key does not expire', async () => {
  const { clock, runs, ask } = expiring();
  const first = await ask();
  runs.get(first)!.endedAt = null;
  await clock.advance(10 * dayMs);
  expect(await ask()).toBe(first);
  runs.get(first)!.endedAt = 0;
  expect(await ask('Go.', true)).toBe(first);
  const forever = expiring(Infinity);
  const one = await forever.ask();
  await forever.clock.advance(1_000 * dayMs);
  expect(await forever.ask()).toBe(one);
});

test('a deleted run holds its key for a day after its deletion, unless the key stands for a later one', async () => {
  const { clock, runs, ask } = expiring();
  const first = await ask();
  runs.get(first)!.deletedAt = clock.now() + dayMs;
  await clock.advance(dayMs);
  await expect(ask()).rejects.toMatchObject({ code: 'key_reused' });
  await clock.advance(dayMs);
  const second = await ask();
  runs.get(first)!.deletedAt = clock.now();
  expect(await ask()).toBe(second);
});

test('a thousand runs of a key cost few reads', async () => {
  const { clock, ask, reads } = expiring();
  const all = new Set<string>();
  for (let day = 0; day < 1_000; day++) {
    all.add(await ask());
    await clock.advance(dayMs);
  }
  expect(all.size).toBe(1_000);
  const newest = await ask();
  const before = reads();
  expect(await ask()).toBe(newest);
  expect(reads() - before).toBeLessThan(30);
});

test('if it could not be started, the next request tries itself', async () => {
  expect.hasAssertions();
  const { ask, arrived, first, starts } = slowStart();
  const one = ask();
  await arrived;
  const two = ask();
  first.reject(new CloisterError('server_busy', 'Later.'));
  await expect(one).rejects.toMatchObject({ code: 'server_busy' });
  await expect(two).rejects.toMatchObject({ code: 'run_owned' });
  expect(starts()).toBeGreaterThan(1);
});
