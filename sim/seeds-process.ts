// A process that runs seeds for `runSeedsApart`: <first seed> <how many> <failures> <minutes>. It prints one JSON line before each
// seed, so that whoever started it knows the seed in which it died, and one after it.
import { runSeeds } from './run-seeds.ts';
import type { SeedLine } from './run-seeds-apart.ts';

const [from = 0, count = 1, failuresMax = Infinity, minutes = Infinity] = process.argv.slice(2).map(Number);
// Node writes to a pipe before it returns, so the line is not lost with the process.
const printLine = (line: SeedLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

await runSeeds(from, count, {
  failuresMax,
  minutes,
  onStart: (seed) => printLine({ start: seed }),
  onReport: (report) => {
    const { user, system } = process.cpuUsage();
    printLine({ report, cpuSeconds: (user + system) / 1_000_000 });
  },
});
