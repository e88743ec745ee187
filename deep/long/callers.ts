// Crowds of callers over every protocol, with fresh seeds, until the time is up and 100,000 requests were answered, which takes some minutes.
import { runCrowd } from '../../test/app/serve/crowd.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

const { seed, until } = parseLaneArguments();
const [callers, answers, answersLeast] = [1_000, 10_000, 100_000];

for (let round = 0; Date.now() < until || round * answers < answersLeast; round++) {
  const rerun = `npm run test:deep -- --only callers --seed ${seed + round}`;
  printLine({ trying: rerun });
  const { problems, left, ...report } = await runCrowd({ callers, answers, seed: seed + round });
  printLine({ tried: report.answers, of: 'answers to concurrent callers' });
  if (problems.length === 0 && left === 0) continue;
  const details = [`${left} runs were left running`, ...problems.slice(0, 20)];
  printLine({ finding: { what: 'one caller received data of another', details, rerun } });
  break;
}
