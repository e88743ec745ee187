// Two-run groups of teams in files, with fresh seeds, until the time is up. Stops at the first difference.
import * as cloister from 'cloister';
import { compareTeams, filesDifferenceText } from '../../test/isolation/files-two-run.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

const { seed, until } = parseLaneArguments();
const size = { groups: 3, runs: 5 };

for (let round = 0; Date.now() < until; round++) {
  const kind = round % 4 === 3 ? 'web' : 'module';
  const report = await compareTeams(cloister, kind, { ...size, seed: (seed + round) | 0 });
  printLine({ tried: report.runs - size.groups, of: 'pairs of teams in files' });
  if (report.difference === null) continue;
  const { seed: failed, path } = report.difference;
  const rerun = `TWO_RUN_SEED=${failed} TWO_RUN_PATH=${path} npx vitest run test/isolation/files-two-run.test.ts`;
  printLine({ finding: { what: 'two runs differ', details: filesDifferenceText(report).split('\n'), rerun } });
  break;
}
