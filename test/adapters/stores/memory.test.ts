import { expect, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { FrameRecord } from '#contracts';
import { conformStore, framesOf, newRun } from '../../conformance/store.ts';

conformStore('memory', async () => memoryStore());

test('frames are kept by reference', async () => {
  const store = memoryStore();
  const run = newRun();
  const frame = framesOf(run).open();
  (await store.acquireRun(run)).append(frame);
  expect((await store.read(run))[0]).toBe(frame);
});

test('frames that were read do not grow with the run', async () => {
  const store = memoryStore();
  const run = newRun();
  const make = framesOf(run);
  const log = await store.acquireRun(run);
  log.append(make.open());
  const before = await store.read(run);
  log.append(make.step());
  expect(before).toHaveLength(1);
});

test('a caller’s ended runs are dropped only for its own later ones', async () => {
  const store = memoryStore(2);
  const endedRun = async (caller: string): Promise<RunId> => {
    const run = newRun();
    const log = await store.acquireRun(run);
    const frame = framesOf(run).open();
    log.append({ ...frame, record: { ...frame.record, caller } as FrameRecord });
    await log.close();
    return run;
  };
  const runs = [await endedRun('ann'), await endedRun('ann')];
  for (let nth = 0; nth < 5; nth++) await endedRun('bob');
  expect((await store.list({ caller: 'ann' })).map(({ run }) => run).toSorted()).toEqual(runs.toSorted());
  await endedRun('ann');
  await expect(store.read(runs[0]!)).rejects.toMatchObject({ code: 'run_unknown' });
  expect(await store.list({ caller: 'bob' })).toHaveLength(2);
});
