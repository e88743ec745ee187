// Agents in code may name in `spawns` other agents of their Cloister. The names are linked when it is opened.
//
//   spawns-linked-once. A linked agent has exactly the agents that its `spawns` name: what is registered later under the same
//       name changes nothing for it.
import { unknownNameText } from '#base';
import type { Agent } from '#contracts';
import { startableAgents } from './define-agent.ts';
import { agentsChildrenFirst, withStartable } from './replace-agents.ts';

type LinkPorts = {
  /** The agents that can be named. */
  readonly known: readonly Agent[];
  /** `message`: why the names in the `spawns` of this agent cannot be linked. */
  readonly report: (agent: Agent, message: string) => void;
};

/** The same agents if nothing in them is only named. A name that cannot be linked is reported, and left out. */
export const linkSpawns = (agents: readonly Agent[], { known, report }: LinkPorts): readonly Agent[] => {
  if (!hasNames(agents)) return agents;
  const named = new Map<Agent, readonly Agent[]>();
  const childrenOf = (agent: Agent): readonly Agent[] => {
    const found = named.get(agent) ?? findNamed(agent, { known, report });
    named.set(agent, found);
    return [...startableAgents(agent), ...found];
  };
  const order = agentsChildrenFirst(agents, childrenOf, (cycle) =>
    report(
      cycle.at(-1)!,
      `spawns.agents: agents cannot spawn each other in a cycle: ${[...cycle, cycle[0]!].map(({ name }) => name).join(' → ')}. An agent can spawn itself as "self".`,
    ),
  );
  const linked = new Map<Agent, Agent>();
  for (const agent of order) linked.set(agent, linkOne(agent, named.get(agent) ?? [], linked));
  return agents.map((agent) => linked.get(agent) ?? agent);
};

const onlyNamed = ({ children: { spawns, spawnable } }: Agent): readonly string[] =>
  spawns?.agents.filter((name) => !spawnable.some((one) => one.name === name)) ?? [];

const hasNames = (agents: readonly Agent[]): boolean => {
  const all = new Set(agents);
  for (const agent of all) {
    if (onlyNamed(agent).length > 0) return true;
    for (const child of startableAgents(agent)) all.add(child);
  }
  return false;
};

const findNamed = (agent: Agent, { known, report }: LinkPorts): readonly Agent[] =>
  onlyNamed(agent).flatMap((name) => {
    const found = known.find((one) => one.name === name);
    if (found?.team === null) return [found];
    const others = known.flatMap((one) => (one.name === agent.name ? [] : [one.name]));
    const missing = others.length === 0 ? `no agent is named "${name}".` : unknownNameText(name, others);
    report(
      agent,
      `spawns.agents: ${found === undefined ? `${missing} Give it to openCloister too.` : `"${name}" is a team, and teams cannot be spawned.`}`,
    );
    return [];
  });

/** `linked`: what has become of the agents that it may start. */
const linkOne = (agent: Agent, named: readonly Agent[], linked: ReadonlyMap<Agent, Agent>): Agent => {
  if (named.length === 0 && startableAgents(agent).every((one) => linked.get(one) === one)) return agent;
  const { spawns, spawnable } = agent.children;
  const all = [...spawnable, ...named];
  const inOrder = (spawns?.agents ?? []).flatMap((name) => all.find((one) => one.name === name) ?? []);
  return withStartable(agent, (one) => linked.get(one) ?? one, inOrder);
};
