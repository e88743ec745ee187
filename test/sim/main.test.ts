// The simulation command reports what it ran, and refuses invalid options.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../../sim/main.ts', import.meta.url));

const sim = (...args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=cloister-source', main, ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

test.each([
  ['--seeds', '0', 'a whole number, 1 or more'],
  ['--seed', '1e3', 'a whole number, 0 or more'],
  ['--minutes', '0', 'a number above 0'],
])('%s "%s" is refused', (option, given, takes) => {
  expect(sim(option, given)).toEqual({ status: 1, stdout: '', stderr: `${option} takes ${takes}; got "${given}".\n` });
});

test('running no seed at all is not a success', () => {
  const { status, stdout } = sim('--minutes', '0.0000000001');
  expect(status).toBe(1);
  expect(stdout).toContain('0 seeds from ');
  expect(stdout).not.toContain('all passed');
});

test('the seeds that ran are reported', () => {
  const { status, stdout } = sim('--seeds', '2', '--from', '1');
  expect(status).toBe(0);
  expect(stdout).toContain('2 seeds from 1: all passed');
});
