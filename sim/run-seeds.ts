// Runs many seeds in sequence, some of them twice, to show that a seed always gives the same trace.
import { guardGlobals } from './real-globals.ts';
import { SeedSums, twiceEvery } from './seed-sums.ts';
import type { SeedsReport } from './seed-sums.ts';
import { runSeed } from './simulate.ts';
import type { SeedReport } from './simulate.ts';

export type SeedsOptions = {
  /** Stop after this many failures; default: never. */
  readonly failuresMax?: number;
  /** Stop after this time; default: never. */
  readonly minutes?: number;
  /** The number of trace lines in each report; by default some, for failed seeds. */
  readonly lines?: number;
  /** Called before a seed runs. */
  readonly onStart?: (seed: number) => void;
  readonly onReport?: (report: SeedReport) => void;
};

/** In every nth seed, a rejection must be handled before the next event. */
const strictEvery = 10;

export const runSeeds = async (from: number, count: number, options: SeedsOptions = {}): Promise<SeedsReport> => {
  const { failuresMax = Infinity, minutes = Infinity, onStart, onReport, lines } = options;
  const seen = lines === undefined ? {} : { lines };
  const sums = new SeedSums(from);
  const [start, cpu] = [Date.now(), process.cpuUsage()];
  const guard = guardGlobals();
  try {
    while (sums.seeds < count && sums.failures < failuresMax && Date.now() - start < minutes * 60_000) {
      const seed = from + sums.seeds;
      onStart?.(seed);
      const report = await runSeed(seed, { guard, strict: seed % strictEvery === 0, ...seen });
      const again = seed % twiceEvery === 0 ? await runSeed(seed, { guard }) : report;
      const judged = again.trace === report.trace ? report : withTraceMismatch(report, again);
      sums.add(judged);
      onReport?.(judged);
    }
  } finally {
    guard.remove();
  }
  const used = process.cpuUsage(cpu);
  return sums.report((used.user + used.system) / 1_000_000);
};

const withTraceMismatch = (one: SeedReport, other: SeedReport): SeedReport => ({
  ...one,
  ok: false,
  problems: [
    ...one.problems,
    { judge: 'same seed, same trace', expected: `the trace ${one.trace} again`, seen: `the trace ${other.trace}` },
  ],
});
