// Requests with one key that arrive while the first of them is still being started.
// invariants: same-key-same-run
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { RunReport, RunSummary, ServedRun } from '#contracts';
import { KeyedRequests } from '../../../src/app/serve/keyed-requests.ts';

type Only = Parameters<Parameters<KeyedRequests['start']>[2]>[0];

const slowStart = () => {
  const first = Promise.withResolvers<ServedRun>();
  const arrived = Promise.withResolvers<void>();
  let stored: Only | null = null;
  let starts = 0;
  const keyed = new KeyedRequests({
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
