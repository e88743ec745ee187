// Ratios within one run, never absolute times: the two sides take turns, and medians are compared.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cloister, RunSession } from 'cloister';
import { answerText } from './models.ts';

export type Compared = { readonly raw: number; readonly cloister: number; readonly ratio: number };

type Sides = { raw(): Promise<number>; cloister(): Promise<number> };

/** Raw, cloister, raw, cloister … The ratio is the median of the rounds' own ratios: a busy neighbour hits both sides of one. */
export const compare = async (rounds: { warm: number; measured: number }, sides: Sides): Promise<Compared> => {
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
 * Milliseconds of this thread's CPU: what the loop itself takes, whatever else the machine does. No collection is forced
 * before it: that drops shapes nobody holds at the moment, and with them the optimised code of whoever makes them.
 */
export const threadMs = async (work: () => Promise<void>): Promise<number> => {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};

/** Milliseconds of CPU of the whole process, its helping threads included. */
export const processMs = async (work: () => Promise<void>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

/** Milliseconds on the wall: where two threads and a disk work in turns. */
export const wallMs = async (work: () => Promise<void>): Promise<number> => {
  const from = performance.now();
  await work();
  return performance.now() - from;
};

export const collect = (): void => {
  if (gc === undefined) throw new Error('The benchmarks need node --expose-gc: use npm run bench.');
  gc();
};

/** A benchmark of something that went wrong would say nothing. */
export const outcomeOf = async ({ outcome }: RunSession): Promise<void> => {
  const { status, output, failure } = await outcome;
  if (status !== 'completed' || output !== answerText)
    throw new Error(`A session ended ${status}: ${failure?.code ?? output}`);
};

export const answered = (output: string): void => {
  if (output !== answerText) throw new Error(`The raw loop answered: ${output}`);
};

export const runEach = async (cloister: Cloister, agent: string, goal: string, times: number): Promise<void> => {
  for (let time = 0; time < times; time++) await outcomeOf(cloister.run(agent, goal));
};

export const runAtOnce = async (cloister: Cloister, agent: string, goal: string, count: number): Promise<void> => {
  await Promise.all(Array.from({ length: count }, () => outcomeOf(cloister.run(agent, goal))));
};

/** The same, but they come one after the other, spread over so many milliseconds, as requests do. */
export const runSpread = async (
  cloister: Cloister,
  agent: string,
  goal: string,
  { count, overMs }: { readonly count: number; readonly overMs: number },
): Promise<void> => {
  const arrive = async (index: number): Promise<void> => {
    await sleep((index * overMs) / count);
    await outcomeOf(cloister.run(agent, goal));
  };
  await Promise.all(Array.from({ length: count }, (_, index) => arrive(index)));
};
