// Runs in planted copies: compares pairs of runs of agents that exchange messages. Prints a report as one JSON value.
//   <pairs> <seed>
// Exits with 0 when nothing differs, with 3 when something does; anything else is a failure of the check itself.
import { shownToQuiet } from './mail-strangers.ts';
import { comparePairs } from './mail-two-run.ts';

const [pairs = '', seed = ''] = process.argv.slice(2);
const report = await comparePairs(Number(pairs), Number(seed));
console.log(JSON.stringify(report));

/** Whether an agent is shown the same, whatever others do whom it may not message. */
const ignoresStrangers = async (): Promise<boolean> =>
  JSON.stringify(await shownToQuiet({ ended: 0, messages: 0 })) ===
  JSON.stringify(await shownToQuiet({ ended: 1_005, messages: 100 }));

const isDifferent = report.differences.length > 0 || (report.ok && !(await ignoresStrangers()));
process.exitCode = isDifferent ? 3 : report.ok ? 0 : 1;
