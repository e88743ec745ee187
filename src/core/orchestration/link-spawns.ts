// Agents in code may name in `spawns` other agents of their Cloister. The names are linked when it is opened.
//
//   spawns-linked-once. A linked agent has exactly the agents that its `spawns` name: what is registered later under the same
//       name changes nothing for it.
import { unknownNameText } from '#base';
import type { Agent } from '#contracts';
import { completeDefinition, startableAgents } from './define-agent.ts';

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
  const order = childrenFirst(agents, childrenOf, (cycle) =>
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

/** Every agent after those that it may start. Trees are deep, so the stack is our own. */
const childrenFirst = (
  agents: readonly Agent[],
  childrenOf: (agent: Agent) => readonly Agent[],
  onCycle: (cycle: readonly Agent[]) => void,
): readonly Agent[] => {
  const order: Agent[] = [];
  const state = new Map<Agent, 'open' | 'done'>();
  for (const start of agents) {
    const stack = state.has(start) ? [] : [{ agent: start, pending: [...childrenOf(start)] }];
    state.set(start, state.get(start) ?? 'open');
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const child = top.pending.shift();
      if (child === undefined) {
        state.set(top.agent, 'done');
        order.push(top.agent);
        stack.pop();
      } else if (state.get(child) === 'open') {
        onCycle(stack.slice(stack.findIndex(({ agent }) => agent === child)).map(({ agent }) => agent));
      } else if (!state.has(child)) {
        state.set(child, 'open');
        stack.push({ agent: child, pending: [...childrenOf(child)] });
      }
    }
  }
  return order;
};

/** `linked`: what has become of the agents that it may start. */
const linkOne = (agent: Agent, named: readonly Agent[], linked: ReadonlyMap<Agent, Agent>): Agent => {
  if (named.length === 0 && startableAgents(agent).every((one) => linked.get(one) === one)) return agent;
  const { children, team } = agent;
  const link = (one: Agent): Agent => linked.get(one) ?? one;
  const spawnable = [...children.spawnable, ...named];
  const inOrder = (children.spawns?.agents ?? []).flatMap((name) => spawnable.find((one) => one.name === name) ?? []);
  const { coordinator = null } = team ?? {};
  return completeDefinition({
    ...agent,
    children: {
      ...children,
      agents: Object.freeze(children.agents.map(link)),
      spawnable: Object.freeze(inOrder.map(link)),
    },
    team: team && {
      ...team,
      members: team.members.map(link),
      coordinator: coordinator && { plans: link(coordinator.plans), answers: link(coordinator.answers) },
    },
  });
};
