// The comparison that users run, over teams of any shape, many thousand times.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { CallPairs } from '../../src/testkit/isolation/call-pairs.ts';
import { testRuns, testSeed } from '../test-seed.ts';
import type { ManyPairsReport } from './many-pairs.ts';
import { randomTeam } from './many-pairs-teams.ts';

const { seed } = testSeed();
const teams = testRuns(156);
const pairsPerTeam = 128;
test('no cell of any team sees another’s private content', async () => {
  const script = fileURLToPath(new URL('many-pairs-check.ts', import.meta.url));
  const args = ['--conditions=cloister-source', '--max-semi-space-size=64', script];
  const { stdout } = await promisify(execFile)(process.execPath, [...args, ...[seed, teams, pairsPerTeam].map(String)]);
  const report = JSON.parse(stdout) as ManyPairsReport;
  expect(report.difference, 'Repeat: npm run test:deep -- --only shapes --seed <team>').toBeNull();
  expect(report.pairs).toBeGreaterThanOrEqual(teams * (pairsPerTeam - 1));
  // Less would mean that the other cells hardly did anything.
  expect(report.sights / report.pairs).toBeGreaterThan(6);
  expect(report.bytes / report.pairs).toBeGreaterThan(8_000);
});

// invariant: pair-private-differs
test('the random teams cover every way in which a cell receives something', async () => {
  const expectedKinds = [
    'Look into ',
    'Error (tool): ',
    'is not one of: ',
    'Expected a single JSON object.',
    'No output is named ',
    'No files.',
    'Wrote ',
    'Read more with read_output',
    '[bytes ',
    'Result from ',
    '### Found by ',
    'status: failed',
    'status: limit',
    'status: partial',
    'Missing: ',
    'Your answer is not valid',
    'You have no turns left',
    '"type":"reasoning"',
    '"temperature"',
    'Your caller works by the instructions below.',
    'Shared by your caller:',
    'Context:',
    'Note: ',
    'A person did not allow this call. They said: ',
    'A person changed the arguments of your call of ',
  ];
  const missing = new Set(expectedKinds);
  for (let nth = 0; nth < 60 && missing.size > 0; nth++) {
    const pairs = new CallPairs({ agent: randomTeam(defineAgent, nth) });
    for (let group = nth * 20; group < nth * 20 + 16; group++)
      for (const { observer } of (await pairs.run(group, null)).cells)
        for (const { bytes } of observer.observations) {
          const text = typeof bytes === 'string' ? bytes : bytes();
          for (const words of missing) if (text.includes(words)) missing.delete(words);
        }
  }
  expect([...missing]).toEqual([]);
});
