// Runs in planted copies: compares pairs of runs of agents with small windows. Prints a report as one JSON value.
//   <pairs> <seed>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { compareSmallWindows } from './small-windows.ts';

const [pairs = '', seed = ''] = process.argv.slice(2);
const report = await compareSmallWindows(Number(pairs), Number(seed));
console.log(JSON.stringify(report));
process.exitCode = report.differences.length > 0 ? 3 : report.ok ? 0 : 1;
