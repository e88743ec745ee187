import { parentAgent, rawParentAgent } from './agents.ts';
import type { Benchmark } from './benchmark.ts';
import { goals } from './models.ts';
import { ratioLines } from './compare-loops.ts';

const children = 8;

export const eightChildrenBenchmark: Benchmark = {
  name: 'eight-children',
  about: 'a parent that calls eight children in one turn, in parallel',
  run: () =>
    ratioLines(
      {
        agent: (model) => parentAgent(model, { parallelToolCalls: children }),
        rawAgent: rawParentAgent,
        goal: goals.helpers(children),
        times: 100,
        rounds: { warm: 3, measured: 15 },
      },
      2.2,
    ),
};
