// The order in a list of tasks: who waits for whom, how deep it is, and where it goes in a circle.
//
//   G1. No step is recursive, and each looks at every task and every dependency a fixed number of times.
import type { Tell } from './problems.ts';

/** By place in the list. */
export type Ordered = {
  /** Each after all that it depends on. */
  readonly order: readonly number[];
  /** How many tasks the longest path has that ends with it, those that were there before included. */
  readonly depths: readonly number[];
};

/**
 * `edges[n]` are the places of the tasks that the nth depends on, and `floors[n]` the depth of the deepest that it depends on
 * outside the list. Tells each circle; the order then lacks the tasks in circles and those behind them.
 */
export const orderTasks = (
  ids: readonly string[],
  edges: readonly (readonly number[])[],
  floors: readonly number[],
  tell: Tell,
): Ordered => {
  const waiting = edges.map((dependencies) => dependencies.length);
  const dependents = turnedAround(edges);
  const depths = floors.map((floor) => floor + 1);
  const order: number[] = [];
  for (let place = 0; place < ids.length; place++) if (waiting[place] === 0) order.push(place);
  for (let done = 0; done < order.length; done++) {
    const place = order[done]!;
    for (const dependent of dependents[place] ?? []) {
      depths[dependent] = Math.max(depths[dependent]!, depths[place]! + 1);
      if (--waiting[dependent]! === 0) order.push(dependent);
    }
  }
  if (order.length < ids.length) tellCircles(ids, edges, waiting, tell);
  return { order, depths };
};

const turnedAround = (edges: readonly (readonly number[])[]): readonly (number[] | undefined)[] => {
  const dependents: (number[] | undefined)[] = Array.from({ length: edges.length });
  edges.forEach((dependencies, place) => {
    for (const dependency of dependencies) {
      const list = dependents[dependency];
      if (list === undefined) dependents[dependency] = [place];
      else list.push(place);
    }
  });
  return dependents;
};

/** Every task that still waits depends on one that still waits: following those ends in a circle. */
const tellCircles = (
  ids: readonly string[],
  edges: readonly (readonly number[])[],
  waiting: readonly number[],
  tell: Tell,
): void => {
  const walkOf = Array.from<number>({ length: ids.length }).fill(-1);
  for (let start = 0; start < ids.length; start++) {
    const walk: number[] = [];
    let place: number | undefined = start;
    while (place !== undefined && waiting[place]! > 0 && walkOf[place] === -1) {
      walkOf[place] = start;
      walk.push(place);
      place = edges[place]!.find((dependency) => waiting[dependency]! > 0);
    }
    if (place === undefined || walk.length === 0 || walkOf[place] !== start) continue;
    const circle = fromEarliest(walk.slice(walk.indexOf(place)));
    tell(() => `Tasks wait for each other in a circle, each for the next: ${pathOf(circle.map((one) => ids[one]!))}.`);
  }
};

const fromEarliest = (circle: readonly number[]): readonly number[] => {
  const earliest = circle.reduce((best, place, index) => (place < circle[best]! ? index : best), 0);
  return [...circle.slice(earliest), ...circle.slice(0, earliest)];
};

const pathMax = 20;

const pathOf = (circle: readonly string[]): string => {
  const shown =
    circle.length <= pathMax
      ? circle
      : [...circle.slice(0, pathMax - 1), `… ${circle.length - pathMax} more …`, circle[circle.length - 1]!];
  return [...shown, circle[0]!].join(' → ');
};
