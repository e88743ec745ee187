import { describe, expect, test, vi } from 'vitest';
import * as fc from 'fast-check';
import { countingIds, virtualClock } from '#testkit';

describe('a virtual clock', () => {
  test('fires timers by due time, equal ones in the order they were set', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20)), async (delays) => {
        const clock = virtualClock(7);
        const fired: { ms: number; index: number }[] = [];
        for (const [index, ms] of delays.entries())
          clock.timer(ms, () => {
            expect(clock.now()).toBe(7 + ms);
            fired.push({ ms, index });
          });
        await clock.runAll();
        const expected = delays.map((ms, index) => ({ ms, index })).sort((a, b) => a.ms - b.ms || a.index - b.index);
        expect(fired).toEqual(expected);
        expect(clock.waiting).toBe(0);
      }),
    ));

  test('advances exactly as far as requested, and fires only what is due by then', async () => {
    const clock = virtualClock();
    const due = vi.fn<() => void>();
    clock.timer(100, due);
    await clock.advance(99);
    expect([clock.now(), due.mock.calls.length, clock.waiting]).toEqual([99, 0, 1]);
    await clock.advance(1);
    expect([clock.now(), due.mock.calls.length, clock.waiting]).toEqual([100, 1, 0]);
  });

  test('lets promises settle between timers', async () => {
    const clock = virtualClock();
    const sleep = (ms: number) => new Promise<void>((resolve) => void clock.timer(ms, resolve));
    const seen: number[] = [];
    const work = async () => {
      for (let round = 0; round < 3; round++) {
        await sleep(10);
        await Promise.resolve().then(() => Promise.resolve());
        seen.push(clock.now());
      }
    };
    clock.timer(15, () => void seen.push(-clock.now()));
    void work();
    await clock.advance(30);
    expect(seen).toEqual([10, -15, 20, 30]);
  });

  test('does not fire a cancelled timer, even one cancelled by another at the same time', async () => {
    const clock = virtualClock();
    const due = vi.fn<() => void>();
    const stop = clock.timer(5, due);
    clock.timer(5, due)();
    stop();
    stop();
    const stopLater = { stop: () => {} };
    clock.timer(6, () => stopLater.stop());
    stopLater.stop = clock.timer(6, due);
    await clock.runAll();
    expect([due.mock.calls.length, clock.now()]).toEqual([0, 6]);
  });

  test('reports an endless chain of timers instead of hanging', async () => {
    const clock = virtualClock();
    const again = (): void => void clock.timer(1, again);
    again();
    await expect(clock.runAll()).rejects.toThrow('more are still set');
  });
});

describe('counting ids', () => {
  test('have the shape of ids, are the same for the same seed, and reveal no order', () => {
    const draw = (seed: string) => {
      const ids = countingIds(seed);
      return Array.from({ length: 500 }, () => ids.random());
    };
    const drawn = draw('a');
    expect(drawn.every((id) => /^[0-9a-f]{12}$/u.test(id))).toBe(true);
    expect(new Set(drawn).size).toBe(500);
    expect(draw('a')).toEqual(drawn);
    expect(draw('b').some((id) => drawn.includes(id))).toBe(false);
    expect(drawn.toSorted()).not.toEqual(drawn);
  });
});
