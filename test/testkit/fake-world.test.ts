// The fake world for users' tests: a clock that jumps, and ids from a seed.
import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { fakeWorld, rehearse } from '#testkit';

describe('a fake world', () => {
  // invariant: timers-in-order
  test('fires timers by due time, equal ones in the order they were set, and no cancelled one', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(20), fc.boolean())), async (timers) => {
        const { clock, advance } = fakeWorld(0, 7);
        const fired: [number, number][] = [];
        const stops = timers.map(([ms], index) =>
          clock.timer(ms, () => {
            expect(clock.now()).toBe(7 + ms);
            fired.push([ms, index]);
          }),
        );
        timers.forEach(([, isStopped], index) => isStopped && stops[index]!());
        await advance(20);
        const expected = timers.flatMap(([ms, isStopped], index) => (isStopped ? [] : [[ms, index] as const]));
        expect(fired).toEqual(expected.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
        expect(clock.now()).toBe(27);
      }),
    ));

  test('advances time only as far as the work needs', async () => {
    const { clock, finish } = fakeWorld();
    const waitFor = (ms: number) => new Promise<void>((resolve) => void clock.timer(ms, resolve));
    clock.timer(1_000_000, () => expect.unreachable('nobody waits for that'));
    const work = async () => {
      for (let round = 0; round < 100; round++) await waitFor(600);
      return 'done';
    };
    expect(await finish(work())).toBe('done');
    expect(clock.now()).toBe(60_000);
  });

  test('rejects if the work rejects', async () => {
    await expect(fakeWorld().finish(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  // invariant: time-stands-still
  test('does not advance time while files are read or written', async () => {
    const { clock, finish } = fakeWorld();
    let isLate = false;
    clock.timer(5, () => (isLate = true));
    const reading = async () => {
      for (let times = 0; times < 20; times++) await readFile(import.meta.filename);
    };
    await finish(reading());
    expect(isLate).toBe(false);
  });

  test('generates unique ids from the seed', () => {
    const draw = (seed: number) => {
      const { ids } = fakeWorld(seed);
      return Array.from({ length: 50 }, () => ids.random());
    };
    expect(draw(1)).toEqual(draw(1));
    expect(new Set([...draw(1), ...draw(2)]).size).toBe(100);
  });

  test('runs a Cloister without real time, even for minutes of waiting', async () => {
    const world = fakeWorld('seed');
    const { clock, ids } = world;
    const models = [
      rehearse(
        [{ times: 1, reply: { fault: 503, retryAfterMs: 90_000 } }, { reply: { text: 'At last.', delayMs: 60_000 } }],
        { clock },
      ),
    ];
    const agents = [defineAgent({ name: 'slow', description: 'S.', prompt: 'S.', models })];
    await using cloister = await openCloister({ store: 'memory', agents, clock, ids });
    const session = cloister.run('slow', 'Go');
    const { status, output, spent } = await world.finish(session.outcome);
    expect({ status, output, ms: spent.ms, run: session.run }).toEqual({
      status: 'completed',
      output: 'At last.',
      ms: 150_000,
      run: fakeWorld('seed').ids.random(),
    });
  });
});
