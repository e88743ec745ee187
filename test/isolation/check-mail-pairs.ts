// Runs in planted copies: compares pairs of runs of a team that exchanges messages. Prints a report as one JSON value.
//   <pairs> <seed>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { comparePairs } from './mail-two-run.ts';

const [pairs = '', seed = ''] = process.argv.slice(2);
const report = await comparePairs(Number(pairs), Number(seed));
console.log(JSON.stringify(report));
process.exitCode = report.ok ? 0 : report.differences.length > 0 ? 3 : 1;
