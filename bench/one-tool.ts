import { rawToolAgent, toolAgent } from './agents.ts';
import type { Benchmark } from './benchmark.ts';
import { goals } from './models.ts';
import { ratioLines } from './compare-loops.ts';

export const oneToolBenchmark: Benchmark = {
  name: 'one-tool',
  about: 'one agent with one tool call (two model requests)',
  run: () =>
    ratioLines(
      {
        agent: toolAgent,
        rawAgent: rawToolAgent,
        goal: goals.lookups(1),
        times: 400,
        rounds: { warm: 3, measured: 15 },
      },
      2,
    ),
};
