// Runs in planted copies: compares pairs of runs. Prints a report as one JSON value.
//   <pairs> <seed> <direction to begin with>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import * as cloister from 'cloister';
import { comparePairs } from './two-run.ts';

const [pairs = '', seed = '', first = 'down'] = process.argv.slice(2);
const options = { pairs: Number(pairs), seed: Number(seed) };
let report = await comparePairs(cloister, first === 'up' ? 'up' : 'down', options);
if (report.difference === null) report = await comparePairs(cloister, first === 'up' ? 'down' : 'up', options);
console.log(JSON.stringify(report));
process.exitCode = report.difference === null ? 0 : 3;
