// Faults of a seed in which nothing goes wrong.
import type { FaultPlan } from './plan.ts';

/** What does not depend on what the runs do. */
export type DrawnFaults = Omit<FaultPlan, 'post' | 'crashBefore' | 'crashAt' | 'crashInStorage'>;

export const calm: DrawnFaults = {
  untilMs: 0,
  crashesMax: 0,
  crash: 0,
  model: 0,
  tool: 0,
  source: 0,
  disk: 0,
  clock: 0,
  rivals: 0,
};
