// Runs of the examples, to look at: their models are rehearsed, so nothing leaves this machine.
import { openStudio } from './browser.ts';
import type { Studio } from './browser.ts';

const files = {
  lead: 'examples/research/lead.ai',
  'game-master': 'examples/dungeon/game-master.ai',
  editorial: 'examples/dependencies/team.yaml',
  desk: 'examples/approval/desk.ai',
} as const;

type ExampleName = keyof typeof files;

const goals: Readonly<Record<ExampleName, string>> = {
  lead: 'Should a small team keep its data in SQLite or in DuckDB?',
  'game-master': 'We enter the crypt.',
  editorial: 'May we use SQLite, and what does it give us?',
  desk: 'Tell Anna that her bike is ready.',
};

export type ExampleStudio = Studio & { readonly runs: Readonly<Record<ExampleName, string>> };

/** One run of each of these agents; `desk` waits for a person. */
export const openExamples = async (names: readonly ExampleName[] = ['lead']): Promise<ExampleStudio> => {
  const studio = await openStudio({ agents: names.map((name) => files[name]) });
  const runs: Partial<Record<ExampleName, string>> = {};
  for (const name of names) {
    const session = studio.cloister.run(name, goals[name]);
    runs[name] = session.run;
    if (name === 'desk') {
      for await (const event of session) if (event.type === 'question') break;
    } else await session.outcome;
  }
  return { ...studio, runs: runs as ExampleStudio['runs'] };
};
