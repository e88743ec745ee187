// A process of its own: compares pairs of runs of the package in one folder. Prints a report, one JSON value.
//   node --conditions=cloister-source check-copy.ts <package root> <pairs> <seed> <direction to begin with>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { comparePairs, loadPackage } from './two-run.ts';

const [root = '', pairs = '', seed = '', first = 'down'] = process.argv.slice(2);
const cloister = await loadPackage(root);
const options = { pairs: Number(pairs), seed: Number(seed) };
let report = await comparePairs(cloister, first === 'up' ? 'up' : 'down', options);
if (report.difference === null) report = await comparePairs(cloister, first === 'up' ? 'down' : 'up', options);
console.log(JSON.stringify(report));
process.exitCode = report.difference === null ? 0 : 3;
