// Two-run pairs of random teams, with fresh seeds, until the time is up. Stops at the first difference.
import { compareRandomTeam } from '../../test/isolation/many-pairs.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

const { seed, until } = parseLaneArguments();
const pairs = 128;

for (let round = 0; Date.now() < until; round++) {
  const rerun = `npm run test:deep -- --only shapes --seed ${seed + round}`;
  printLine({ trying: rerun });
  const { pairs: tried, difference } = await compareRandomTeam(seed + round, pairs);
  printLine({ tried, of: 'pairs of teams of any shape' });
  if (difference === null) continue;
  printLine({ finding: { what: 'two runs differ', details: JSON.stringify(difference, null, 2).split('\n'), rerun } });
  break;
}
