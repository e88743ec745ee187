// Events of runs that another process of the workspace works on: how long after they happened a reader here has them.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import type { Benchmark, Line } from './benchmark.ts';

const [turns, crowd] = [60, 60];

export const elsewhereBenchmark: Benchmark = {
  name: 'elsewhere',
  about: 'events of runs that another process works on, until a reader has them',
  async run() {
    const [one, many] = [await follow(1), await follow(crowd)];
    return [
      lineOf('p50, one run; raw = in its own process', one, 0.5, { atMost: 25 }),
      lineOf('p99, one run; raw = in its own process', one, 0.99, null),
      lineOf(`p50, ${crowd} runs at once; raw = in their own process`, many, 0.5, null),
      lineOf(`p99, ${crowd} runs at once; raw = in their own process`, many, 0.99, null),
      cpuLine('CPU of the reader, of one core, one run', one),
      cpuLine(`CPU of the reader, of one core, ${crowd} runs at once`, many),
    ];
  },
};

type Sample = { readonly own: readonly number[]; readonly delays: readonly number[]; readonly cpuPercent: number };

const lineOf = (what: string, { own, delays }: Sample, part: number, target: Line['target']): Line => {
  const value = percentile(delays, part);
  return { what, unit: 'ms', raw: percentile(own, part), cloister: value, figure: value, figureUnit: 'ms', target };
};

const cpuLine = (what: string, { cpuPercent: value }: Sample): Line => ({
  what,
  unit: '%',
  raw: null,
  cloister: value,
  figure: value,
  figureUnit: '%',
  target: null,
});

const follow = async (runs: number): Promise<Sample> => {
  const workspace = await mkdtemp(join(tmpdir(), 'cloister-bench-'));
  const script = join(import.meta.dirname, 'elsewhere-owner.ts');
  const args = ['--conditions=cloister-source', script, workspace, String(runs), String(turns)];
  const owner = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: owner.stdout })[Symbol.asyncIterator]();
  try {
    const ids = await wordsIn(lines);
    owner.stdin.end('go\n');
    await using cloister = await openCloister({ workspace, agents: [] });
    const [from, cpu] = [performance.now(), process.cpuUsage()];
    const delays = await Promise.all(ids.map((run) => read(cloister, run)));
    const { user, system } = process.cpuUsage(cpu);
    const cpuPercent = (user + system) / 10 / (performance.now() - from);
    return { own: (await wordsIn(lines)).map(Number), delays: delays.flat(), cpuPercent };
  } finally {
    owner.kill();
    await rm(workspace, { recursive: true });
  }
};

const wordsIn = async (lines: AsyncIterator<string>): Promise<readonly string[]> =>
  String((await lines.next()).value).split(' ');

/** Of the events that happen after it has caught up. */
const read = async (cloister: Cloister, run: string): Promise<readonly number[]> => {
  const delays: number[] = [];
  const from = Date.now();
  for await (const event of cloister.follow(run))
    if ('at' in event && event.at > from) delays.push(Date.now() - event.at);
  return delays;
};

const percentile = (values: readonly number[], of: number): number =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.floor(of * values.length))] ?? 0;
