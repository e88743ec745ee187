// Two-run pairs of agents in code, with fresh seeds, until the time is up. Stops at the first difference.
import * as cloister from 'cloister';
import { comparePairs, differenceText } from '../../test/isolation/two-run.ts';
import type { Direction } from '../../test/isolation/two-run.ts';
import { repeatCommand } from '../../test/test-seed.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

const { seed, until } = parseLaneArguments();
const pairs = 100;
const directions: readonly Direction[] = ['down', 'up'];

for (let round = 0; Date.now() < until; round++) {
  const next = (seed + round) | 0;
  printLine({ trying: `npm run test:deep -- --only pairs --seed ${next}` });
  const report = await comparePairs(cloister, directions[next & 1]!, { pairs, seed: next });
  printLine({ tried: report.pairs, of: 'pairs of agents in code' });
  if (report.difference === null) continue;
  const { seed: failed, path } = report.difference;
  const rerun = repeatCommand({ seed: failed, path, file: 'test/isolation/two-run.test.ts' });
  printLine({ finding: { what: 'two runs differ', details: differenceText(report).split('\n'), rerun } });
  break;
}
