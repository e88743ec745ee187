// Sorts a list of tasks by dependency, computes depths, and reports cycles.
//
//   graph-linear. No step is recursive, and each visits every task and every dependency a fixed number of times.
import type { ReportTaskProblem } from './problems.ts';

/** Indexed like the list of tasks. */
type TaskOrder = {
  /** Each task after all of its dependencies. */
  readonly order: readonly number[];
  /** The number of tasks on the longest path that ends with each task, including existing tasks. */
  readonly depths: readonly number[];
};

/**
 * `edges[n]` holds the indexes of the tasks that the nth task depends on, and `floors[n]` the depth of its deepest dependency
 * outside the list. Reports each cycle; the order then lacks the tasks in cycles and those that depend on them.
 */
export const orderTasks = (
  ids: readonly string[],
  edges: readonly (readonly number[])[],
  floors: readonly number[],
  report: ReportTaskProblem,
): TaskOrder => {
  const waiting = edges.map((dependencies) => dependencies.length);
  const dependents = invertEdges(edges);
  const depths = floors.map((floor) => floor + 1);
  const order: number[] = [];
  for (let task = 0; task < ids.length; task++) if (waiting[task] === 0) order.push(task);
  for (let done = 0; done < order.length; done++) {
    const task = order[done]!;
    for (const dependent of dependents[task] ?? []) {
      depths[dependent] = Math.max(depths[dependent]!, depths[task]! + 1);
      if (--waiting[dependent]! === 0) order.push(dependent);
    }
  }
  if (order.length < ids.length) reportCycles(ids, edges, waiting, report);
  return { order, depths };
};

const invertEdges = (edges: readonly (readonly number[])[]): readonly (number[] | undefined)[] => {
  const dependents: (number[] | undefined)[] = Array.from({ length: edges.length });
  edges.forEach((dependencies, task) => {
    for (const dependency of dependencies) {
      const list = dependents[dependency];
      if (list === undefined) dependents[dependency] = [task];
      else list.push(task);
    }
  });
  return dependents;
};

/** Every task that still waits depends on another one that waits, so following these dependencies ends in a cycle. */
const reportCycles = (
  ids: readonly string[],
  edges: readonly (readonly number[])[],
  waiting: readonly number[],
  report: ReportTaskProblem,
): void => {
  const walkOf = Array.from<number>({ length: ids.length }).fill(-1);
  for (let start = 0; start < ids.length; start++) {
    const walk: number[] = [];
    let task: number | undefined = start;
    while (task !== undefined && waiting[task]! > 0 && walkOf[task] === -1) {
      walkOf[task] = start;
      walk.push(task);
      task = edges[task]!.find((dependency) => waiting[dependency]! > 0);
    }
    if (task === undefined || walk.length === 0 || walkOf[task] !== start) continue;
    const cycle = rotateToEarliest(walk.slice(walk.indexOf(task)));
    report(
      () => `Tasks depend on each other in a cycle, each on the next: ${formatCycle(cycle.map((one) => ids[one]!))}.`,
    );
  }
};

const rotateToEarliest = (cycle: readonly number[]): readonly number[] => {
  const earliest = cycle.reduce((best, task, index) => (task < cycle[best]! ? index : best), 0);
  return [...cycle.slice(earliest), ...cycle.slice(0, earliest)];
};

const pathMax = 20;

const formatCycle = (cycle: readonly string[]): string => {
  const shown =
    cycle.length <= pathMax
      ? cycle
      : [...cycle.slice(0, pathMax - 1), `… ${cycle.length - pathMax} more …`, cycle[cycle.length - 1]!];
  return [...shown, cycle[0]!].join(' → ');
};
