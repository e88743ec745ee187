// What the two runs of a team are compared by: the cells, tasks and caller that the difference between them must not reach.
import type { CellId } from '#base';
import type { Task } from '#contracts';
import type { ExpectedPrompts } from './expected-prompts.ts';
import { allTasks, isReordered } from './graph-case.ts';
import type { GraphCase, GraphKind, GraphVariation } from './graph-case.ts';
import type { GraphRun } from './graph-run.ts';
import { createObservation } from './observer.ts';
import type { Observation, Observations } from './observer.ts';
import { Records, withoutTime } from './records.ts';
import type { TeamCell } from './team-model.ts';

/** Places and tasks that the difference may legitimately reach. */
export const findReached = (
  run: GraphRun,
  { expected }: ExpectedPrompts,
  variation: GraphVariation,
): ReadonlySet<string> => {
  const { kind } = run.setting.graph;
  const before = allDependencies(run.setting.graph);
  const reached = new Set<string>();
  const cells = new Set<CellId>();
  const dependsOnReached = (id: string): boolean => [...before.get(id)!].some((one) => reached.has(taskPlace(one)));
  // Which results exist at a given moment depends on timing.
  const isLate = (id: string): boolean => isReordered(kind) && memoryScopeOf(run, id) === 'all';
  if (kind === 'failure') reached.add(taskPlace(variation.task!));
  if (kind === 'failure' || (isReordered(kind) && hasBlocked(run))) reached.add('the answer').add('the caller');
  for (const state of run.cells) {
    const { birth, parent, place, task } = state;
    const isBelow = parent !== null && cells.has(parent.birth.cell);
    const isGiven = (expected.get(birth.cell)?.from ?? []).some((cell) => cells.has(cell));
    const isTask = task !== null && (isLate(task) || dependsOnReached(task));
    if (!seesVariation(state, kind, variation) && !isBelow && !isGiven && !isTask) continue;
    cells.add(birth.cell);
    reached.add(place);
    if (birth.task?.part === 'task') reached.add(taskPlace(birth.task.task));
  }
  // Tasks that never started.
  for (const id of before.keys()) if (isLate(id) || dependsOnReached(id)) reached.add(taskPlace(id));
  return reached.size === 0 ? reached : reached.add('the caller');
};

/** Which task blocked another depends on timing. */
const hasBlocked = ({ live }: GraphRun): boolean =>
  [...(live.team?.queue.tasks() ?? [])].some(({ status }) => status === 'blocked');

const seesVariation = (state: TeamCell, kind: GraphKind, variation: GraphVariation): boolean => {
  const part = state.birth.task?.part;
  if (kind === 'description') return part === 'plan';
  return kind === 'goal' ? part === 'plan' || part === 'answer' : isVariedCell(variation, state);
};

/** The direct and indirect dependencies of each task. */
const allDependencies = (graph: GraphCase): ReadonlyMap<string, ReadonlySet<string>> => {
  const before = new Map<string, ReadonlySet<string>>();
  for (const { id, dependsOn } of allTasks(graph))
    before.set(id, new Set(dependsOn.flatMap((one) => [one, ...(before.get(one) ?? [])])));
  return before;
};

const memoryScopeOf = ({ setting: { graph, team } }: GraphRun, id: string): string =>
  allTasks(graph).find((task) => task.id === id)?.memoryScope ?? team.agent.team!.rules.memoryScope;

const taskPlace = (id: string): string => `task ${id}`;

/** The observations of all cells and tasks that the difference must not reach, and of the caller unless it may be reached. */
export const collectTeamObservations = (
  run: GraphRun,
  reached: ReadonlySet<string>,
  withRecords: boolean,
): Observations => {
  const all = new Map<string, readonly Observation[]>();
  const records = withRecords ? new Records(run, true) : null;
  for (const { place, observer, cell } of run.cells)
    if (!reached.has(place)) all.set(place, [...observer.observations, ...(records?.observationsOf(cell) ?? [])]);
  for (const task of run.live.team?.queue.tasks() ?? [])
    if (!reached.has(taskPlace(task.id)))
      all.set(taskPlace(task.id), [createObservation('end', taskEndText(task, run))]);
  if (!reached.has('the caller'))
    all.set('the caller', [createObservation('outcome', JSON.stringify(withoutTime(run.outcome)))]);
  return all;
};

const taskEndText = ({ status, assignee, result, attempts, reason }: Task, { setting }: GraphRun): string => {
  // The reason names the first of several failed dependencies, which depends on timing.
  const why = reason?.code === 'dependency' && isReordered(setting.graph.kind) ? reason.code : reason;
  return JSON.stringify({ status, assignee, attempts, reason: why, result });
};

/** Whether the model's replies in this cell vary directly. */
export const isVariedCell = ({ task, member, isCoordinator }: GraphVariation, state: TeamCell): boolean =>
  (task !== null && state.task === task) || (member !== null && isMember(member, isCoordinator, state));

const isMember = (member: string, isCoordinator: boolean, state: TeamCell): boolean => {
  const part = state.birth.task?.part;
  if (part === undefined) return state.parent !== null && isMember(member, isCoordinator, state.parent);
  return isCoordinator ? part !== 'task' : part === 'task' && state.birth.agent === member;
};
