// A long log is read in pieces, with the same result.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { framesOf, newRun } from '../../conformance/store.ts';
import { newFolder, openStore } from './fixture.ts';

const steps = 900;

const longRun = async () => {
  const folder = newFolder();
  const store = await openStore(folder);
  const run = newRun();
  const log = await store.acquireRun(run);
  const make = framesOf(run);
  const frames = [make.open(), ...Array.from({ length: steps }, (_, nth) => make.step(`step ${nth}`))];
  for (const frame of frames) log.append(frame);
  await log.durable();
  return { folder, store, run, log, make, frames };
};

test('a long log is returned complete, and other work gets its turn meanwhile', async () => {
  const { store, run, frames } = await longRun();
  let turns = 0;
  let reading = true;
  const count = (): void => {
    turns += 1;
    if (reading) setImmediate(count);
  };
  setImmediate(count);
  const read = await store.read(run);
  reading = false;
  expect(read).toEqual(frames);
  expect(turns).toBeGreaterThan(2);
});

test('records appended during a read are in the next read', async () => {
  const { store, run, log, make, frames } = await longRun();
  const reading = store.read(run);
  const more = make.close();
  log.append(more);
  await log.close();
  const read = await reading;
  expect([frames.length, frames.length + 1]).toContain(read.length);
  expect(read.slice(0, frames.length)).toEqual(frames);
  expect(await store.read(run)).toEqual([...frames, more]);
});

test.for([0, 249, 250, 600, steps])(
  'damage to frame %d is reported the same way as when reading the whole log',
  async (no) => {
    const { folder, store, run } = await longRun();
    const database = new DatabaseSync(join(folder, 'cloister.db'));
    onTestFinished(() => database.close());
    database.prepare("UPDATE frames SET body = body || ' ' WHERE run = ? AND no = ?").run(run, no);
    const { problems } = await store.inspect(run);
    expect(problems).toEqual([`frame ${no} of run ${run} is damaged`]);
    await expect(store.read(run)).rejects.toMatchObject({
      failure: { code: 'store_damaged', detail: problems.join('; ') },
    });
    database.prepare('DELETE FROM frames WHERE run = ? AND no = ?').run(run, no);
    await expect(store.read(run)).rejects.toMatchObject({
      failure: { code: 'store_damaged', detail: expect.stringContaining(`frame ${no} of run ${run} is missing`) },
    });
  },
);

test('frames beyond the listed end are reported', async () => {
  const { folder, store, run } = await longRun();
  const database = new DatabaseSync(join(folder, 'cloister.db'));
  onTestFinished(() => database.close());
  database.prepare('UPDATE runs SET frames = frames - 300 WHERE run = ?').run(run);
  await expect(store.read(run)).rejects.toMatchObject({
    failure: { code: 'store_damaged', detail: expect.stringContaining('the list of runs says it ends at') },
  });
});

test('a read fails with a clear error if the store is closed meanwhile', async () => {
  const { store, run, log } = await longRun();
  await log.close();
  const reading = store.read(run);
  const closing = store.close();
  await expect(reading).rejects.toMatchObject({ code: 'store_failed' });
  await closing;
});
