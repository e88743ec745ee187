// A dedicated process that compares pairs of runs of random teams. Prints a report as one JSON value, and before that the seed of
// each team, so that it is known if the process dies.
//   node --conditions=cloister-source many-pairs-check.ts <seed> <teams> <pairs of each>
import { compareRandomTeam } from './many-pairs.ts';

const [seed = 0, teams = 1, pairs = 1] = process.argv.slice(2).map(Number);
// Stack traces of stand-in failures are never read, and are slow to capture.
Error.stackTraceLimit = 0;

const seen = { pairs: 0, sights: 0, bytes: 0 };
let difference: object | null = null;
for (let nth = 0; nth < teams && difference === null; nth++) {
  process.stderr.write(`team ${seed + nth}: npm run test:deep -- --only shapes --seed ${seed + nth}\n`);
  const report = await compareRandomTeam(seed + nth, pairs);
  for (const key of ['pairs', 'sights', 'bytes'] as const) seen[key] += report[key];
  difference = report.difference;
}
console.log(JSON.stringify({ ...seen, difference }));
