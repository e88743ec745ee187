// How long runs are kept: by age, number and bytes; conversations as a whole, and nothing that is still needed.
import { virtualClock } from '#testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunId } from '#base';
import type { KeepLimits, KeepRules } from '#contracts';
import { expiredUnits, KeepUnits } from '../../../src/app/storage/expired-runs.ts';
import type { KeepUnit } from '../../../src/app/storage/expired-runs.ts';
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
  expect(await cloister.storage.expire({ agents: { nobody: { runs: 0 } } })).toEqual([]);
  await cloister.storage.expire({ runs: 4 });
  expect(await left()).toEqual([1, 2, 3, 4]);
  await cloister.storage.expire({ bytes: 1 });
  expect(await left()).toEqual([3]);
  await expect(cloister.storage.expire({ runs: -1 })).rejects.toMatchObject({ code: 'options_invalid' });
});

// invariant: expiry-leaves-copied
test('a run of which a fork or a branch holds copies stays, without holding up others, until the copy is gone', async () => {
  const clock = virtualClock();
  const { cloister } = await openTalk({ workspace: newWorkspace(), clock });
  const runs: string[] = [];
  for (const conversation of ['forked', 'branched', 'plain'])
    runs.push((await takeTurn({ cloister }, 'Hello.', { conversation })).run);
  const [root] = (await cloister.show(runs[0]!)).cells;
  const fork = await cloister.fork(runs[0]!, { at: root!.cell });
  await fork.outcome;
  const saved = (await cloister.checkpoints.list()).find(({ run }) => run === runs[1]);
  await cloister.checkpoints.branch(saved!.id, { name: 'copy' });
  await takeTurn({ cloister }, 'Go on.', { conversation: 'copy' });
  await clock.advance(dayMs);
  expect((await cloister.storage.expire({ days: 0.5 }, { dryRun: true })).map(({ run }) => run)).not.toContain(runs[0]);
  const gone = async (): Promise<readonly boolean[]> => {
    await cloister.storage.expire({ days: 0.5 });
    const left = new Set<string>((await cloister.runs()).map(({ run }) => run));
    return runs.map((run) => !left.has(run));
  };
  expect(await gone()).toEqual([false, false, true]);
  expect(await gone()).toEqual([true, true, true]);
});

const limits = fc.record(
  { days: fc.nat(6), runs: fc.nat(6), bytes: fc.nat(60) },
  { requiredKeys: [] },
) satisfies fc.Arbitrary<KeepLimits>;

const agents = ['lead', 'scout', 'constructor'] as const;

const rules: fc.Arbitrary<KeepRules> = fc
  .tuple(limits, fc.dictionary(fc.constantFrom(...agents), limits))
  .map(([common, own]) => ({ ...common, agents: own }));

const unit = fc.record({
  agent: fc.constantFrom(...agents),
  count: fc.integer({ min: 1, max: 3 }),
  bytes: fc.nat(20),
  age: fc.nat(8),
  mayGo: fc.boolean(),
});

// invariant: expiry-by-agent
test('what goes is what a plain reading of the limits says, whatever the limits and the runs are', () => {
  fc.assert(
    fc.property(rules, fc.array(unit, { maxLength: 12 }), (given, drawn) => {
      const units = drawn
        .toSorted((one, other) => one.age - other.age)
        .map(({ count, age, ...one }, nth): KeepUnit => ({
          ...one,
          conversation: null,
          runs: Array.from({ length: count }, (_, at) => `${nth}-${at}` as RunId),
          newestAt: -age * dayMs,
        }));
      const own = (agent: string, name: keyof KeepLimits): number | undefined =>
        Object.entries(given.agents ?? {}).find(([key]) => key === agent)?.[1][name];
      const exceeds = (one: KeepUnit, name: keyof KeepLimits): boolean => {
        const limit = own(one.agent, name) ?? given[name];
        if (limit === undefined) return false;
        if (name === 'days') return -one.newestAt / dayMs > limit;
        const isOwn = own(one.agent, name) !== undefined;
        const newer = units
          .slice(0, units.indexOf(one) + 1)
          .filter(({ agent }) => (isOwn ? agent === one.agent : own(agent, name) === undefined));
        return newer.reduce((sum, { runs, bytes }) => sum + (name === 'runs' ? runs.length : bytes), 0) > limit;
      };
      const expected = units.filter(
        (one) => one.mayGo && (['days', 'runs', 'bytes'] as const).some((name) => exceeds(one, name)),
      );
      expect(expiredUnits(units, given, 0).map(({ runs }) => runs[0])).toEqual(
        expected.toReversed().map(({ runs }) => runs[0]),
      );
    }),
  );
});

test('a conversation is as old as its newest turn, and stays whole if one of its turns stays', () => {
  const conversation = { agent: 'lead', name: 'trip' };
  const units = new KeepUnits([{ conversation, runs: ['a', 'b'] as RunId[] }]);
  const add = (run: string, endedAt: number, mayGo: boolean): void =>
    units.add({ run: run as RunId, agent: 'lead', startedAt: 0, endedAt } as never, mayGo, 5);
  add('a', 1, true);
  add('c', 2, true);
  add('b', 3, false);
  expect(units.all()).toEqual([
    { conversation, agent: 'lead', runs: ['a', 'b'], newestAt: 3, bytes: 10, mayGo: false },
    { conversation: null, agent: 'lead', runs: ['c'], newestAt: 2, bytes: 5, mayGo: true },
  ]);
});
