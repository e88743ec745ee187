// `team`: runs a task graph that a coordinator planned or a user wrote.
import { CloisterError } from '#base';
import type { Agent, Cloister, DrawableTask, RunOutcome, TaskReport, TaskSpec, TeamSession } from '#contracts';
import { count, plural } from '#headends/run-view';
import type { CliFiles, TaskInput } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { UsageError } from './shared/errors.ts';
import { followRun } from './shared/follow-run.ts';
import type { FinishNotes } from './shared/follow-run.ts';
import { checkOutputWritable, openGraphFile, readIfExists } from './shared/graph-file.ts';
import type { GraphFile } from './shared/graph-file.ts';
import { cloisterCommand, shellWord } from './shared/next-commands.ts';
import {
  agentsOptions,
  budgetOf,
  budgetOptions,
  runOutputOptions,
  flagOption,
  optionalArgument,
  positiveInteger,
  requiredArgument,
  textOption,
  valueOption,
  workspaceOption,
  readInput,
} from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { resolveRun } from './shared/find-and-open.ts';
import { excerpt, safeJson, sanitizeAll, sanitizeLine, wrapText } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'run a team: plan a goal as a task graph, or run given tasks',
  examples: [
    'cloister team team.yaml "Write a page about bees"',
    'cloister team team.yaml "A page on bees" --plan-only --save-plan plan.json',
    'cloister team team.yaml --from-plan plan.json',
    'cloister team team.yaml --tasks tasks.yaml --graph graph.svg',
  ],
  usage: '[options] <team.yaml> [goal]',
  arguments: {
    team: requiredArgument('a team file'),
    goal: optionalArgument('the goal; - reads it from stdin'),
  },
  options: {
    tasks: {
      ...textOption('<file>', 'run these tasks (YAML or JSON) instead of planning'),
      conflicts: ['fromPlan', 'planOnly'],
    },
    planOnly: { ...flagOption('print the plan and run nothing'), conflicts: ['fromPlan', 'finalAnswer', 'answer'] },
    savePlan: { ...textOption('<file>', 'with --plan-only: save the plan as JSON'), formerly: 'save' },
    fromPlan: textOption('<file|run>', 'execute a saved plan, or the plan of an earlier run'),
    finalAnswer: { ...flagOption('with --tasks: have the coordinator write a final answer'), formerly: 'answer' },
    graph: textOption('<file>', 'write the final task graph: .svg, or Mermaid as .mmd or .md'),
    parallel: valueOption('<n>', 'maximum tasks in parallel', positiveInteger),
    ...agentsOptions,
    ...workspaceOption,
    ...runOutputOptions,
    ...budgetOptions,
  },
  run: async (given, context) => {
    const { runtime, files } = context;
    const { team: path, planOnly, savePlan: save, finalAnswer: answer, workspace, agents, config, parallel } = given;
    const request = { ...given, path, save, answer };
    if (save !== null && !planOnly)
      throw new UsageError(
        '--save-plan requires --plan-only',
        'cloister team <team.yaml> "<goal>" --plan-only --save-plan plan.json',
      );
    const graph = await openGraphFile(given.graph, context);
    if (save !== null)
      await checkOutputWritable(save, files, { option: '--save-plan', what: 'plan', wasWrittenByUs: isPlanText });
    return followRun(
      {
        request: given,
        open: () => runtime.open({ workspace, agents: [path, ...agents], config, parallel }),
        begin: (cloister) => begin(cloister, { ...request, budget: budgetOf(given) }, context),
        ...(planOnly ? { showAnswer: (outcome) => printPlan(outcome, context), isPlan: true } : {}),
        finish: (outcome, cloister) => finishTeam({ outcome, cloister, graph }, request, context),
      },
      context,
    );
  },
});

type TeamRequest = {
  readonly path: string;
  readonly goal: string | null;
  /** A tasks file, and a plan: a file, or the run that made the plan. */
  readonly tasks: string | null;
  readonly fromPlan: string | null;
  readonly planOnly: boolean;
  readonly answer: boolean;
  /** Where to write the plan. */
  readonly save: string | null;
  readonly workspace: string;
};

type EndedTeam = { readonly outcome: RunOutcome; readonly cloister: Cloister; readonly graph: GraphFile | null };

/** Writes the plan and the graph, and says what to do next. */
const finishTeam = async (
  { outcome, cloister, graph }: EndedTeam,
  request: TeamRequest,
  context: CommandContext,
): Promise<FinishNotes> => {
  const { planOnly, save } = request;
  const saved = save === null ? noNotes : await savePlan(save, outcome, context);
  const isSaved = saved.failures.length === 0;
  const next = planOnly ? planNextLines(outcome, { ...request, save: isSaved ? save : null }) : [];
  const tasks = planOnly ? plannedTasks(outcome) : await cloister.tasks(outcome.run);
  const drawn = graph === null ? noNotes : await drawGraph(graph, tasks);
  return { notices: [...saved.notices, ...drawn.notices, ...next], failures: [...saved.failures, ...drawn.failures] };
};

