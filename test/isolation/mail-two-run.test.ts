// What members of a team that exchanges messages are shown does not depend on another's private content.
import { expect, test } from 'vitest';
import { testRuns, testSeed } from '../test-seed.ts';
import { compareAskers } from './askers-two-run.ts';
import { compareCalled, comparePairs } from './mail-two-run.ts';
import { compareSmallWindows } from './small-windows.ts';
import { compareSpawned } from './spawned-two-run.ts';

test('what one agent receives never depends on another’s private content', async () => {
  const pairsPerTeam = testRuns(60);
  const { differences, sights: observations, pairs } = await comparePairs(pairsPerTeam, testSeed().seed);
  expect(differences).toEqual([]);
  expect(pairs).toBe(3 * pairsPerTeam);
  expect(observations).toBeGreaterThan(20 * pairsPerTeam);
});

test('what an agent receives never depends on private content of one that is called as a tool and has mail', async () => {
  const { differences, notes } = await compareCalled(20, testSeed().seed);
  expect(differences).toEqual([]);
  expect(notes.join(' ')).toMatch(/[1-9]\d of called, [1-9]\d of other/u);
});

test('what an agent is shown, and how it ends, never depends on who else asks the agent that it asks', async () => {
  const { differences, observations, loops } = await compareAskers(25, testSeed().seed);
  expect(differences).toEqual([]);
  expect(observations).toBeGreaterThan(150);
  // In some pairs, the agent itself writes so often that this is the end of it.
  expect(loops).toBeGreaterThan(3);
});

test('what the caller of an agent is told never depends on what agents that it spawned write', async () => {
  const { differences, unfinished } = await compareSpawned(15, testSeed().seed);
  expect(differences).toEqual([]);
  expect(unfinished).toBeGreaterThan(3);
});

test('what a cell with a small window is shown never depends on how full the windows of others are', async () => {
  const { differences, pairs } = await compareSmallWindows(testRuns(100), testSeed().seed);
  expect(differences).toEqual([]);
  expect(pairs).toBe(testRuns(100));
});
