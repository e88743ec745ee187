// Runs in planted copies: compares pairs of runs in which an agent leaves work to agents that it spawned, and two runs in which
// somebody outside starts agents under a stranger, or does not. Prints a report as one JSON value.
//   <pairs> <seed>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { shownToQuiet } from './mail-strangers.ts';
import { compareSpawned } from './spawned-two-run.ts';

const [pairs = '', seed = ''] = process.argv.slice(2);
const report = await compareSpawned(Number(pairs), Number(seed));
const [still, busy] = [await shownToQuiet({}), await shownToQuiet({ outside: 3 })];
const differences = [...report.differences, ...busy.filter((shown, no) => shown !== still[no])];
console.log(JSON.stringify({ ...report, differences: differences.slice(0, 1).map((one) => one.slice(0, 1_000)) }));
process.exitCode = differences.length > 0 ? 3 : 0;
