// Ways by which words of strangers come to an agent that holds a secret: up as results, down as goals.
import { levelsFrom } from './topology-graph.ts';
import type { Graph } from './topology-graph.ts';

/** Places, from the one that reads to the one that holds. */
export type ExposurePath = readonly number[];

export type ExposurePaths = {
  /** One per pair, in order. */
  readonly shown: readonly ExposurePath[];
  /** Pairs beyond those. */
  readonly more: number;
  /** Whether there may be still more. */
  readonly isLeast: boolean;
};

const shownMax = 50;
const pairsMax = 10_000;
const stepsMax = 5_000_000;

/** Pairs that stand in the tree of one root, for then a way leads over the root if not over somebody nearer. */
export const findExposurePaths = (
  graph: Graph,
  readers: ReadonlySet<number>,
  holders: ReadonlySet<number>,
  levelsMax: number,
): ExposurePaths => {
  const shown: ExposurePath[] = [];
  const pairs = new Set<number>();
  let steps = 0;
  if (readers.size === 0 || holders.size === 0) return { shown, more: 0, isLeast: false };

  for (const root of graph.roots) {
    const tree = treeOf(graph, root, levelsMax);
    steps += tree.steps;
    const within = [...tree.levels.keys()].sort((one, other) => one - other);
    const [from, to] = [within.filter((place) => readers.has(place)), within.filter((place) => holders.has(place))];
    for (const reader of from)
      for (const holder of to) {
        const pair = reader * graph.agents.length + holder;
        if (pairs.has(pair)) continue;
        pairs.add(pair);
        if (pairs.size > pairsMax) return { shown, more: pairs.size - shown.length, isLeast: true };
        if (shown.length < shownMax) shown.push(wayBetween(graph, tree.levels, { reader, holder }, levelsMax));
      }
    if (steps > stepsMax) return { shown, more: pairs.size - shown.length, isLeast: true };
  }
  return { shown, more: pairs.size - shown.length, isLeast: false };
};

/** The agents that can be started below a root, and how far below. */
const treeOf = ({ below }: Graph, root: number, levelsMax: number): { levels: Map<number, number>; steps: number } => {
  const levels = new Map([[root, 0]]);
  let steps = 0;
  for (const [place, level] of levels) {
    if (level >= levelsMax) break;
    for (const child of below[place]!) {
      steps++;
      if (!levels.has(child)) levels.set(child, level + 1);
    }
  }
  return { levels, steps };
};

/** The shortest way up to somebody who stands above both, and down again. */
const wayBetween = (
  { above, below }: Graph,
  tree: ReadonlyMap<number, number>,
  { reader, holder }: { readonly reader: number; readonly holder: number },
  levelsMax: number,
): ExposurePath => {
  if (reader === holder) return [reader];
  const up = levelsFrom([reader], above, levelsMax);
  const down = levelsFrom([holder], above, levelsMax);
  let top = reader;
  let length = Infinity;
  for (const [place, level] of tree) {
    if (level + Math.max(up[place]!, down[place]!) > levelsMax || up[place]! + down[place]! >= length) continue;
    top = place;
    length = up[place]! + down[place]!;
  }
  return [...descend(top, up, below).toReversed(), ...descend(top, down, below).slice(1)];
};

/** From `top` down to where `levels` is 0, each step one level nearer. */
const descend = (top: number, levels: readonly number[], below: Graph['below']): readonly number[] => {
  const way = [top];
  for (let place = top; levels[place] !== 0;) {
    place = below[place]!.find((child) => levels[child] === levels[place]! - 1)!;
    way.push(place);
  }
  return way;
};
