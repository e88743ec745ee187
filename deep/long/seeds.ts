// Simulated seeds that nobody has tried before, until the time is over. A failed seed does not end it.
import { failureText, runSeeds } from '../../sim/index.ts';
import { longArguments, tell } from './tell.ts';

const { seed, until } = longArguments();
/** So many from one seed of the lane; the next one's begin behind them. */
const apart = 10_000_000;
const failuresMax = 10;
const toldEvery = 100;

let untold = 0;
const tellTried = (): void => {
  if (untold > 0) tell({ tried: untold, of: 'simulated seeds' });
  untold = 0;
};

await runSeeds(seed * apart, apart, {
  minutes: Math.max(0, until - Date.now()) / 60_000,
  failuresMax,
  onReport: (report) => {
    untold += 1;
    if (untold === toldEvery) tellTried();
    if (report.ok) return;
    const details = failureText(report).split('\n');
    tell({ found: { what: `seed ${report.seed}`, details, again: `npm run sim -- --seed ${report.seed}` } });
  },
});
tellTried();
