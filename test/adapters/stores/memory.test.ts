import { expect, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
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
