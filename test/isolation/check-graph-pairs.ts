// Runs in planted copies: compares pairs of runs of teams that work through graphs. Prints the reports as one JSON value.
//   <pairs> <seed>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { comparePairs } from './graph-two-run.ts';

const [pairs = '', seed = ''] = process.argv.slice(2);
const reports = await comparePairs(Number(pairs), Number(seed));
console.log(JSON.stringify(reports));
const differs = reports.some(({ differences }) => differences.length > 0);
process.exitCode = differs ? 3 : reports.every(({ ok }) => ok) ? 0 : 1;
