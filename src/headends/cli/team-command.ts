// `team`: runs a task graph that a coordinator planned or a user wrote.
import { CloisterError } from '#base';
import type { Agent, Cloister, RunOutcome, TaskReport, TeamSession } from '#contracts';
import type { TaskInput, CliWorld, TaskToDraw } from './shared/cli-world.ts';
import type { CommandContext } from './shared/command-context.ts';
import type { ExitCode } from './shared/errors.ts';
import { followRun } from './shared/follow-run.ts';
import type { FinishNotes } from './shared/follow-run.ts';
import { checkOutputWritable, openGraphFile, readIfExists } from './shared/graph-file.ts';
import type { GraphFile } from './shared/graph-file.ts';
import { cloisterCommand, shellWord } from './shared/next-commands.ts';
import { isPlanText, parsePlan, planLines } from './plan-lines.ts';
import { readInput } from './shared/read-input.ts';
import type { TeamRequest } from './shared/request.ts';
import { resolveRun } from './shared/resolve-name.ts';
import { safeJson } from './shared/sanitize-text.ts';
import { UsageError } from './shared/errors.ts';

export const teamCommand = async (request: TeamRequest, context: CommandContext): Promise<ExitCode> => {
  const { world } = context;
  const graph = await openGraphFile(request.graph, world);
  if (request.save !== null)
    await checkOutputWritable(request.save, world, { option: '--save-plan', what: 'plan', wasWrittenByUs: isPlanText });
  return followRun(
    {
      request,
      open: () => openTeam(request, context),
      begin: (cloister) => begin(cloister, request, context),
      ...(request.planOnly ? { showAnswer: (outcome) => printPlan(outcome, context), isPlan: true } : {}),
      finish: async (outcome, cloister) => {
        const saved = request.save === null ? noNotes : await savePlan(request.save, outcome, context);
        const isSaved = saved.failures.length === 0;
        const next = request.planOnly
          ? planNextLines(outcome, { ...request, save: isSaved ? request.save : null })
          : [];
        const tasks = request.planOnly ? plannedTasks(outcome) : await cloister.tasks(outcome.run);
        const drawn = graph === null ? noNotes : await drawGraph(graph, tasks);
        return {
          notices: [...saved.notices, ...drawn.notices, ...next],
          failures: [...saved.failures, ...drawn.failures],
        };
      },
    },
    context,
  );
};

const openTeam = (
  { path, agents, workspace, config, parallel }: TeamRequest,
  { world }: CommandContext,
): Promise<Cloister> =>
  world.open({
    workspace,
    agents: [path, ...agents],
    demo: false,
    ...(config === null ? {} : { config }),
    ...(parallel === null ? {} : { parallel }),
  });

const begin = async (cloister: Cloister, request: TeamRequest, context: CommandContext): Promise<TeamSession> => {
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
  { world }: CommandContext,
): Promise<TaskInput | { readonly goal: string }> => {
  const givenGoal = request.goal === '-' ? await readInput(world) : request.goal;
  const assignees = Object.keys(team.team?.members ?? {});
  const read = (path: string): Promise<TaskInput> => world.readTasks(path, assignees);
  const withGoal = ({ goal, tasks }: TaskInput): TaskInput => ({ goal: givenGoal ?? goal, tasks });
  if (request.tasks !== null) return withGoal(await read(request.tasks));
  if (request.fromPlan !== null) {
    const plan = await readPlan(request.fromPlan, cloister, { world, read });
    checkPlanScope(plan, team);
    return withGoal(plan);
  }
  // With a goal, the coordinator plans, even if the team file has tasks.
  const own = request.planOnly || givenGoal !== null ? null : await world.teamTasks(request.path);
  if (own !== null) return { goal: null, tasks: own };
  return { goal: givenGoal ?? (await readGoal(world)) };
};

const readGoal = async (world: CliWorld): Promise<string> => {
  const text = await world.stdin();
  if (text !== null) return text.replace(/\r?\n$/u, '');
  throw new UsageError('missing goal', 'pass it in quotes, or pass tasks with --tasks <file>');
};

/** A coordinator wrote the plan, even if it comes from a file: `memoryScope: all` needs the team's permission. */
const checkPlanScope = ({ tasks }: TaskInput, { team, name }: Agent): void => {
  if (team === null || team.planMayAskForAll || team.memoryScope === 'all') return;
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
  { world, read }: { readonly world: CliWorld; readonly read: (path: string) => Promise<TaskInput> },
): Promise<TaskInput> => {
  if (/[./\\]/u.test(given) || (await readIfExists(given, world)) !== null) return read(given);
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
const printPlan = (outcome: RunOutcome, { world, output }: CommandContext): void => {
  const plan = parsePlan(outcome.output);
  if (plan === null) return;
  if (world.stdout.isTTY === true) output.out.print('', ...planLines(plan, output.out));
  else output.out.print(safeJson(plan, 2));
};

const noNotes: FinishNotes = { notices: [], failures: [] };

const savePlan = async (path: string, outcome: RunOutcome, { world }: CommandContext): Promise<FinishNotes> => {
  const plan = parsePlan(outcome.output);
  if (plan === null) return noNotes;
  return writeAndReport('plan', path, () => world.writeText(path, `${JSON.stringify(plan, null, 2)}\n`));
};

/** Also draws runs that failed or were stopped, as far as they got. */
const drawGraph = async (file: GraphFile, tasks: readonly TaskToDraw[]): Promise<FinishNotes> => {
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
const plannedTasks = ({ output }: RunOutcome): readonly TaskToDraw[] =>
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
