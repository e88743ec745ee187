// The grammar of `team`.
import { Option } from 'commander';
import type { Command } from 'commander';
import {
  agentsFlag,
  budgetFlag,
  command,
  common,
  configFlag,
  formerOption,
  positiveInteger,
  withAgents,
  withBudget,
  withEvents,
  withWorkspace,
} from './shared/grammar.ts';
import type { Flags, TakeRequest } from './shared/grammar.ts';
import type { TeamRequest } from './shared/request.ts';
import { UsageError } from './shared/errors.ts';

export const addTeamCommand = (program: Command, take: TakeRequest): void => {
  const team = command(program, 'team', 'run a team: plan a goal as a task graph, or run given tasks', [
    'cloister team team.yaml "Write a page about bees"',
    'cloister team team.yaml "A page on bees" --plan-only --save-plan plan.json',
    'cloister team team.yaml --from-plan plan.json',
    'cloister team team.yaml --tasks tasks.yaml --graph graph.svg',
  ])
    .usage('[options] <team.yaml> [goal]')
    .argument('<team>', 'a team file')
    .argument('[goal]', 'the goal; - reads it from stdin')
    .addOption(
      new Option('--tasks <file>', 'run these tasks (YAML or JSON) instead of planning').conflicts([
        'fromPlan',
        'planOnly',
      ]),
    )
    .addOption(
      new Option('--plan-only', 'print the plan and run nothing').conflicts(['fromPlan', 'finalAnswer', 'answer']),
    )
    .option('--save-plan <file>', 'with --plan-only: save the plan as JSON')
    .option('--from-plan <file|run>', 'execute a saved plan, or the plan of an earlier run')
    .option('--final-answer', 'with --tasks: have the coordinator write a final answer')
    .option('--graph <file>', 'write the final task graph: .svg, or Mermaid as .mmd or .md')
    .option('--parallel <n>', 'maximum tasks in parallel', positiveInteger)
    .addOption(formerOption('--save <file>'))
    .addOption(formerOption('--answer'));
  withBudget(withEvents(withWorkspace(withAgents(team)))).action(
    (path: string, goal: string | undefined, flags: Flags) => take(teamRequest(path, goal, flags)),
  );
};

const teamRequest = (path: string, goal: string | undefined, flags: Flags): TeamRequest => {
  const { tasks = null, fromPlan = null, planOnly = false, graph = null } = flags;
  const save = flags.savePlan ?? flags.save ?? null;
  const answer = flags.finalAnswer ?? flags.answer ?? false;
  if (save !== null && !planOnly)
    throw new UsageError(
      '--save-plan requires --plan-only',
      'cloister team <team.yaml> "<goal>" --plan-only --save-plan plan.json',
    );
  return {
    command: 'team',
    path,
    goal: goal ?? null,
    tasks,
    fromPlan,
    planOnly,
    save,
    answer,
    graph,
    parallel: flags.parallel ?? null,
    jsonl: flags.jsonl ?? false,
    ...common(flags),
    ...configFlag(flags),
    ...agentsFlag(flags),
    ...budgetFlag(flags),
  };
};
