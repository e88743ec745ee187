// The fake world waits for real timers that calls set, and for no others.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { createFakeWorld } from '../../src/testkit/fake-world.ts';
import { OpenCalls } from '../../src/testkit/isolation/open-calls.ts';

const hourMs = 3_600_000;
afterEach(() => void vi.restoreAllMocks());

test('a real timer that no call has set is not waited for', async () => {
  const timer = setTimeout(() => {}, hourMs);
  const looks = vi.spyOn(process, 'getActiveResourcesInfo');
  const calls = new OpenCalls();
  const world = createFakeWorld(calls, 0);
  const fakeSleep = (): Promise<void> => new Promise((resolve) => void world.clock.timer(hourMs, resolve));
  await world.finish(calls.track(fakeSleep));
  clearTimeout(timer);
  expect(world.clock.now()).toBe(hourMs);
  // One look for each turn of the event loop; it used to be 250.
  expect(looks.mock.calls.length).toBeLessThan(20);
});

test('no time passes while a call waits for a real timer, whatever other timers end meanwhile', async () => {
  const calls = new OpenCalls();
  const others = [1, 2, 3].map((ms) => setTimeout(() => {}, ms));
  const world = createFakeWorld(calls, 0);
  const missed = vi.fn<() => void>();
  world.clock.timer(hourMs, missed);
  expect(await world.finish(calls.track(async () => sleep(60, 'Done.')))).toBe('Done.');
  for (const timer of others) clearTimeout(timer);
  expect(missed).not.toHaveBeenCalled();
});