const begin = async (
  cloister: Cloister,
  request: TeamRequest & { readonly budget: ReturnType<typeof budgetOf> },
  context: CommandContext,
): Promise<TeamSession> => {
  const { budget, planOnly, answer } = request;
  const team = findTeam(cloister, request);
  const asked = await readTeamInput(cloister, team, request, context);
  if ('goal' in asked && !('tasks' in asked))
    return cloister.runTeam(team, asked.goal, { budget, ...(planOnly ? { planOnly } : {}) });
  const { goal, tasks } = asked;
  // If there is a goal, the coordinator writes a final answer to it.
  const isAnswered = answer || goal !== null;
  return cloister.runTasks(team, tasks, { budget, answer: isAnswered, ...(goal === null ? {} : { goal }) });
};

/** The first team: its file comes before all others. */
const findTeam = ({ agents }: Cloister, { path }: TeamRequest): Agent => {
  const team = agents.find(({ team: rules }) => rules !== null);
  if (team !== undefined) return team;
  throw new UsageError(
    `${path} does not define a team`,
    path.endsWith('.ai') ? `cloister run ${shellWord(path)} "<input>"` : 'pass a team file such as team.yaml',
  );
};

/** A goal to plan for, or tasks to run. */
const readTeamInput = async (
  cloister: Cloister,
  team: Agent,
  request: TeamRequest,
  { terminal, files, tasks: taskFiles }: CommandContext,
): Promise<TaskInput | { readonly goal: string }> => {
  const givenGoal = request.goal === '-' ? await readInput(terminal) : request.goal;
  const assignees = Object.keys(team.team?.rules.members ?? {});
  const read = (path: string): Promise<TaskInput> => taskFiles.read(path, assignees);
  const withGoal = ({ goal, tasks }: TaskInput): TaskInput => ({ goal: givenGoal ?? goal, tasks });
  if (request.tasks !== null) return withGoal(await read(request.tasks));
  if (request.fromPlan !== null) {
    const plan = await readPlan(request.fromPlan, cloister, { files, read });
    checkPlanScope(plan, team);
    return withGoal(plan);
  }
  // With a goal, the coordinator plans, even if the team file has tasks.
  const own = request.planOnly || givenGoal !== null ? null : await taskFiles.ofTeam(request.path);
  if (own !== null) return { goal: null, tasks: own };
  return {
    goal: givenGoal ?? (await readInput(terminal, 'goal', 'pass it in quotes, or pass tasks with --tasks <file>')),
  };
};

/** A coordinator wrote the plan, even if it comes from a file: `memoryScope: all` needs the team's permission. */
const checkPlanScope = ({ tasks }: TaskInput, { team, name }: Agent): void => {
  if (team === null || team.rules.planMayAskForAll || team.rules.memoryScope === 'all') return;
  const asking = tasks.find(({ memoryScope }) => memoryScope === 'all');
  if (asking !== undefined)
    throw new CloisterError(
      'tasks_invalid',
      `Task "${asking.title}" in the plan asks for memoryScope: all, which plans for "${name}" may not use: set planMayAskForAll, or pass the tasks with --tasks if you wrote them yourself.`,
    );
};

/** Reads a plan from a file, or from the run that made it. */
const readPlan = async (
  given: string,
  cloister: Cloister,
  { files, read }: { readonly files: CliFiles; readonly read: (path: string) => Promise<TaskInput> },
): Promise<TaskInput> => {
  if (/[./\\]/u.test(given) || (await readIfExists(given, files)) !== null) return read(given);
  const run = await resolveRun(cloister, given);
  const { output, events } = await cloister.show(run);
  const goal = events.find((event) => event.type === 'session-start')?.team?.goal ?? null;
  const plan = parsePlan(output) ?? planFromTasks(goal, await cloister.tasks(run));
  if (plan === null)
    throw new CloisterError(
      'tasks_invalid',
      `Run ${run} has no plan. Use a --plan-only run, or a file such as plan.json.`,
    );
  return plan;
};

/** Turns the tasks of a run into a plan, to run them again. */
const planFromTasks = (goal: string | null, tasks: readonly TaskReport[]): TaskInput | null =>
  tasks.length === 0
    ? null
    : {
        goal,
        tasks: tasks.map(({ id, title, description, assignee, dependsOn, memoryScope, retries, priority }) => ({
          id,
          title,
          description,
          ...(assignee === null ? {} : { assignee }),
          dependsOn,
          memoryScope,
          retries,
          priority,
        })),
      };

