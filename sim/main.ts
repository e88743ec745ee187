// npm run sim -- [--seeds 1000] [--seed N] [--minutes M] [--json]
import { parseArgs } from 'node:util';
import type { Counts } from './faults.ts';
import { failureText, runSeeds } from './index.ts';
import type { SeedsReport } from './index.ts';

const usage = `Simulates whole runs in a rough world, each from a seed, and judges what happened.

  --seeds N     how many (default 1000)
  --from N      the first one (default: from the time of day)
  --seed N      this one only, with all that happened
  --minutes M   as many as there is time for
  --json        one JSON value`;

/** Written with digits. */
const wholeOf = (name: string, text: string | undefined, otherwise: number, min = 0): number => {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (/^\d+$/u.test(text) && Number.isSafeInteger(value) && value >= min) return value;
  throw new Error(`--${name} takes a whole number, ${min} or more; got "${text}".`);
};

const minutesOf = (text: string | undefined): number => {
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
  const from = wholeOf(one ? 'seed' : 'from', values.seed ?? values.from, Date.now() % 1_000_000_000);
  const minutes = minutesOf(values.minutes);
  const seeds = one ? 1 : wholeOf('seeds', values.seeds, values.minutes === undefined ? 1_000 : Infinity, 1);
  const report = await runSeeds(from, seeds, {
    minutes,
    ...(one ? { lines: Infinity } : {}),
    onReport: (seed) => {
      if (values.json === true) return;
      if (one) print(seed.last.join('\n'));
      if (!seed.ok) print(failureText(seed));
    },
  });
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
    `${twice} of them ran twice, with the same trace.`,
    '',
    table('What was tried', figures),
    table('What went wrong on the way', faults),
    table('What was checked', checks),
    `${(seeds / seconds).toFixed(0)} seeds a second; ${(seeds / cpuSeconds).toFixed(0)} for each second of one core.`,
  ].join('\n');

const verdict = (seeds: number, failures: SeedsReport['failures']): string => {
  if (seeds === 0) return 'nothing was tried';
  return failures.length === 0
    ? 'all is well'
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
