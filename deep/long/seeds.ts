// Simulations with fresh seeds until the time is up. A failing seed does not stop the lane.
import { failureText } from '../../sim/failure-text.ts';
import { runSeedsApart } from '../../sim/run-seeds-apart.ts';
import { parseLaneArguments, printLine } from './print-line.ts';

const { seed, until } = parseLaneArguments();
/** Range of simulation seeds per lane seed; the next lane seed starts after it. */
const apart = 10_000_000;
const failuresMax = 10;
const reportEvery = 100;

let unreported = 0;
const reportTried = (): void => {
  if (unreported > 0) printLine({ tried: unreported, of: 'simulated seeds' });
  unreported = 0;
};

await runSeedsApart(seed * apart, apart, {
  minutes: Math.max(0, until - Date.now()) / 60_000,
  failuresMax,
  onReport: (report) => {
    unreported += 1;
    if (unreported === reportEvery) reportTried();
    if (report.ok) return;
    const details = failureText(report).split('\n');
    printLine({ finding: { what: `seed ${report.seed}`, details, rerun: `npm run sim -- --seed ${report.seed}` } });
  },
});
reportTried();
