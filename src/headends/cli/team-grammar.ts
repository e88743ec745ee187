// The grammar of `team`.
import { Option } from 'commander';
import type { Command } from 'commander';
import {
  agentsOf,
  budgetOf,
  command,
  common,
  configOf,
  someNumber,
  withAgents,
  withBudget,
  withEvents,
  withWorkspace,
} from './grammar.ts';
import type { Flags, Take } from './grammar.ts';
import type { TeamRequest } from './request.ts';
import { UsageError } from './usage-error.ts';

export const addTeamCommand = (program: Command, take: Take): void => {
  const team = command(program, 'team', 'let a team work through a graph of tasks', [
    'cloister team team.yaml "Write a page about bees"',
    'cloister team team.yaml "Write a page about bees" --plan-only --save plan.json',
    'cloister team team.yaml --from-plan plan.json',
    'cloister team team.yaml --tasks tasks.yaml --graph graph.svg',
  ])
    .usage('[options] <team.yaml> [goal]')
    .argument('<team>', 'the file of a team')
    .argument('[goal]', 'what it should reach; - : read it from stdin')
    .addOption(
      new Option('--tasks <file>', 'what there is to do, in YAML or JSON; nobody plans').conflicts([
        'fromPlan',
        'planOnly',
      ]),
    )
    .addOption(
      new Option('--plan-only', 'let the coordinator plan, and show the plan').conflicts(['fromPlan', 'answer']),
    )
    .option('--save <file>', 'with --plan-only: write the plan, as JSON')
    .option('--from-plan <file|run>', 'work through a plan that was saved, or that a run made')
    .option('--answer', 'with tasks: let the coordinator answer from all results')
    .option('--graph <file>', 'write the graph at the end: .svg, or for Mermaid .mmd or .md')
    .option('--parallel <n>', 'how many tasks to work on at once', someNumber);
  withBudget(withEvents(withWorkspace(withAgents(team)))).action(
    (path: string, goal: string | undefined, flags: Flags) => take(teamRequest(path, goal, flags)),
  );
};

const teamRequest = (path: string, goal: string | undefined, flags: Flags): TeamRequest => {
  const { tasks = null, fromPlan = null, planOnly = false, save = null, answer = false, graph = null } = flags;
  if (save !== null && !planOnly)
    throw new UsageError(
      '--save goes with --plan-only',
      'cloister team <team.yaml> "<goal>" --plan-only --save plan.json',
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
    ...configOf(flags),
    ...agentsOf(flags),
    ...budgetOf(flags),
  };
};
