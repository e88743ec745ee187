import type { Limits } from 'cloister';
import { rawToolAgent, toolAgent } from './agents.ts';
import type { Benchmark } from './benchmark.ts';
import { median } from './measure.ts';
import type { Comparison } from './measure.ts';
import { goals } from './models.ts';
import type { FastModel } from './models.ts';
import { compareLoops } from './compare-loops.ts';

const sizes = [50, 100, 200, 400];
const turnsPerSample = 800;
const passes = 7;

/** Nothing is compacted and no limit is reached, so that only the growth of the work shows. */
const limits: Limits = { maxToolTurns: 1_000, contextTokensMax: 1_000_000_000 };

const loopPair = {
  agent: (model: FastModel) => toolAgent(model, limits),
  rawAgent: rawToolAgent,
  rounds: { warm: 1, measured: 3 },
};

export const turnsBenchmark: Benchmark = {
  name: 'turns',
  about: 'sessions of 50, 100, 200 and 400 turns: how the time grows',
  async run() {
    const bySize = await timesBySize();
    const growth = exponent(bySize.map(({ cloister }) => cloister));
    const ratios = bySize.map(({ ratio }, index) => `${ratio.toFixed(2)} × at ${sizes[index]}`);
    return [
      {
        what: 'growth exponent',
        unit: '',
        raw: exponent(bySize.map(({ raw }) => raw)),
        cloister: growth,
        figure: growth,
        figureUnit: '',
        target: { atMost: 1.1 },
        note: `cloister over raw, by turns: ${ratios.join(', ')}`,
      },
    ];
  },
};

/** Every pass runs every size, so that no size benefits from warmer code. */
const timesBySize = async (): Promise<readonly Comparison[]> => {
  const samples = sizes.map((): Comparison[] => []);
  for (let pass = -1; pass < passes; pass++)
    for (const [index, size] of sizes.entries()) {
      const sample = await compareLoops({ ...loopPair, goal: goals.lookups(size), times: turnsPerSample / size });
      if (pass >= 0) samples[index]!.push(sample);
    }
  return samples.map((some) => ({
    raw: median(some.map(({ raw }) => raw)),
    cloister: median(some.map(({ cloister }) => cloister)),
    ratio: median(some.map(({ ratio }) => ratio)),
  }));
};

/** Least-squares slope of log(time) over log(turns). */
const exponent = (times: readonly number[]): number => {
  const [xs, ys] = [sizes.map(Math.log), times.map(Math.log)];
  const [x, y] = [mean(xs), mean(ys)];
  const covariance = mean(xs.map((value, index) => (value - x) * (ys[index]! - y)));
  return covariance / mean(xs.map((value) => (value - x) ** 2));
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
