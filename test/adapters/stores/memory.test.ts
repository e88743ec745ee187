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
  const store = memoryStore({ runs: 2 });
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

// invariant: memory-ended-bounded
test('a caller’s ended runs are dropped past a number of bytes, with their large values, but never the newest', async () => {
  const store = memoryStore({ bytes: 1_000_000 });
  const endedRun = async (text: string, ref?: string): Promise<RunId> => {
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    log.append(
      make.next({
        type: 'settle',
        op: 1,
        ok: true,
        value: { text, ...(ref === undefined ? {} : { output: { ref } }) },
      }),
    );
    await log.close();
    return run;
  };
  const shared = await store.putBlob(new Uint8Array(50_000).fill(1));
  const own = await store.putBlob(new Uint8Array(50_000).fill(2));
  const first = await endedRun('x'.repeat(100_000), own);
  const second = await endedRun('x'.repeat(200_000), shared);
  const third = await endedRun('x'.repeat(100_000), shared);
  expect(await store.list()).toHaveLength(3);
  const fourth = await endedRun('x'.repeat(100_000));
  expect((await store.list()).map(({ run }) => run)).toEqual([fourth, third, second]);
  await expect(store.read(first)).rejects.toMatchObject({ code: 'run_unknown' });
  await expect(store.getBlob(own)).rejects.toMatchObject({ code: 'file_missing' });
  const large = await endedRun('x'.repeat(2_000_000));
  expect((await store.list()).map(({ run }) => run)).toEqual([large]);
  await expect(store.getBlob(shared)).rejects.toMatchObject({ code: 'file_missing' });
  const next = await endedRun('small');
  expect((await store.list()).map(({ run }) => run)).toEqual([next]);
});

test('a large value stays while a run that began before it was dropped may refer to it', async () => {
  const store = memoryStore({ runs: 1 });
  const ref = await store.putBlob(new Uint8Array(9));
  const end = async (value: object): Promise<void> => {
    const log = await store.acquireRun(newRun());
    const make = framesOf(newRun());
    log.append(make.open());
    log.append(make.next({ type: 'settle', op: 1, ok: true, value: { ...value } }));
    await log.close();
  };
  await end({ ref });
  const running = await store.acquireRun(newRun());
  running.append(framesOf(newRun()).open());
  await end({});
  expect(await store.getBlob(ref)).toHaveLength(9);
  await running.close();
  await expect(store.getBlob(ref)).rejects.toMatchObject({ code: 'file_missing' });
});
