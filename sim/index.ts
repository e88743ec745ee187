// The whole runtime from a seed: real core, real commit and recovery, a simulated world.
export type { History } from './history.ts';
export { hear, judges } from './judges/index.ts';
export type { Judge, Problem } from './judges/index.ts';
export { keptSeeds } from './kept-seeds.ts';
export { guardGlobals } from './real-globals.ts';
export { runSeeds } from './run-seeds.ts';
export type { SeedsOptions, SeedsReport } from './run-seeds.ts';
export { runSeed } from './simulate.ts';
export type { SeedOptions, SeedReport } from './simulate.ts';
export { failureText } from './failure-text.ts';
