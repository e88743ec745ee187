// Runs of the examples: their models are rehearsed, so nothing leaves this machine.
import type { Cloister } from 'cloister';

export const exampleFiles = {
  lead: 'examples/research/lead.ai',
  'game-master': 'examples/dungeon/game-master.ai',
  editorial: 'examples/dependencies/team.yaml',
  desk: 'examples/approval/desk.ai',
} as const;

export type ExampleName = keyof typeof exampleFiles;
export type ExampleRuns = Readonly<Record<ExampleName, string>>;

const goals: ExampleRuns = {
  lead: 'Should a small team keep its data in SQLite or in DuckDB?',
  'game-master': 'We enter the crypt.',
  editorial: 'May we use SQLite, and what does it give us?',
  desk: 'Tell Anna that her bike is ready.',
};

/** One run of each of these agents, to its end; that of `desk` waits for a person. */
export const startExamples = async (cloister: Cloister, names: readonly ExampleName[]): Promise<ExampleRuns> => {
  const runs: Partial<Record<ExampleName, string>> = {};
  for (const name of names) {
    const session = cloister.run(name, goals[name]);
    runs[name] = session.run;
    if (name === 'desk') {
      for await (const event of session) if (event.type === 'question') break;
    } else await session.outcome;
  }
  return runs as ExampleRuns;
};
