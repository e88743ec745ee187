// What the simulation relies on: the order of events, what a disk keeps, and what a dead process does.
import { expect, test } from 'vitest';
import type { RunId } from '#base';
import { Disk } from '../../sim/disk.ts';
import type { DiskFault } from '../../sim/disk.ts';
import { Process } from '../../sim/process.ts';
import { Random } from '../../sim/random.ts';
import { Scheduler } from '../../sim/scheduler.ts';
import type { World } from '../../sim/world.ts';

// invariants: sim-time-by-events, sim-cancelled-never-happens
test('events happen by time, those of one time in seeded order, and no cancelled one', async () => {
  const eventsOf = async (seed: string): Promise<readonly string[]> => {
    const scheduler = new Scheduler(new Random(seed), false);
    const seen: string[] = [];
    const plan = (ms: number, name: string) =>
      scheduler.after(ms, name, () => void seen.push(`${scheduler.now} ${name}`));
    plan(700, 'late');
    for (const name of 'abcdefgh') plan(3, name);
    const cancel = plan(3, 'cancelled');
    scheduler.after(1, 'cancel', cancel);
    expect(await scheduler.run(() => false, 100)).toBe('idle');
    expect([scheduler.now, scheduler.waiting]).toEqual([700, 0]);
    return seen;
  };
  const [one, again, other] = [await eventsOf('one'), await eventsOf('one'), await eventsOf('other')];
  expect(one.toSorted()).toEqual([...[...'abcdefgh'].map((name) => `3 ${name}`), '700 late']);
  expect(one.at(-1)).toBe('700 late');
  expect(again).toEqual(one);
  expect(other).not.toEqual(one);
});

// invariants: sim-disk-keeps-committed, sim-disk-doubtful-commit
test.for<[does: string, fault: DiskFault | null, kept: number]>([
  ['commits', null, 1],
  ['does not commit', null, 0],
  ['commits, which fails', 'commit-lost', 0],
  ['commits, which fails after it was written', 'commit-written', 1],
])('a process that %s and dies has stored as much as the disk kept', ([does, fault, kept]) => {
  const run = 'run' as RunId;
  const disk = new Disk();
  const connection = disk.connect(
    () => true,
    (place) => (place === 'commit' ? fault : null),
  );
  connection.begin();
  connection.tables.insertFrame(run, 0, '{}', 'hash');
  if (does !== 'does not commit') {
    if (fault === null) connection.commit();
    else expect(() => connection.commit()).toThrow('disk I/O error');
  }
  connection.close();
  expect(disk.length(run)).toBe(kept);
});

// invariants: sim-process-may-die, sim-process-dead-hears-nothing
test.for([
  ['lives', null, { id: 'an id', heard: 2, deaths: 0 }],
  ['dies at its second call', 2, { id: 'dead', heard: 0, deaths: 1 }],
] as const)('a process that %s', async ([, dieAtCall, expected]) => {
  const scheduler = new Scheduler(new Random('one'), false);
  const nothing = () => null;
  const faults = {
    dieAtCall: () => dieAtCall,
    dieAtPlace: nothing,
    dieAfterMs: nothing,
    spendCrash: () => true,
    count: nothing,
  };
  const world = {
    processes: [],
    now: 0,
    scheduler,
    faults: { ...faults, disk: nothing },
    ids: { hex: () => 'an id' },
    disk: new Disk(),
    plan: { leases: null },
    trace: { note: nothing },
    wallClock: () => 5,
  } as unknown as World;
  let [heard, deaths] = [0, 0];
  const process = new Process(world, () => void deaths++);
  process.later(1, 'later', () => void heard++);
  process.clock.timer(1, () => void heard++);
  const id = process.ids.random();
  await scheduler.run(() => false, 100);
  expect({ id, heard, deaths }).toEqual(expected);
});
