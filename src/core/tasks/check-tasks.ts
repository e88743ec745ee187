// What is wrong with a list of tasks, before anything of it is done; or the list, clean and complete.
//
//   T1. A list is taken as a whole or not at all.
//   T2. An id that is given stays; one that is missing is made of the title.
//   T3. Whatever the list, the time is linear in its tasks and dependencies, and nothing is recursive.
import { CloisterError } from '#base';
import { didYouMean } from './nearest-name.ts';
import { TaskProblems, show } from './problems.ts';
import { readTask } from './read-task.ts';
import type { TaskDraft, ReadTask, TaskLimits } from './read-task.ts';
import { createIdAllocator, isTaskId, slugOf } from './task-ids.ts';
import { orderTasks } from './task-graph.ts';

/** The tasks that are there already, on which new ones may depend. */
export type KnownTasks = {
  readonly size: number;
  has(id: string): boolean;
  keys(): Iterable<string>;
  /** How many tasks the longest path has that ends with it. */
  depthOf(id: string): number;
};

const nobody: KnownTasks = { size: 0, has: () => false, keys: () => [], depthOf: () => 0 };

/** Every problem in words: the first ten, and the number of the others. */
export const checkTasks = (specs: unknown, known: KnownTasks = nobody, limits: TaskLimits = {}): readonly string[] =>
  readGraph(specs, known, limits).problems;

/** The tasks, frozen and with their ids. Throws `tasks_invalid` with every problem. */
export const readTasks = (specs: unknown, known: KnownTasks = nobody, limits: TaskLimits = {}): readonly ReadTask[] => {
  const { tasks, problems } = readGraph(specs, known, limits);
  if (problems.length > 0) throw new CloisterError('tasks_invalid', problems.join('\n'));
  return tasks;
};

export type ReadGraph = {
  readonly problems: readonly string[];
  /** Empty when there are problems, as are the others. */
  readonly tasks: readonly ReadTask[];
  /** Places in the list, each after all that it depends on. */
  readonly order: readonly number[];
  readonly depths: readonly number[];
};

export const readGraph = (specs: unknown, known: KnownTasks, limits: TaskLimits): ReadGraph => {
  const problems = new TaskProblems();
  const drafts = readDrafts(specs, known, limits, problems);
  if (drafts.length === 0) return refused(problems);
  const ids = fillIds(drafts, known);
  const { edges, floors } = connect(drafts, ids, known, problems);
  const ordered = orderTasks(ids, edges, floors, problems.tell);
  if (ordered.order.length === ids.length) checkDepth(ids, ordered.depths, limits.depthMax ?? Infinity, problems);
  if (problems.count > 0) return refused(problems);
  return {
    ...ordered,
    problems: [],
    tasks: drafts.map((draft, place) => Object.freeze({ ...(draft as ReadTask), id: ids[place]! })),
  };
};

const refused = (problems: TaskProblems): ReadGraph => ({
  problems: problems.list(),
  tasks: [],
  order: [],
  depths: [],
});

const readDrafts = (
  specs: unknown,
  known: KnownTasks,
  limits: TaskLimits,
  problems: TaskProblems,
): readonly TaskDraft[] => {
  const { tasksMax = Infinity, assignees } = limits;
  if (!Array.isArray(specs)) {
    problems.tell(() => `Tasks must be a list; this is ${show(specs)}.`);
    return [];
  }
  if (specs.length === 0) problems.tell(() => 'The list of tasks is empty.');
  if (specs.length + known.size > tasksMax) {
    const already = known.size === 0 ? '' : `, and ${known.size} are there already`;
    problems.tell(() => `There are ${specs.length} tasks in the list${already}; at most ${tasksMax} are allowed.`);
    return [];
  }
  if (assignees?.length === 0) problems.tell(() => 'There is nobody to give a task to.');
  const roster = assignees === undefined ? null : new Set(assignees);
  // Not `map`, which leaves holes as they are.
  return Array.from(specs as readonly unknown[], (spec, place) =>
    readTask(spec, limits, roster, (words) => problems.tell(() => `${nameOf(place, spec)}: ${words()}`)),
  );
};

/** Which one it is, for a person who looks at the list. */
const nameOf = (place: number, spec: unknown): string => {
  const { id, title } = (spec ?? {}) as { readonly id?: unknown; readonly title?: unknown };
  const name = typeof id === 'string' && isTaskId(id) ? id : typeof title === 'string' ? show(title) : null;
  return `Task ${place + 1}${name === null ? '' : ` (${name})`}`;
};

const fillIds = (drafts: readonly TaskDraft[], known: KnownTasks): readonly string[] => {
  const given = drafts.map(({ id }) => id);
  if (given.every((id) => id !== undefined)) return given;
  const taken = new Set(given);
  const idFor = createIdAllocator((id) => taken.has(id) || known.has(id));
  return drafts.map(({ id, title }) => id ?? idFor(title ?? ''));
};

type Connected = { readonly edges: readonly (readonly number[])[]; readonly floors: readonly number[] };

const connect = (
  drafts: readonly TaskDraft[],
  ids: readonly string[],
  known: KnownTasks,
  problems: TaskProblems,
): Connected => {
  const places = new Map<string, number>();
  ids.forEach((id, place) => {
    const first = places.get(id);
    if (known.has(id))
      problems.tell(() => `${nameOf(place, drafts[place])}: there is a task with the id ${show(id)} already.`);
    else if (first === undefined) places.set(id, place);
    else problems.tell(() => `${nameOf(place, drafts[place])}: task ${first + 1} has the id ${show(id)} too.`);
  });
  const floors: number[] = [];
  const edges = drafts.map((draft, place) => {
    const inside: number[] = [];
    let floor = 0;
    for (const id of draft.dependsOn) {
      const dependency = places.get(id);
      if (id === ids[place]) problems.tell(() => `${nameOf(place, draft)}: it depends on itself.`);
      else if (dependency !== undefined) inside.push(dependency);
      else if (known.has(id)) floor = Math.max(floor, known.depthOf(id));
      else
        problems.tell(
          () => `${nameOf(place, draft)}: it depends on ${show(id)}, which is not there.${meant(id, ids, known)}`,
        );
    }
    floors.push(floor);
    return inside;
  });
  return { edges, floors };
};

/** A title where an id belongs is the usual mistake. */
const meant = (name: string, ids: readonly string[], known: KnownTasks): string => {
  const all = [...ids, ...known.keys()];
  return didYouMean(name, all) || didYouMean(slugOf(name), all);
};

const checkDepth = (
  ids: readonly string[],
  depths: readonly number[],
  depthMax: number,
  problems: TaskProblems,
): void => {
  const deepest = depths.reduce((best, depth, place) => (depth > depths[best]! ? place : best), 0);
  if (depths[deepest]! > depthMax)
    problems.tell(
      () =>
        `${depths[deepest]} tasks follow one another, up to ${show(ids[deepest])}; at most ${depthMax} may. Let more of them work side by side.`,
    );
};
