// Runs seeds in a process of their own. A seed that kills its process, for example by using all memory, is a failed seed like any
// other: it is named, and the seeds after it run in a new process.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SeedsOptions } from './run-seeds.ts';
import { SeedSums } from './seed-sums.ts';
import type { SeedsReport } from './seed-sums.ts';
import type { SeedReport } from './simulate.ts';

/** `cpuSeconds`: of the process so far. */
export type SeedLine = { readonly start: number } | { readonly report: SeedReport; readonly cpuSeconds: number };

export type ApartOptions = Pick<SeedsOptions, 'failuresMax' | 'minutes' | 'onReport'> & {
  /** The process and the arguments before its seeds. Tests start one that dies. */
  readonly command?: readonly string[];
};

const seedsProcess = [
  '--conditions=cloister-source',
  // A seed allocates much and keeps little: with more room for young objects, few of them are copied.
  '--max-semi-space-size=64',
  fileURLToPath(new URL('seeds-process.ts', import.meta.url)),
];

export const runSeedsApart = async (from: number, count: number, options: ApartOptions = {}): Promise<SeedsReport> => {
  const { failuresMax = Infinity, minutes = Infinity, onReport, command = seedsProcess } = options;
  const sums = new SeedSums(from);
  const until = Date.now() + minutes * 60_000;
  let cpuSeconds = 0;
  const add = (report: SeedReport): void => {
    sums.add(report);
    onReport?.(report);
  };
  while (sums.seeds < count && sums.failures < failuresMax && Date.now() < until) {
    const minutesLeft = (until - Date.now()) / 60_000;
    const args = [from + sums.seeds, count - sums.seeds, failuresMax - sums.failures, minutesLeft];
    const end = await runProcess([...command, ...args.map(String)], add);
    cpuSeconds += end.cpuSeconds;
    if (end.death === null) break;
    if (end.runningSeed === null) throw new Error(`The process of the seeds died outside of any seed: ${end.death}`);
    add(deathReport(end.runningSeed, end.death));
  }
  return sums.report(cpuSeconds);
};

type ProcessEnd = {
  /** How it died; null: it did not. */
  readonly death: string | null;
  readonly runningSeed: number | null;
  readonly cpuSeconds: number;
};

/** A seed takes some milliseconds. Whatever takes this long does not end by itself, however busy the machine is. */
const stuckMs = 600_000;

const runProcess = async (args: readonly string[], onReport: (report: SeedReport) => void): Promise<ProcessEnd> => {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const closed = Promise.withResolvers<string | null>();
  child.once('error', closed.reject);
  child.once('close', (code, signal) => closed.resolve(code === 0 ? null : (signal ?? `exit code ${code}`)));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  let runningSeed: number | null = null;
  let cpuSeconds = 0;
  const stuck = setTimeout(kill, stuckMs);
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      stuck.refresh();
      const line = JSON.parse(text) as SeedLine;
      runningSeed = 'start' in line ? line.start : null;
      if ('start' in line) continue;
      cpuSeconds = line.cpuSeconds;
      onReport(line.report);
    }
    const how = await closed.promise;
    return { death: how === null ? null : [how, ...lastLines(stderr)].join('\n'), runningSeed, cpuSeconds };
  } finally {
    clearTimeout(stuck);
    process.off('exit', kill);
    kill();
  }
};

/** Of everything that a dying process prints, what it says about the reason. */
const lastLines = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => /\S/u.test(line) && !/^\s*\d+: 0x/u.test(line))
    .slice(-10);

const deathReport = (seed: number, death: string): SeedReport => ({
  seed,
  ok: false,
  problems: [{ judge: 'the process survives', expected: 'a report of the seed', seen: death }],
  trace: '',
  last: [],
  figures: {},
  faults: {},
  checks: {},
});
