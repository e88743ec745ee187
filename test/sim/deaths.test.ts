// A seed that ends its process is named like any other failed seed, and the seeds after it run all the same.
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { failureText } from '../../sim/failure-text.ts';
import { runSeedsApart } from '../../sim/run-seeds-apart.ts';

const dying = (...args: readonly string[]) => [
  '--max-old-space-size=20',
  fileURLToPath(new URL('dying-process.ts', import.meta.url)),
  ...args,
];

test('a seed that runs out of memory, exits or is killed is named with the command to repeat it', async () => {
  const report = await runSeedsApart(1, 8, { command: dying('later') });
  expect(report).toMatchObject({ ok: false, from: 1, seeds: 8, figures: { runs: 5 } });
  const texts = report.failures.map(failureText);
  expect(report.failures.map(({ seed }) => seed)).toEqual([3, 5, 6]);
  expect(texts[0]).toMatch(/^Seed 3 failed\.\n {2}the process survives\n.*\n {4}seen: {5}SIG\w+\n/u);
  expect(texts[0]).toContain('heap out of memory');
  expect(texts[0]).toContain('Reproduce: npm run sim -- --seed 3');
  expect(texts[1]).toContain('exit code 9');
  expect(texts[2]).toContain('SIGKILL');
});

test('no more processes are started once enough seeds have failed', async () => {
  const report = await runSeedsApart(1, 8, { command: dying('later'), failuresMax: 2 });
  expect(report).toMatchObject({ ok: false, seeds: 5 });
  expect(report.failures.map(({ seed }) => seed)).toEqual([3, 5]);
});

test('a process that dies before its first seed is an error that says why', async () => {
  await expect(runSeedsApart(1, 8, { command: dying('early') })).rejects.toThrow('It cannot even start.');
});
