// The graph of agents and their references, by index, on which the topology is computed. Linear in agents and references.
import type { TopologyAgent } from '#contracts';

export type AgentGraph = {
  /** One per file, in the order given. The lists below use indexes into this one. */
  readonly agents: readonly TopologyAgent[];
  /** Agents that each one calls or spawns, each once, in the order of the file. An agent that spawns copies of itself is not its own child here. */
  readonly below: readonly (readonly number[])[];
  readonly above: readonly (readonly number[])[];
  /** Agents that each one spawns, including itself if it may spawn copies of itself. */
  readonly spawned: readonly (readonly number[])[];
  readonly called: readonly (readonly number[])[];
  /** Groups of agents that reach each other, each in order; an agent in no cycle has a group of its own. */
  readonly groups: readonly (readonly number[])[];
  readonly groupOf: readonly number[];
  /** The given roots; without any, agents that no other refers to, which together reach all agents. */
  readonly roots: readonly number[];
  /** Levels below the nearest root; Infinity if no root reaches the agent. */
  readonly levels: readonly number[];
};

/** References to unknown files are left out; they are reported elsewhere. */
export const buildGraph = (given: readonly TopologyAgent[], roots: readonly string[]): AgentGraph => {
  const agents = [...new Map(given.toReversed().map((agent) => [agent.file, agent])).values()].toReversed();
  const indexByFile = new Map(agents.map(({ file }, index) => [file, index]));
  const indexes = (files: readonly string[]): readonly number[] => [
    ...new Set(files.flatMap((file) => indexByFile.get(file) ?? [])),
  ];
  const called = agents.map((agent) => indexes(agent.agents));
  const spawned = agents.map(({ file, mail }) =>
    indexes([...(mail?.spawns?.agents ?? []), ...(mail?.spawns?.self === true ? [file] : [])]),
  );
  const below = agents.map((_, index) => [
    ...new Set([...called[index]!, ...spawned[index]!.filter((child) => child !== index)]),
  ]);
  const above: number[][] = agents.map(() => []);
  for (const [index, children] of below.entries()) for (const child of children) above[child]!.push(index);

  const groups = strongGroups(below);
  const groupOf: number[] = [];
  for (const [group, members] of groups.entries()) for (const member of members) groupOf[member] = group;

  const starts = roots.length > 0 ? indexes(roots) : unreferencedGroups(groups, above, groupOf);
  return { agents, below, above, spawned, called, groups, groupOf, roots: starts, levels: levelsFrom(starts, below) };
};

/** The distance of each agent from the nearest start. */
export const levelsFrom = (
  starts: readonly number[],
  edges: readonly (readonly number[])[],
  levelsMax = Infinity,
): number[] => {
  const levels = Array.from<number>({ length: edges.length }).fill(Infinity);
  const queue = [...starts];
  for (const start of starts) levels[start] = 0;
  for (const index of queue) {
    const next = levels[index]! + 1;
    if (next > levelsMax) break;
    for (const neighbour of edges[index]!)
      if (levels[neighbour] === Infinity) {
        levels[neighbour] = next;
        queue.push(neighbour);
      }
  }
  return levels;
};

/** Whether an agent can end up below itself. */
export const isCyclic = ({ groups, groupOf, below }: AgentGraph, index: number): boolean =>
  groups[groupOf[index]!]!.length > 1 || below[index]!.includes(index);

/** The first agent of each group that no other group refers to: together they reach all agents. */
const unreferencedGroups = (
  groups: readonly (readonly number[])[],
  above: readonly (readonly number[])[],
  groupOf: readonly number[],
): readonly number[] =>
  groups
    .filter((members, group) => members.every((member) => above[member]!.every((other) => groupOf[other] === group)))
    .map((members) => members[0]!)
    .sort((one, other) => one - other);

/** Tarjan's algorithm with an explicit stack, so that ten thousand levels do not overflow the call stack. */
const strongGroups = (edges: readonly (readonly number[])[]): readonly (readonly number[])[] => {
  const groups: number[][] = [];
  const order: number[] = [];
  const lowest: number[] = [];
  const nextEdge: number[] = [];
  const open: number[] = [];
  const isOpen: boolean[] = [];
  let seen = 0;

  const enter = (index: number, path: number[]): void => {
    order[index] = lowest[index] = seen++;
    nextEdge[index] = 0;
    isOpen[index] = true;
    open.push(index);
    path.push(index);
  };
  const close = (index: number): void => {
    const members = open.splice(open.lastIndexOf(index));
    for (const member of members) isOpen[member] = false;
    groups.push(members.sort((one, other) => one - other));
  };

  for (const start of edges.keys()) {
    if (order[start] !== undefined) continue;
    const path: number[] = [];
    enter(start, path);
    while (path.length > 0) {
      const index = path.at(-1)!;
      const next = edges[index]![nextEdge[index]!++];
      if (next === undefined) {
        path.pop();
        if (lowest[index] === order[index]) close(index);
        const parent = path.at(-1);
        if (parent !== undefined) lowest[parent] = Math.min(lowest[parent]!, lowest[index]!);
      } else if (order[next] === undefined) enter(next, path);
      else if (isOpen[next] === true) lowest[index] = Math.min(lowest[index]!, order[next]);
    }
  }
  return groups;
};
