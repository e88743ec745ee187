// Agents and who names whom, as numbers: the ground on which the topology is computed. Linear in agents and references.
import type { TopologyAgent } from '#contracts';

export type Graph = {
  /** One per file, in the order given. The lists below go by their positions. */
  readonly agents: readonly TopologyAgent[];
  /** Those that it calls or spawns, each once, in the order in which the file names them; never for spawning its own kind. */
  readonly below: readonly (readonly number[])[];
  readonly above: readonly (readonly number[])[];
  /** Those of them that it spawns, and itself if it may spawn its own kind. */
  readonly spawned: readonly (readonly number[])[];
  readonly called: readonly (readonly number[])[];
  /** Sets of agents that reach one another, each in order; an agent in no cycle is alone in its own. */
  readonly groups: readonly (readonly number[])[];
  readonly groupOf: readonly number[];
  /** Those that were named; else those that nobody names, which reach everybody. */
  readonly roots: readonly number[];
  /** Levels below the nearest root; Infinity when none reaches it. */
  readonly levels: readonly number[];
};

/** References to files that are not among the agents are left out: they are problems, told elsewhere. */
export const buildGraph = (given: readonly TopologyAgent[], roots: readonly string[]): Graph => {
  const agents = [...new Map(given.toReversed().map((agent) => [agent.file, agent])).values()].toReversed();
  const placeOf = new Map(agents.map(({ file }, place) => [file, place]));
  const places = (files: readonly string[]): readonly number[] => [
    ...new Set(files.flatMap((file) => placeOf.get(file) ?? [])),
  ];
  const called = agents.map((agent) => places(agent.agents));
  const spawned = agents.map(({ file, mail }) =>
    places([...(mail?.spawns?.agents ?? []), ...(mail?.spawns?.self === true ? [file] : [])]),
  );
  const below = agents.map((_, place) => [
    ...new Set([...called[place]!, ...spawned[place]!.filter((child) => child !== place)]),
  ]);
  const above: number[][] = agents.map(() => []);
  for (const [place, children] of below.entries()) for (const child of children) above[child]!.push(place);

  const groups = strongGroups(below);
  const groupOf: number[] = [];
  for (const [group, members] of groups.entries()) for (const member of members) groupOf[member] = group;

  const starts = roots.length > 0 ? places(roots) : unnamedGroups(groups, above, groupOf);
  return { agents, below, above, spawned, called, groups, groupOf, roots: starts, levels: levelsFrom(starts, below) };
};

/** How far each place lies from the nearest of these. */
export const levelsFrom = (
  starts: readonly number[],
  edges: readonly (readonly number[])[],
  levelsMax = Infinity,
): number[] => {
  const levels = Array.from<number>({ length: edges.length }).fill(Infinity);
  const queue = [...starts];
  for (const start of starts) levels[start] = 0;
  for (const place of queue) {
    const next = levels[place]! + 1;
    if (next > levelsMax) break;
    for (const neighbour of edges[place]!)
      if (levels[neighbour] === Infinity) {
        levels[neighbour] = next;
        queue.push(neighbour);
      }
  }
  return levels;
};

/** Whether an agent can come to stand below itself. */
export const isCyclic = ({ groups, groupOf, below }: Graph, place: number): boolean =>
  groups[groupOf[place]!]!.length > 1 || below[place]!.includes(place);

/** The first agent of each group that no other group names: together they reach everybody. */
const unnamedGroups = (
  groups: readonly (readonly number[])[],
  above: readonly (readonly number[])[],
  groupOf: readonly number[],
): readonly number[] =>
  groups
    .filter((members, group) => members.every((member) => above[member]!.every((other) => groupOf[other] === group)))
    .map((members) => members[0]!)
    .sort((one, other) => one - other);

/** Tarjan's algorithm with a stack of its own: ten thousand levels are no deeper than three. */
const strongGroups = (edges: readonly (readonly number[])[]): readonly (readonly number[])[] => {
  const groups: number[][] = [];
  const order: number[] = [];
  const lowest: number[] = [];
  const nextEdge: number[] = [];
  const open: number[] = [];
  const isOpen: boolean[] = [];
  let seen = 0;

  const enter = (place: number, path: number[]): void => {
    order[place] = lowest[place] = seen++;
    nextEdge[place] = 0;
    isOpen[place] = true;
    open.push(place);
    path.push(place);
  };
  const close = (place: number): void => {
    const members = open.splice(open.lastIndexOf(place));
    for (const member of members) isOpen[member] = false;
    groups.push(members.sort((one, other) => one - other));
  };

  for (const start of edges.keys()) {
    if (order[start] !== undefined) continue;
    const path: number[] = [];
    enter(start, path);
    while (path.length > 0) {
      const place = path.at(-1)!;
      const next = edges[place]![nextEdge[place]!++];
      if (next === undefined) {
        path.pop();
        if (lowest[place] === order[place]) close(place);
        const parent = path.at(-1);
        if (parent !== undefined) lowest[parent] = Math.min(lowest[parent]!, lowest[place]!);
      } else if (order[next] === undefined) enter(next, path);
      else if (isOpen[next] === true) lowest[place] = Math.min(lowest[place]!, order[next]);
    }
  }
  return groups;
};
