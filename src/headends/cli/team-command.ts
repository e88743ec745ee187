// `team`: a graph of tasks, planned by a coordinator or written by a person, worked through to its end.
import { CloisterError } from '#base';
import type { Agent, Cloister, RunOutcome, TaskReport, TeamSession } from '#contracts';
import type { TaskInput, CliWorld, DrawnGraph } from './cli-world.ts';
import type { CommandContext } from './command-context.ts';
import type { ExitCode } from './exit-code.ts';
import { followRun } from './follow-run.ts';
import type { FinishNotes } from './follow-run.ts';
import { checkOutputWritable, openGraphFile, textAt } from './graph-file.ts';
import type { GraphFile } from './graph-file.ts';
import { cloisterCommand } from './cloister-command.ts';
import { isPlanText, planIn, planLines } from './plan-lines.ts';
import { readInput } from './read-input.ts';
import type { TeamRequest } from './request.ts';
import { resolveRun } from './resolve-name.ts';
import { shellWord } from './shell-word.ts';
import { safeJson } from './sanitize-text.ts';
import { UsageError } from './usage-error.ts';

export const teamCommand = async (request: TeamRequest, desk: CommandContext): Promise<ExitCode> => {
  const { world } = desk;
  const graph = await openGraphFile(request.graph, world);
  if (request.save !== null)
    await checkOutputWritable(request.save, world, { option: '--save', what: 'plan', isOurs: isPlanText });
  return followRun(
    {
      request,
      open: () => openTeam(request, desk),
      begin: (cloister) => begin(cloister, request, desk),
      ...(request.planOnly ? { tellAnswer: (outcome) => tellPlan(outcome, desk), isPlan: true } : {}),
      finish: async (outcome, cloister) => {
        const saved = request.save === null ? nothing : await savePlan(request.save, outcome, desk);
        const isSaved = saved.failed.length === 0;
        const next = request.planOnly ? nextLines(outcome, { ...request, save: isSaved ? request.save : null }) : [];
        const tasks = request.planOnly ? plannedTasks(outcome) : await cloister.tasks(outcome.run);
        const drawn = graph === null ? nothing : await drawGraph(graph, tasks);
        return { said: [...saved.said, ...drawn.said, ...next], failed: [...saved.failed, ...drawn.failed] };
      },
    },
    desk,
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

const begin = async (cloister: Cloister, request: TeamRequest, desk: CommandContext): Promise<TeamSession> => {
  const { budget, planOnly, answer } = request;
  const team = teamIn(cloister, request);
  const asked = await askedOf(cloister, team, request, desk);
  if ('goal' in asked && !('tasks' in asked))
    return cloister.runTeam(team, asked.goal, { budget, ...(planOnly ? { planOnly } : {}) });
  const { goal, tasks } = asked;
  // A goal is for whoever answers.
  const isAnswered = answer || goal !== null;
  return cloister.runTasks(team, tasks, { budget, answer: isAnswered, ...(goal === null ? {} : { goal }) });
};

/** The first one: its file was given before all others. */
const teamIn = ({ agents }: Cloister, { path }: TeamRequest): Agent => {
  const team = agents.find(({ team: rules }) => rules !== null);
  if (team !== undefined) return team;
  throw new UsageError(
    `${path} holds no team`,
    path.endsWith('.ai') ? `cloister run ${shellWord(path)} "<input>"` : 'name a team’s file, such as team.yaml',
  );
};

/** What is to be planned, or what was. */
const askedOf = async (
  cloister: Cloister,
  team: Agent,
  request: TeamRequest,
  { world }: CommandContext,
): Promise<TaskInput | { readonly goal: string }> => {
  const said = request.goal === '-' ? await readInput(world) : request.goal;
  const assignees = Object.keys(team.team?.members ?? {});
  const read = (path: string): Promise<TaskInput> => world.readTasks(path, assignees);
  const withGoal = ({ goal, tasks }: TaskInput): TaskInput => ({ goal: said ?? goal, tasks });
  if (request.tasks !== null) return withGoal(await read(request.tasks));
  if (request.fromPlan !== null) {
    const plan = await planOf(request.fromPlan, cloister, { world, read });
    refuseAll(plan, team);
    return withGoal(plan);
  }
  // A goal alone is planned, whatever the file has.
  const own = request.planOnly || said !== null ? null : await world.teamTasks(request.path);
  if (own !== null) return { goal: null, tasks: own };
  return { goal: said ?? (await readGoal(world)) };
};

const readGoal = async (world: CliWorld): Promise<string> => {
  const text = await world.stdin();
  if (text !== null) return text.replace(/\r?\n$/u, '');
  throw new UsageError('a goal is missing', 'give it in quotes, or what there is to do with --tasks <file>');
};

/** A plan is a coordinator's, wherever it was kept: it may ask for everything only where the team allows that. */
const refuseAll = ({ tasks }: TaskInput, { team, name }: Agent): void => {
  if (team === null || team.planMayAskForAll || team.memoryScope === 'all') return;
  const asking = tasks.find(({ memoryScope }) => memoryScope === 'all');
  if (asking !== undefined)
    throw new CloisterError(
      'tasks_invalid',
      `Task "${asking.title}" of the plan asks for memoryScope: all, which plans for "${name}" may not: allow it with planMayAskForAll, or give the tasks with --tasks if they are yours.`,
    );
};

/** From a file; or, by its name, from the run that made it. */
const planOf = async (
  given: string,
  cloister: Cloister,
  { world, read }: { readonly world: CliWorld; readonly read: (path: string) => Promise<TaskInput> },
): Promise<TaskInput> => {
  if (/[./\\]/u.test(given) || (await textAt(given, world)) !== null) return read(given);
  const run = await resolveRun(cloister, given);
  const { output, events } = await cloister.show(run);
  const goal = events.find((event) => event.type === 'session-start')?.team?.goal ?? null;
  const plan = planIn(output) ?? plannedIn(goal, await cloister.tasks(run));
  if (plan === null)
    throw new CloisterError(
      'tasks_invalid',
      `Run ${run} made no plan: name one of --plan-only, or a file such as plan.json.`,
    );
  return plan;
};

/** What a run has worked through, to be worked through again. */
const plannedIn = (goal: string | null, tasks: readonly TaskReport[]): TaskInput | null =>
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

/** For people a list; into a pipe or a file the plan itself. */
const tellPlan = (outcome: RunOutcome, { world, output }: CommandContext): void => {
  const plan = planIn(outcome.output);
  if (plan === null) return;
  if (world.stdout.isTTY === true) output.out.print('', ...planLines(plan, output.out));
  else output.out.print(safeJson(plan, 2));
};

const nothing: FinishNotes = { said: [], failed: [] };

const savePlan = async (path: string, outcome: RunOutcome, { world }: CommandContext): Promise<FinishNotes> => {
  const plan = planIn(outcome.output);
  if (plan === null) return nothing;
  return written('plan', path, () => world.writeText(path, `${JSON.stringify(plan, null, 2)}\n`));
};

/** Also of what failed, or was stopped: as far as it came. */
const drawGraph = async (file: GraphFile, tasks: readonly DrawnGraph[]): Promise<FinishNotes> => {
  if (tasks.length === 0) return nothing;
  return written('graph', file.path, () => file.write(tasks));
};

/** The work is done either way, and its run is kept. */
const written = async (what: string, path: string, write: () => Promise<void>): Promise<FinishNotes> => {
  try {
    await write();
    return { said: [`The ${what} is in ${path}.`], failed: [] };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { said: [], failed: [`The ${what} could not be written to ${path}: ${why}`] };
  }
};

/** Nobody has begun with any of them. */
const plannedTasks = ({ output }: RunOutcome): readonly DrawnGraph[] =>
  (planIn(output)?.tasks ?? []).map(({ id = '', title, assignee = null, dependsOn = [] }) => ({
    id,
    title,
    assignee,
    dependsOn,
    status: 'pending',
  }));

/** How a plan is kept and run. */
const nextLines = ({ run, output }: RunOutcome, { path, save, workspace }: TeamRequest): readonly string[] => {
  if (planIn(output) === null) return [];
  const from = save === null ? run : shellWord(save);
  return [
    ...(save === null ? ['To change it first, write it to a file: --save plan.json'] : []),
    `Run it: ${cloisterCommand(`team ${shellWord(path)} --from-plan ${from}`, workspace)}`,
  ];
};
