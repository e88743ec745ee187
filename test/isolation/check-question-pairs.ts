// Runs in planted copies: compares pairs of runs of teams whose tools are marked, with people who answer one cell differently.
// Prints a report as one JSON value; `asked`: the questions that some of their runs asked.
//   <teams> <seed>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { defineAgent } from 'cloister';
import { CallPairs } from '../../src/testkit/isolation/call-pairs.ts';
import { compareRandomTeam } from './many-pairs.ts';
import { randomTeam } from './many-pairs-teams.ts';

const [teams = 1, seed = 0] = process.argv.slice(2).map(Number);
const seen = { pairs: 0, sights: 0, asked: 0 };
let difference: object | null = null;
for (let team = seed; team < seed + teams && difference === null; team++) {
  const alone = new CallPairs({ agent: randomTeam(defineAgent, team, true) });
  for (let group = 0; group < 8; group++) {
    const { frames } = await alone.run(group, null);
    seen.asked += frames.filter(({ record }) => record.type === 'ruling').length;
  }
  const report = await compareRandomTeam(team, 64, { marks: true, recordsEvery: 1 });
  seen.pairs += report.pairs;
  seen.sights += report.sights;
  difference = report.difference;
}
console.log(JSON.stringify({ ...seen, difference }));
process.exitCode = difference === null ? 0 : 3;
