// Two-run groups of teams in files, with fresh seeds, until the time is up. Stops at the first difference.
import * as cloister from 'cloister';
import { compareTeams, filesDifferenceText } from '../../test/isolation/files-two-run.ts';
import { repeatCommand } from '../../test/test-seed.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

const { seed, until } = parseLaneArguments();
const size = { groups: 3, runs: 5 };

for (let round = 0; Date.now() < until; round++) {
  const next = (seed + round) | 0;
  printLine({ trying: `npm run test:deep -- --only teams --seed ${next}` });
  const report = await compareTeams(cloister, (next & 3) === 3 ? 'web' : 'module', { ...size, seed: next });
  printLine({ tried: report.runs - size.groups, of: 'pairs of teams in files' });
  if (report.difference === null) continue;
  const { seed: failed, path } = report.difference;
  const rerun = repeatCommand({ seed: failed, path, file: 'test/isolation/files-two-run.test.ts' });
  printLine({ finding: { what: 'two runs differ', details: filesDifferenceText(report).split('\n'), rerun } });
  break;
}