/** A list on a terminal; JSON into a pipe or a file. */
const printPlan = (outcome: RunOutcome, { terminal, output }: CommandContext): void => {
  const plan = parsePlan(outcome.output);
  if (plan === null) return;
  if (terminal.stdout.isTTY === true) output.out.print('', ...planLines(plan, output.out));
  else output.out.print(safeJson(plan, 2));
};

const noNotes: FinishNotes = { notices: [], failures: [] };

const savePlan = async (path: string, outcome: RunOutcome, { files }: CommandContext): Promise<FinishNotes> => {
  const plan = parsePlan(outcome.output);
  if (plan === null) return noNotes;
  return writeAndReport('plan', path, () => files.writeText(path, `${JSON.stringify(plan, null, 2)}\n`));
};

/** Also draws runs that failed or were stopped, as far as they got. */
const drawGraph = async (file: GraphFile, tasks: readonly DrawableTask[]): Promise<FinishNotes> => {
  if (tasks.length === 0) return noNotes;
  return writeAndReport('graph', file.path, () => file.write(tasks));
};

/** A failed write does not fail the run, which is done and stored. */
const writeAndReport = async (
  what: 'plan' | 'graph',
  path: string,
  write: () => Promise<void>,
): Promise<FinishNotes> => {
  try {
    await write();
    return { notices: [`${what === 'plan' ? 'Plan' : 'Graph'} written to ${path}.`], failures: [] };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { notices: [], failures: [`The ${what} could not be written to ${path}: ${why}`] };
  }
};

/** All pending: a plan has not been run. */
const plannedTasks = ({ output }: RunOutcome): readonly DrawableTask[] =>
  (parsePlan(output)?.tasks ?? []).map(({ id = '', title, assignee = null, dependsOn = [] }) => ({
    id,
    title,
    assignee,
    dependsOn,
    status: 'pending',
  }));

/** How to save and run the plan. */
const planNextLines = ({ run, output }: RunOutcome, { path, save, workspace }: TeamRequest): readonly string[] => {
  if (parsePlan(output) === null) return [];
  const from = save === null ? run : shellWord(save);
  return [
    ...(save === null ? ['To edit the plan first, save it with --save-plan plan.json'] : []),
    `Run the plan: ${cloisterCommand(`team ${shellWord(path)} --from-plan ${from}`, workspace)}`,
  ];
};

/** Null if the text is not a plan. The tasks are validated when they are run. */
const parsePlan = (text: string): TaskInput | null => {
  try {
    const { goal = null, tasks } = JSON.parse(text) as { readonly goal?: unknown; readonly tasks?: unknown };
    if (!Array.isArray(tasks) || (goal !== null && typeof goal !== 'string')) return null;
    return { goal, tasks: tasks as readonly TaskSpec[] };
  } catch {
    return null;
  }
};

const isPlanText = (text: string): boolean => parsePlan(text) !== null;

const shownMax = 200;

const planLines = (plan: TaskInput, { paint, columns }: Screen): readonly string[] => {
  const { goal, tasks } = sanitizeAll(plan);
  const more = tasks.length - shownMax;
  return [
    `${paint('bold', 'Plan')} (${plural(tasks.length, 'task')})${goal === null ? '' : `: ${excerpt(goal, columns - 20)}`}`,
    ...tasks.slice(0, shownMax).flatMap((task, place) => taskLines(task, place, { paint, columns })),
    ...(more > 0 ? [paint('dim', `… ${count(more)} more: use --json for all`)] : []),
  ];
};

const taskLines = (task: TaskSpec, place: number, { paint, columns }: Screen): readonly string[] => {
  const { id = '', title, description, assignee, dependsOn = [] } = task;
  const who = assignee === undefined ? 'any free member' : sanitizeLine(assignee);
  const after = dependsOn.length === 0 ? '' : `, after ${dependsOn.map((one) => sanitizeLine(one)).join(', ')}`;
  const lead = `${String(place + 1).padStart(3)}. `;
  const [first = '', ...rest] = wrapText(lead, title, columns, lead.length);
  const indent = ' '.repeat(lead.length);
  return [
    `${lead}${paint('bold', first.slice(lead.length))}`,
    ...rest.map((line) => paint('bold', line)),
    ...wrapText(indent, `${sanitizeLine(id)} · ${who}${after}`, columns, lead.length).map((line) => paint('dim', line)),
    ...wrapText(indent, excerpt(description, columns * 3), columns, lead.length),
  ];
};
