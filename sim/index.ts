// Simulates the whole runtime from a seed: real core, real commit and recovery code, simulated world.
export type { History } from './history.ts';
export { judges, runJudges } from './judges/index.ts';
export type { Judge, Problem } from './judges/index.ts';
export { regressionSeeds } from './regression-seeds.ts';
export { guardGlobals } from './real-globals.ts';
export { runSeeds } from './run-seeds.ts';
export type { SeedsOptions } from './run-seeds.ts';
export type { SeedsReport } from './seed-sums.ts';
export { runSeed } from './simulate.ts';
export type { SeedOptions, SeedReport } from './simulate.ts';
export { failureText } from './failure-text.ts';
