// Crowds of callers over every protocol, from fresh seeds, until the time is over, and until 100,000 were answered: some minutes.
import { runCrowd } from '../../test/app/serve/crowd.ts';
import { longArguments, tell } from './tell.ts';

const { seed, until } = longArguments();
const [callers, answers, answersLeast] = [1_000, 10_000, 100_000];

for (let round = 0; Date.now() < until || round * answers < answersLeast; round++) {
  const { problems, left, ...report } = await runCrowd({ callers, answers, seed: seed + round });
  tell({ tried: report.answers, of: 'answers to callers that come at once' });
  if (problems.length === 0 && left === 0) continue;
  const again = `npm run test:deep -- --only callers --seed ${seed + round}`;
  const details = [`${left} runs were left under way`, ...problems.slice(0, 20)];
  tell({ found: { what: 'something of one caller reached another', details, again } });
  break;
}
