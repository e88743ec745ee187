// Compares ratios within one run, never absolute times: the two sides alternate, and medians are compared.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cloister, RunSession } from 'cloister';
import { answerText } from './models.ts';

export type Comparison = { readonly raw: number; readonly cloister: number; readonly ratio: number };

type Sides = { raw(): Promise<number>; cloister(): Promise<number> };

/** Alternates raw and cloister. The ratio is the median of the per-round ratios, because a busy neighbour slows both sides of a round. */
export const compare = async (rounds: { warm: number; measured: number }, sides: Sides): Promise<Comparison> => {
  const [raws, cloisters]: [number[], number[]] = [[], []];
  for (let round = -rounds.warm; round < rounds.measured; round++) {
    const [raw, cloister] = [await sides.raw(), await sides.cloister()];
    if (round < 0) continue;
    raws.push(raw);
    cloisters.push(cloister);
  }
  return {
    raw: median(raws),
    cloister: median(cloisters),
    ratio: median(cloisters.map((time, round) => time / raws[round]!)),
  };
};

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/**
 * CPU milliseconds of this thread: what the loop itself takes, whatever else the machine does. Garbage collection is not
 * forced first: it would drop hidden classes that are momentarily unused, and the code optimised for them.
 */
export const threadMs = async (work: () => Promise<void>): Promise<number> => {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};

/** CPU milliseconds of the whole process, including helper threads. */
export const processMs = async (work: () => Promise<void>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

/** Wall-clock milliseconds, for work that alternates between two threads and a disk. */
export const wallMs = async (work: () => Promise<void>): Promise<number> => {
  const from = performance.now();
  await work();
  return performance.now() - from;
};

export const collectGarbage = (): void => {
  if (gc === undefined) throw new Error('The benchmarks need node --expose-gc; start them with npm run bench.');
  gc();
};

/** Throws unless the run completed: a benchmark of a failed run means nothing. */
export const expectCompleted = async ({ outcome }: RunSession): Promise<void> => {
  const { status, output, failure } = await outcome;
  if (status !== 'completed' || output !== answerText)
    throw new Error(`A session ended with status ${status}: ${failure?.code ?? output}`);
};

export const expectAnswer = (output: string): void => {
  if (output !== answerText) throw new Error(`The raw loop answered: ${output}`);
};

export const runSequentially = async (
  cloister: Cloister,
  agent: string,
  goal: string,
  times: number,
): Promise<void> => {
  for (let time = 0; time < times; time++) await expectCompleted(cloister.run(agent, goal));
};

export const runConcurrently = async (
  cloister: Cloister,
  agent: string,
  goal: string,
  count: number,
): Promise<void> => {
  await Promise.all(Array.from({ length: count }, () => expectCompleted(cloister.run(agent, goal))));
};

/** Like `runConcurrently`, but the runs arrive spread over `overMs` milliseconds, as requests do. */
export const runSpread = async (
  cloister: Cloister,
  agent: string,
  goal: string,
  { count, overMs }: { readonly count: number; readonly overMs: number },
): Promise<void> => {
  const arrive = async (index: number): Promise<void> => {
    await sleep((index * overMs) / count);
    await expectCompleted(cloister.run(agent, goal));
  };
  await Promise.all(Array.from({ length: count }, (_, index) => arrive(index)));
};
