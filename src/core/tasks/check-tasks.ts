// Validates a list of tasks before any of it runs: returns its problems, or the parsed list.
//
//   tasks-all-or-none. A list is accepted as a whole or not at all.
//   tasks-given-id-stays. A missing id is made from the title, and such a task may also be named by its title.
//   tasks-check-linear. For any list, the time is linear in its tasks and dependencies, and nothing is recursive.
import { CloisterError } from '#base';
import { showValue } from '#base/shapes';
import { didYouMean, TaskProblems } from './problems.ts';
import { parseTask } from './read-task.ts';
import type { TaskDraft, ParsedTask, TaskLimits } from './read-task.ts';
import { createIdAllocator, isTaskId, slugify } from './task-ids.ts';
import { orderTasks } from './task-graph.ts';

/** The existing tasks, on which new ones may depend. */
export type KnownTasks = {
  readonly size: number;
  has(id: string): boolean;
  keys(): Iterable<string>;
  /** The number of tasks on the longest path that ends with this task. */
  depthOf(id: string): number;
};

const noTasks: KnownTasks = { size: 0, has: () => false, keys: () => [], depthOf: () => 0 };

/** Describes the problems: the first ten, and the number of the others. */
export const checkTasks = (
  specs: unknown,
  existing: KnownTasks = noTasks,
  limits: TaskLimits = {},
): readonly string[] => parseGraph(specs, existing, limits).problems;

/** Returns the tasks, frozen and with ids. Throws `tasks_invalid` with the problems. */
export const parseTasks = (
  specs: unknown,
  existing: KnownTasks = noTasks,
  limits: TaskLimits = {},
): readonly ParsedTask[] => {
  const { tasks, problems } = parseGraph(specs, existing, limits);
  if (problems.length > 0) throw new CloisterError('tasks_invalid', problems.join('\n'));
  return tasks;
};

type ParsedGraph = {
  readonly problems: readonly string[];
  /** Empty if there are problems, like `order` and `depths`. */
  readonly tasks: readonly ParsedTask[];
  /** Indexes in the list, each after all of its dependencies. */
  readonly order: readonly number[];
  readonly depths: readonly number[];
};

export const parseGraph = (specs: unknown, existing: KnownTasks, limits: TaskLimits): ParsedGraph => {
  const problems = new TaskProblems();
  const drafts = readDrafts(specs, existing, limits, problems);
  if (drafts.length === 0) return invalidGraph(problems);
  const ids = fillIds(drafts, existing);
  nameById(drafts, ids, problems);
  const { edges, floors } = connect(drafts, ids, existing, problems);
  const ordered = orderTasks(ids, edges, floors, problems.report);
  if (ordered.order.length === ids.length) checkDepth(ids, ordered.depths, limits.depthMax ?? Infinity, problems);
  if (problems.count > 0) return invalidGraph(problems);
  return {
    ...ordered,
    problems: [],
    tasks: drafts.map((draft, index) => Object.freeze({ ...(draft as ParsedTask), id: ids[index]! })),
  };
};

const invalidGraph = (problems: TaskProblems): ParsedGraph => ({
  problems: problems.list(),
  tasks: [],
  order: [],
  depths: [],
});

const readDrafts = (
  specs: unknown,
  existing: KnownTasks,
  limits: TaskLimits,
  problems: TaskProblems,
): readonly TaskDraft[] => {
  const { tasksMax = Infinity, assignees } = limits;
  if (!Array.isArray(specs)) {
    problems.report(() => `Tasks must be a list; got ${showValue(specs)}.`);
    return [];
  }
  if (specs.length === 0) problems.report(() => 'The list of tasks is empty.');
  if (specs.length + existing.size > tasksMax) {
    const already = existing.size === 0 ? '' : `, plus ${existing.size} existing`;
    problems.report(() => `The list has ${specs.length} tasks${already}; at most ${tasksMax} are allowed.`);
    return [];
  }
  if (assignees?.length === 0) problems.report(() => 'There is no member to assign a task to.');
  const roster = assignees === undefined ? null : new Set(assignees);
  // Not `map`, which leaves holes as they are.
  return Array.from(specs as readonly unknown[], (spec, index) =>
    parseTask(spec, limits, roster, (message) => problems.report(() => `${taskLabel(index, spec)}: ${message()}`)),
  );
};

