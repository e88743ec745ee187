// `rebuild`: what it asks for, and how it says what was changed.
import { expect, test } from 'vitest';
import type { Cloister, RebuildReport } from '#contracts';
import type { RunId } from '#base';
import { cli, runId, scene } from './driver.ts';

const rebuild = async (args: readonly string[], rebuilt: RebuildReport) => {
  const asked: Parameters<Cloister['rebuild']>[] = [];
  const behaviour = { rebuilt, onRebuild: (...one: Parameters<Cloister['rebuild']>) => void asked.push(one) };
  const { code, stdout, stderr } = await cli(['rebuild', ...args], scene(), { behaviour });
  return { code, stdout, stderr, asked };
};

const nothing: RebuildReport = { runs: 12, listed: [], files: 0, skipped: [] };

test('without a run, the list of all runs is derived again, and their files only if asked for', async () => {
  const plain = await rebuild([], nothing);
  expect(plain).toMatchObject({ code: 0, asked: [[undefined, {}]] });
  expect(plain.stdout).toBe('Read the logs of 12 runs. Nothing had to be changed.\n');
  const files = await rebuild(['--files'], { ...nothing, files: 30 });
  expect(files.asked).toEqual([[undefined, { files: true }]]);
  expect(files.stdout).toMatch(/^Read the logs of 12 runs\. Changed: 30 files\.\nThe files are in .*\/runs\n$/u);
});

test('a run is named by its id, a prefix or `last`, and what was changed of it is said', async () => {
  const report = { runs: 1, listed: [runId], files: 1, skipped: [] };
  const { stdout, asked } = await rebuild(['last'], report);
  expect(asked).toEqual([[runId, {}]]);
  expect(stdout).toContain('Read the log of 1 run. Changed: 1 entry of the list of runs and 1 file.\n');
  expect(stdout).toContain(`/runs/${runId}\n  the entry of ${runId}\n`);
  expect(JSON.parse((await rebuild(['last', '--json'], report)).stdout)).toEqual(report);
  expect((await rebuild(['zz'], report)).asked).toEqual([]);
});

test('runs that were left as they are are named with the reason, and the exit code says so', async () => {
  const skipped = [{ run: 'r2' as RunId, problem: 'frame 3 of run r2 is damaged\u001b[2J' }];
  const { code, stdout } = await rebuild([], { ...nothing, skipped });
  expect(code).toBe(1);
  expect(stdout).toContain('  r2 was left as it is: frame 3 of run r2 is damaged');
  expect(stdout).not.toContain('\u001b');
});

test('its help says what it does and shows an example', async () => {
  const { code, stdout } = await cli(['rebuild', '--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/--files .*\n/u);
  expect(stdout).toContain('cloister rebuild last');
});
