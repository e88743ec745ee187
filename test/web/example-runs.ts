// Runs of the examples, to look at: their models are rehearsed, so nothing leaves this machine.
import { openStudio } from './browser.ts';
import type { Studio } from './browser.ts';
import { exampleFiles, startExamples } from './examples.ts';
import type { ExampleName, ExampleRuns } from './examples.ts';

export type ExampleStudio = Studio & { readonly runs: ExampleRuns };

/** One run of each of these agents; `desk` waits for a person. */
export const openExamples = async (names: readonly ExampleName[] = ['lead']): Promise<ExampleStudio> => {
  const studio = await openStudio({ agents: names.map((name) => exampleFiles[name]) });
  return { ...studio, runs: await startExamples(studio.cloister, names) };
};
