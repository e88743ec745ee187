// The simulation itself: the same seed gives the same trace, nothing real is used, and fixed bugs stay fixed.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomFill, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { get } from 'node:https';
import { connect, Socket } from 'node:net';
import { scheduler, setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { failureText, guardGlobals, regressionSeeds, runSeed } from '../../sim/index.ts';

describe('a seed', () => {
  test('gives the same trace to the last line when it is repeated; another seed gives another trace', async () => {
    const [one, again, other] = [await runSeed(1, all), await runSeed(1, all), await runSeed(2, all)];
    expect(again.last).toEqual(one.last);
    expect(again.trace).toBe(one.trace);
    expect(other.trace).not.toBe(one.trace);
    expect(one.last.length).toBeGreaterThan(10);
  });

  test('gives the same trace whether or not rejections are checked between events', async () => {
    for (let seed = 100; seed < 110; seed++)
      expect((await runSeed(seed, { strict: true })).trace).toBe((await runSeed(seed)).trace);
  });
});

const all = { lines: Infinity } as const;

describe('the real world is unreachable', () => {
  const touches: Readonly<Record<string, () => unknown>> = {
    'Date.now': () => Date.now(),
    'new Date': () => new Date(),
    'Date()': () => Date(),
    'Math.random': () => Math.random(),
    setTimeout: () => setTimeout(() => undefined, 0),
    setInterval: () => setInterval(() => undefined, 1_000),
    setImmediate: () => setImmediate(() => undefined),
    fetch: () => fetch('http://127.0.0.1:1'),
    'performance.now': () => performance.now(),
    'process.hrtime': () => process.hrtime(),
    'process.hrtime.bigint': () => process.hrtime.bigint(),
    'crypto.randomUUID': () => crypto.randomUUID(),
    'randomUUID of node:crypto': () => randomUUID(),
    'randomBytes of node:crypto': () => randomBytes(4),
    'randomFill of node:crypto': () => randomFill(Buffer.alloc(4), () => undefined),
    'setTimeout of node:timers/promises': () => sleep(0),
    'wait of its scheduler': () => scheduler.wait(0),
    'promisify(setTimeout)': () => promisify(setTimeout)(0),
    'AbortSignal.timeout': () => AbortSignal.timeout(1),
    'connect of node:net': () => connect(1, '127.0.0.1'),
    'connect of a socket': () => new Socket().connect(1, '127.0.0.1'),
    'request of node:http': () => request('http://127.0.0.1:1'),
    'get of node:https': () => get('https://127.0.0.1:1'),
    'spawn of node:child_process': () => spawn('true'),
    'spawnSync of node:child_process': () => spawnSync('true'),
  };

  test.each(Object.keys(touches))('%s throws inside a simulation and works outside', (name) => {
    const guard = guardGlobals();
    try {
      guard.enter();
      expect(touches[name]).toThrow('inside the simulation');
      expect(guard.touched()).toHaveLength(1);
      expect(new Date(0).toISOString()).toBe('1970-01-01T00:00:00.000Z');
      guard.leave();
      expect(new Date()).toBeInstanceOf(Date);
      expect(Math.random()).toBeLessThan(1);
      expect(Date.now()).toBeGreaterThan(0);
    } finally {
      guard.remove();
    }
  });

  // invariant: sim-globals-restored
  test('all globals are restored afterwards', () => {
    const found = (): readonly unknown[] =>
      [
        [Date, Date.now, Math.random, setTimeout, fetch, performance.now, crypto.randomUUID],
        [sleep, scheduler.wait, AbortSignal.timeout, connect, Socket.prototype.connect, request, get, spawn],
      ].flat();
    const before = found();
    guardGlobals().remove();
    for (const [at, one] of found().entries()) expect(one).toBe(before[at]);
    expect(Object.hasOwn(performance, 'now')).toBe(false);
  });
});

test('all regression seeds pass', async () => {
  for (const { seed, why } of regressionSeeds) {
    const report = await runSeed(seed);
    expect(report.ok ? '' : failureText(report), why).toBe('');
  }
});
