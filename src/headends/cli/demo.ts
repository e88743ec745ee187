// `demo`: runs the built-in example, and audits the run.
import { defineCommand } from './shared/define-command.ts';
import { followRun } from './shared/follow-run.ts';
import { budgetOf, budgetOptions, defaultedArgument, runOutputOptions, workspaceOption } from './shared/options.ts';

const agent = 'lead';
const defaultQuestion = 'Should a small team keep its data in SQLite or in DuckDB?';

export default defineCommand({
  about: 'run the built-in research team offline, with a scripted model, and audit the run',
  examples: ['cloister demo', 'cloister demo "Which database?" --json'],
  arguments: { question: defaultedArgument('the question for the team', defaultQuestion) },
  options: { ...workspaceOption, ...runOutputOptions, ...budgetOptions },
  run: (given, context) =>
    followRun(
      {
        request: given,
        isDemo: true,
        open: () => context.runtime.open({ workspace: given.workspace, agents: [], demo: true }),
        begin: (cloister) => cloister.run(agent, given.question, { budget: budgetOf(given) }),
      },
      context,
    ),
});
