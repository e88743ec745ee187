// Reading a run with very many frames: time for each frame, and the memory of a process that does nothing else.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Benchmark, Line } from './benchmark.ts';

const [few, many] = [100_000, 1_000_000];
const mebibytesMax = 512;

export const auditBenchmark: Benchmark = {
  name: 'audit',
  about: `a run of ${many.toLocaleString('en')} frames audited and shown, compared with one of ${few.toLocaleString('en')}`,
  async run() {
    const short = await openLog(few);
    const long = await openLog(many);
    try {
      return [...(await compareReaders('audit', short, long)), ...(await compareReaders('show', short, long))];
    } finally {
      await short.remove();
      await long.remove();
    }
  },
};

type LongLog = { readonly workspace: string; readonly run: string; readonly frames: number; remove(): Promise<void> };

const openLog = async (frames: number): Promise<LongLog> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-audit-'));
  const run = (await inProcess([workspace, 'write', String(frames)])).trim();
  return { workspace, run, frames, remove: () => rm(workspace, { recursive: true, force: true }) };
};

type Sample = { readonly cpuMs: number; readonly rss: number };

const sample = async (what: string, { workspace, run }: LongLog): Promise<Sample> =>
  JSON.parse(await inProcess([workspace, what, run])) as Sample;

const compareReaders = async (what: string, short: LongLog, long: LongLog): Promise<readonly Line[]> => {
  const [early, late] = [await sample(what, short), await sample(what, long)];
  const cpuUs = ({ cpuMs }: Sample, { frames }: LongLog): number => (1_000 * cpuMs) / frames;
  return [
    {
      what: `${what}: CPU for each frame, raw = of ${few.toLocaleString('en')}`,
      unit: 'µs',
      raw: cpuUs(early, short),
      cloister: cpuUs(late, long),
      figure: cpuUs(late, long) / cpuUs(early, short),
      figureUnit: '×',
      target: { atMost: 1.5 },
    },
    {
      what: `${what}: memory of the process (rss), raw = with ${few.toLocaleString('en')}`,
      unit: 'MiB',
      raw: early.rss,
      cloister: late.rss,
      figure: late.rss,
      figureUnit: 'MiB',
      target: { atMost: mebibytesMax },
    },
  ];
};

const inProcess = async (args: readonly string[]): Promise<string> => {
  const script = join(import.meta.dirname, 'long-log-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=cloister-source', script, ...args]);
  return stdout;
};
