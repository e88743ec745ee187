// How long runs are kept: by age, number and bytes; conversations as a whole, and nothing that is still needed.
import { virtualClock } from '#testkit';
import { expect, test } from 'vitest';
import { newWorkspace, openTalk, takeTurn } from '../conversations-driver.ts';

const dayMs = 86_400_000;

/** A run, a conversation of two turns, a run with a checkpoint that was asked for, and a new run; a day apart each. */
const months = async () => {
  const clock = virtualClock();
  const { cloister } = await openTalk({ workspace: newWorkspace(), clock });
  const runs: string[] = [];
  for (const conversation of ['a', 'trip', 'trip', 'kept', 'new']) {
    runs.push((await takeTurn({ cloister }, 'Hello.', { conversation })).run);
    if (conversation === 'kept') await cloister.checkpoints.create(runs.at(-1)!);
    await clock.advance(dayMs);
  }
  const left = async (): Promise<readonly number[]> => {
    const all = new Set<string>((await cloister.runs()).map(({ run }) => run));
    return runs.flatMap((run, nth) => (all.has(run) ? [nth] : []));
  };
  return { cloister, left };
};

// invariants: expiry-by-conversation, expiry-spares
test('runs go by age, a conversation with its newest turn, and a checkpoint that was asked for keeps its own', async () => {
  const { cloister, left } = await months();
  expect(await cloister.storage.expire({ days: 3.5 }, { dryRun: true })).toHaveLength(1);
  expect(await left()).toEqual([0, 1, 2, 3, 4]);
  expect(await cloister.storage.expire({ days: 3.5 })).toMatchObject([{ by: 'retention' }]);
  expect(await left()).toEqual([1, 2, 3, 4]);
  await cloister.storage.expire({ days: 2.5 });
  expect(await left()).toEqual([3, 4]);
  await cloister.storage.expire({ days: 0 });
  expect(await left()).toEqual([3]);
});

test('runs go by number and by bytes, oldest first, and only those of the agent that is named', async () => {
  const { cloister, left } = await months();
  expect(await cloister.storage.expire({ runs: 0, agent: 'nobody' })).toEqual([]);
  await cloister.storage.expire({ runs: 4 });
  expect(await left()).toEqual([1, 2, 3, 4]);
  await cloister.storage.expire({ bytes: 1 });
  expect(await left()).toEqual([3]);
  await expect(cloister.storage.expire({ runs: -1 })).rejects.toMatchObject({ code: 'options_invalid' });
});
