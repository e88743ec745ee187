// A dedicated process that compares pairs of runs of random teams. Prints a report as one JSON value.
//   node --conditions=cloister-source many-pairs-check.ts <seed> <teams> <pairs of each>
import { defineAgent } from 'cloister';
import { checkIsolation } from '#testkit';
import { randomTeam } from './many-pairs-teams.ts';

const [seed = 0, teams = 1, pairs = 1] = process.argv.slice(2).map(Number);
// Stack traces of stand-in failures are never read, and are slow to capture.
Error.stackTraceLimit = 0;

const seen = { pairs: 0, sights: 0, bytes: 0 };
let difference: object | null = null;
for (let nth = 0; nth < teams && difference === null; nth++) {
  const agent = randomTeam(defineAgent, seed + nth);
  const report = await checkIsolation({ agent }, { pairs, seed: seed + nth * 1_000, recordsEvery: 16 });
  for (const key of ['pairs', 'sights', 'bytes'] as const) seen[key] += report[key];
  if (!report.ok) difference = { team: seed + nth, ...report.differences[0], notes: report.notes };
}
console.log(JSON.stringify({ ...seen, difference }));
