// Hostile schemas and values with fresh seeds, until the time is up and 10,000 were checked, which takes two minutes.
import { judgeHostileCase } from '../../test/adapters/schemas/judge-hostile-case.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

const { seed, until } = parseLaneArguments();
const [batch, casesLeast] = [100, 10_000];

for (let done = 0; Date.now() < until || done < casesLeast; done += batch) {
  const problems = Array.from({ length: batch }, (_, at) => judgeHostileCase(seed + done + at).problem ?? []).flat();
  printLine({ tried: batch, of: 'hostile schemas and values' });
  if (problems.length === 0) continue;
  const rerun = `npm run test:deep -- --only schemas --seed ${seed + done}`;
  printLine({ finding: { what: 'a check is not bounded by its steps', details: problems, rerun } });
  break;
}
