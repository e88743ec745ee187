// An agent contains the agents that it may start. To change one of them, those above it are built again, children first.
import { deepFreeze } from '#base';
import type { Agent, AgentTeam } from '#contracts';
import { completeDefinition, startableAgents } from './define-agent.ts';
import { teamRoster } from './define-team.ts';

/** Every agent after those that it may start. Trees are deep, so the stack is our own. */
export const agentsChildrenFirst = (
  agents: readonly Agent[],
  childrenOf: (agent: Agent) => readonly Agent[] = startableAgents,
  onCycle: (cycle: readonly Agent[]) => void = () => undefined,
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

/** The same agent with others in place of those that it may start. `spawnable`: those before, if they are not its own. */
export const withStartable = (
  agent: Agent,
  replace: (one: Agent) => Agent,
  spawnable: readonly Agent[] = agent.children.spawnable,
): Agent => {
  const { children, team } = agent;
  return completeDefinition({
    ...agent,
    children: {
      ...children,
      agents: Object.freeze(children.agents.map(replace)),
      spawnable: Object.freeze(spawnable.map(replace)),
    },
    team: team && replaceTeam(team, replace),
  });
};

/** The rules of a team name its agents by their digests. */
const replaceTeam = (team: AgentTeam, replace: (one: Agent) => Agent): AgentTeam => {
  const members = Object.freeze(team.members.map(replace));
  const coordinator = team.coordinator && {
    plans: replace(team.coordinator.plans),
    answers: replace(team.coordinator.answers),
  };
  const roster = teamRoster({ ...team, members });
  const rules = deepFreeze({
    ...team.rules,
    members: Object.fromEntries(roster.map(({ name, digest }) => [name, digest])),
    ...(coordinator === null
      ? {}
      : { coordinator: { plans: coordinator.plans.digest, answers: coordinator.answers.digest } }),
  });
  return { rules, members, coordinator };
};
