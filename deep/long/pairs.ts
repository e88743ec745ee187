// Two-run pairs of agents in code, from fresh seeds, until the time is over. Stops at the first difference.
import * as cloister from 'cloister';
import { comparePairs, differenceText } from '../../test/isolation/two-run.ts';
import type { Direction } from '../../test/isolation/two-run.ts';
import { longArguments, tell } from './tell.ts';

const { seed, until } = longArguments();
const pairs = 100;
const directions: readonly Direction[] = ['down', 'up'];

for (let round = 0; Date.now() < until; round++) {
  const report = await comparePairs(cloister, directions[round % 2]!, { pairs, seed: (seed + round) | 0 });
  tell({ tried: report.pairs, of: 'pairs of agents in code' });
  if (report.difference === null) continue;
  const { seed: failed, path } = report.difference;
  const again = `TWO_RUN_SEED=${failed} TWO_RUN_PATH=${path} npx vitest run test/isolation/two-run.test.ts`;
  tell({ found: { what: 'two runs differ', details: differenceText(report).split('\n'), again } });
  break;
}