/** Identifies a task for a person who looks at the list. */
const taskLabel = (index: number, spec: unknown): string => {
  const { id, title } = (spec ?? {}) as { readonly id?: unknown; readonly title?: unknown };
  const name = typeof id === 'string' && isTaskId(id) ? id : typeof title === 'string' ? showValue(title) : null;
  return `Task ${index + 1}${name === null ? '' : ` (${name})`}`;
};

const fillIds = (drafts: readonly TaskDraft[], existing: KnownTasks): readonly string[] => {
  const givenIds = drafts.map(({ id }) => id);
  if (givenIds.every((id) => id !== undefined)) return givenIds;
  const taken = new Set(givenIds);
  const idFor = createIdAllocator((id) => taken.has(id) || existing.has(id));
  return drafts.map(({ id, title }) => id ?? idFor(title ?? ''));
};

/** Replaces titles of tasks that have no id of their own: whoever wrote the list may not know the ids that were made. */
const nameById = (drafts: readonly TaskDraft[], ids: readonly string[], problems: TaskProblems): void => {
  const titled = new Map<string, string | null>();
  drafts.forEach(({ id, title }, index) => {
    if (id === undefined && title !== undefined) titled.set(title, titled.has(title) ? null : ids[index]!);
  });
  if (titled.size === 0) return;
  const known = new Set(ids);
  const idOf = (name: string): string => (known.has(name) ? name : (titled.get(name) ?? name));
  drafts.forEach((draft, index) => {
    const named = new Set<string>();
    for (const id of draft.dependsOn.map(idOf)) {
      if (named.has(id)) problems.report(() => `${taskLabel(index, draft)}: dependsOn names ${showValue(id)} twice.`);
      named.add(id);
    }
    draft.dependsOn = Object.freeze([...named]);
    if (draft.when !== undefined) draft.when = Object.freeze({ ...draft.when, task: idOf(draft.when.task) });
  });
};

type GraphEdges = { readonly edges: readonly (readonly number[])[]; readonly floors: readonly number[] };

const connect = (
  drafts: readonly TaskDraft[],
  ids: readonly string[],
  existing: KnownTasks,
  problems: TaskProblems,
): GraphEdges => {
  const indexes = new Map<string, number>();
  ids.forEach((id, index) => {
    const first = indexes.get(id);
    if (existing.has(id))
      problems.report(() => `${taskLabel(index, drafts[index])}: a task with the id ${showValue(id)} already exists.`);
    else if (first === undefined) indexes.set(id, index);
    else
      problems.report(() => `${taskLabel(index, drafts[index])}: task ${first + 1} also has the id ${showValue(id)}.`);
  });
  const floors: number[] = [];
  const edges = drafts.map((draft, index) => {
    const inside: number[] = [];
    let floor = 0;
    for (const id of draft.dependsOn) {
      const dependency = indexes.get(id);
      if (id === ids[index]) problems.report(() => `${taskLabel(index, draft)}: it depends on itself.`);
      else if (dependency !== undefined) inside.push(dependency);
      else if (existing.has(id)) floor = Math.max(floor, existing.depthOf(id));
      else
        problems.report(
          () =>
            `${taskLabel(index, draft)}: it depends on ${showValue(id)}, ${unknownDependency(id, drafts, ids, existing)}`,
        );
    }
    floors.push(floor);
    return inside;
  });
  return { edges, floors };
};

/** Also tries the name as a title: the usual mistake is a title in place of an id. */
const unknownDependency = (
  name: string,
  drafts: readonly TaskDraft[],
  ids: readonly string[],
  existing: KnownTasks,
): string => {
  const first = drafts.findIndex(({ title }) => title === name);
  if (first >= 0 && drafts.some(({ title }, index) => index > first && title === name))
    return 'which is the title of several tasks. Give them ids.';
  if (first >= 0) return `which is a title. Use the id ${showValue(ids[first])}.`;
  const all = [...ids, ...existing.keys()];
  return `which does not exist.${didYouMean(name, all) || didYouMean(slugify(name), all)}`;
};

const checkDepth = (
  ids: readonly string[],
  depths: readonly number[],
  depthMax: number,
  problems: TaskProblems,
): void => {
  const deepest = depths.reduce((best, depth, index) => (depth > depths[best]! ? index : best), 0);
  if (depths[deepest]! > depthMax)
    problems.report(
      () =>
        `The longest chain of dependent tasks has ${depths[deepest]} tasks and ends with ${showValue(ids[deepest])}; at most ${depthMax} are allowed. Let more tasks run in parallel.`,
    );
};
