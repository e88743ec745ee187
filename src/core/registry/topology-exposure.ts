// Paths by which untrusted text can reach an agent that holds a secret: up as results, down as goals.
import { levelsFrom } from './topology-graph.ts';
import type { AgentGraph } from './topology-graph.ts';

/** Indexes of agents, from the one that reads untrusted text to the one that holds a secret. */
export type ExposurePath = readonly number[];

type ExposurePaths = {
  /** One path per pair, in order. */
  readonly shown: readonly ExposurePath[];
  /** The number of further pairs. */
  readonly more: number;
  /** Whether `more` is only a lower bound. */
  readonly isLeast: boolean;
};

const shownMax = 50;
const pairsMax = 10_000;
const stepsMax = 5_000_000;

/** Finds pairs in the tree of one root: there, a path leads through the root or through a nearer common ancestor. */
export const findExposurePaths = (
  graph: AgentGraph,
  readers: ReadonlySet<number>,
  holders: ReadonlySet<number>,
  levelsMax: number,
): ExposurePaths => {
  const shown: ExposurePath[] = [];
  const pairs = new Set<number>();
  let steps = 0;
  if (readers.size === 0 || holders.size === 0) return { shown, more: 0, isLeast: false };

  for (const root of graph.roots) {
    const tree = descendants(graph, root, levelsMax);
    steps += tree.steps;
    const within = [...tree.levels.keys()].sort((one, other) => one - other);
    const [from, to] = [within.filter((index) => readers.has(index)), within.filter((index) => holders.has(index))];
    for (const reader of from)
      for (const holder of to) {
        const pair = reader * graph.agents.length + holder;
        if (pairs.has(pair)) continue;
        pairs.add(pair);
        if (pairs.size > pairsMax) return { shown, more: pairs.size - shown.length, isLeast: true };
        if (shown.length < shownMax) shown.push(pathBetween(graph, tree.levels, { reader, holder }, levelsMax));
      }
    if (steps > stepsMax) return { shown, more: pairs.size - shown.length, isLeast: true };
  }
  return { shown, more: pairs.size - shown.length, isLeast: false };
};

/** The agents that can be started below a root, with their level. */
const descendants = (
  { below }: AgentGraph,
  root: number,
  levelsMax: number,
): { levels: Map<number, number>; steps: number } => {
  const levels = new Map([[root, 0]]);
  let steps = 0;
  for (const [index, level] of levels) {
    if (level >= levelsMax) break;
    for (const child of below[index]!) {
      steps++;
      if (!levels.has(child)) levels.set(child, level + 1);
    }
  }
  return { levels, steps };
};

/** The shortest path up to a common ancestor, and down again. */
const pathBetween = (
  { above, below }: AgentGraph,
  tree: ReadonlyMap<number, number>,
  { reader, holder }: { readonly reader: number; readonly holder: number },
  levelsMax: number,
): ExposurePath => {
  if (reader === holder) return [reader];
  const up = levelsFrom([reader], above, levelsMax);
  const down = levelsFrom([holder], above, levelsMax);
  let top = reader;
  let length = Infinity;
  for (const [index, level] of tree) {
    if (level + Math.max(up[index]!, down[index]!) > levelsMax || up[index]! + down[index]! >= length) continue;
    top = index;
    length = up[index]! + down[index]!;
  }
  return [...descend(top, up, below).toReversed(), ...descend(top, down, below).slice(1)];
};

/** The path from `top` down to where `levels` is 0, one level per step. */
const descend = (top: number, levels: readonly number[], below: AgentGraph['below']): readonly number[] => {
  const path = [top];
  for (let index = top; levels[index] !== 0;) {
    index = below[index]!.find((child) => levels[child] === levels[index]! - 1)!;
    path.push(index);
  }
  return path;
};
