// Runs many seeds in sequence, some of them twice, to show that a seed always gives the same trace.
import type { Counts } from './faults.ts';
import { guardGlobals } from './real-globals.ts';
import { runSeed } from './simulate.ts';
import type { SeedReport } from './simulate.ts';

export type SeedsOptions = {
  /** Stop after this many failures; default: never. */
  readonly failuresMax?: number;
  /** Stop after this time; default: never. */
  readonly minutes?: number;
  /** The number of trace lines in each report; by default some, for failed seeds. */
  readonly lines?: number;
  readonly onReport?: (report: SeedReport) => void;
};

export type SeedsReport = {
  readonly ok: boolean;
  readonly from: number;
  readonly seeds: number;
  /** How many of them ran twice. */
  readonly twice: number;
  readonly failures: readonly SeedReport[];
  readonly figures: Counts;
  readonly faults: Counts;
  readonly checks: Counts;
  readonly seconds: number;
  readonly cpuSeconds: number;
};

const twiceEvery = 100;
/** In every nth seed, a rejection must be handled before the next event. */
const strictEvery = 10;

export const runSeeds = async (from: number, count: number, options: SeedsOptions = {}): Promise<SeedsReport> => {
  const { failuresMax = Infinity, minutes = Infinity, onReport, lines } = options;
  const seen = lines === undefined ? {} : { lines };
  const [figures, faults, checks]: Counts[] = [{}, {}, {}];
  const failures: SeedReport[] = [];
  const [start, cpu] = [Date.now(), process.cpuUsage()];
  const guard = guardGlobals();
  let [seeds, twice] = [0, 0];
  try {
    while (seeds < count && failures.length < failuresMax && Date.now() - start < minutes * 60_000) {
      const seed = from + seeds++;
      const report = await runSeed(seed, { guard, strict: seed % strictEvery === 0, ...seen });
      const again = seed % twiceEvery === 0 ? await runSeed(seed, { guard }) : report;
      if (again !== report) twice++;
      const judged = again.trace === report.trace ? report : withTraceMismatch(report, again);
      add(figures!, report.figures);
      add(faults!, report.faults);
      add(checks!, report.checks);
      if (!judged.ok) failures.push(judged);
      onReport?.(judged);
    }
  } finally {
    guard.remove();
  }
  const used = process.cpuUsage(cpu);
  return {
    ok: failures.length === 0,
    from,
    seeds,
    twice,
    failures,
    figures: figures!,
    faults: faults!,
    checks: checks!,
    seconds: (Date.now() - start) / 1_000,
    cpuSeconds: (used.user + used.system) / 1_000_000,
  };
};

const add = (sums: Counts, more: Counts): void => {
  for (const [name, count] of Object.entries(more)) sums[name] = (sums[name] ?? 0) + count;
};

const withTraceMismatch = (one: SeedReport, other: SeedReport): SeedReport => ({
  ...one,
  ok: false,
  problems: [
    ...one.problems,
    { judge: 'same seed, same trace', expected: `the trace ${one.trace} again`, seen: `the trace ${other.trace}` },
  ],
});
