// npm run sim -- [--seeds 1000] [--seed N] [--minutes M] [--json]
import { parseArgs } from 'node:util';
import type { Counts } from './faults.ts';
import { failureText } from './failure-text.ts';
import { runSeedsApart } from './run-seeds-apart.ts';
import type { SeedsReport } from './seed-sums.ts';
import type { SeedReport } from './simulate.ts';

const usage = `Simulates whole runs with many kinds of faults, each from a seed, and checks what happened.

  --seeds N     number of seeds (default 1000)
  --from N      first seed (default: taken from the current time)
  --seed N      run only this seed and print its complete trace
  --minutes M   run as many seeds as fit into this time
  --json        print the report as JSON`;

/** Accepts digits only. */
const parseInteger = (name: string, text: string | undefined, otherwise: number, min = 0): number => {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (/^\d+$/u.test(text) && Number.isSafeInteger(value) && value >= min) return value;
  throw new Error(`--${name} takes a whole number, ${min} or more; got "${text}".`);
};

const parseMinutes = (text: string | undefined): number => {
  if (text === undefined) return Infinity;
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new Error(`--minutes takes a number above 0; got "${text}".`);
};

const main = async (): Promise<number> => {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      minutes: { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return print(usage);
  const one = values.seed !== undefined;
  const from = parseInteger(one ? 'seed' : 'from', values.seed ?? values.from, Date.now() % 1_000_000_000);
  const minutes = parseMinutes(values.minutes);
  const seeds = one ? 1 : parseInteger('seeds', values.seeds, values.minutes === undefined ? 1_000 : Infinity, 1);
  const onReport = (report: SeedReport): void => {
    if (values.json === true) return;
    if (one) print(report.last.join('\n'));
    if (!report.ok) print(failureText(report));
  };
  // One seed runs in this process, where a debugger finds it. Whoever asked for it knows which one dies.
  const report = one
    ? await (await import('./run-seeds.ts')).runSeeds(from, 1, { lines: Infinity, onReport })
    : await runSeedsApart(from, seeds, { minutes, onReport });
  print(values.json === true ? JSON.stringify(report) : summary(report));
  return report.ok && report.seeds > 0 ? 0 : 1;
};

const print = (text: string): number => {
  process.stdout.write(`${text}\n`);
  return 0;
};

const summary = ({ seeds, from, failures, twice, figures, faults, checks, seconds, cpuSeconds }: SeedsReport): string =>
  [
    `${seeds} seeds from ${from}: ${verdict(seeds, failures)}`,
    `${twice} of them ran twice, with identical traces.`,
    '',
    table('Activity', figures),
    table('Faults and other events', faults),
    table('Checks', checks),
    `${(seeds / seconds).toFixed(0)} seeds per second; ${(seeds / cpuSeconds).toFixed(0)} per CPU second.`,
  ].join('\n');

const verdict = (seeds: number, failures: SeedsReport['failures']): string => {
  if (seeds === 0) return 'no seeds were run';
  return failures.length === 0
    ? 'all passed'
    : `${failures.length} failed: ${failures.map(({ seed }) => seed).join(', ')}`;
};

const table = (title: string, counts: Counts): string =>
  [
    title,
    ...Object.entries(counts)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, count]) => `  ${name.padEnd(48)} ${String(count).padStart(10)}`),
    '',
  ].join('\n');

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
