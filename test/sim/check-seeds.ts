// Runs with planted bugs: runs seeds until one fails. Prints each seed before it runs, and at the end the problems as a JSON line.
//   <first seed> <how many>
// Exits with 0 when all pass, with 3 when one fails; anything else is a failure of the simulation itself.
import { runSeeds } from '../../sim/index.ts';

const [from = '', count = ''] = process.argv.slice(2);
const { ok, seeds, failures } = await runSeeds(Number(from), Number(count), {
  failuresMax: 1,
  onStart: (seed) => console.log(seed),
});
// Only names, because a process that exits does not wait until a long text has been read.
const judges = [...new Set(failures.flatMap(({ problems }) => problems.map(({ judge }) => judge)))];
console.log(JSON.stringify({ seeds, judges }));
process.exit(ok ? 0 : 3);
