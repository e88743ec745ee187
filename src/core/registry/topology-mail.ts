// Warns of agents that wait for mail that no agent can send, and of names that no agent has. The user can still message them from outside.
import { nearestName } from '#base';
import type { TopologyAgent, Warning } from '#contracts';
import type { AgentGraph } from './topology-graph.ts';

const roles: readonly string[] = ['parent', 'children', 'siblings'];
/** With more agents the check is skipped, because it compares every pair of agents. */
const agentsMax = 1_000;

export const mailWarnings = (graph: AgentGraph): readonly Warning[] => {
  if (graph.agents.length > agentsMax) return [];
  return graph.agents.flatMap((agent, index) => {
    const messages = [
      ...unreachableReader(graph, index),
      ...unpublishedTopics(graph, index),
      ...unknownNames(graph, agent),
    ];
    return messages.map((message): Warning => ({ code: 'not-reached', agent: agent.name, message }));
  });
};

const unreachableReader = (graph: AgentGraph, index: number): readonly string[] => {
  const { agents, spawned } = graph;
  const { name, tools, mail } = agents[index]!;
  // An agent that spawns others receives their results as messages.
  if (!tools.includes('receive_message') || (mail?.spawns ?? null) !== null) return [];
  const isReachable = agents.some(
    (_, other) =>
      (other !== index || spawned.some((children) => children.includes(index))) &&
      listsOther(graph, index, other) &&
      listsOther(graph, other, index),
  );
  return isReachable
    ? []
    : [`\`${name}\` waits for messages, but no agent may message it: both agents must list each other in \`messages\``];
};

/** Whether `messages` of one agent can include the other, by role or name. */
const listsOther = ({ agents, above, spawned }: AgentGraph, one: number, other: number): boolean =>
  messagesOf(agents[one]!).some((name) => {
    const isParent = (child: number, parent: number): boolean =>
      above[child]!.includes(parent) || (child === parent && spawned[child]!.includes(child));
    if (name === 'parent') return isParent(one, other);
    if (name === 'children') return isParent(other, one);
    if (name === 'siblings') return agents.some((_, parent) => isParent(one, parent) && isParent(other, parent));
    return name === agents[other]!.name;
  });

const messagesOf = ({ mail }: TopologyAgent): readonly string[] => mail?.messages ?? ['parent', 'children'];

const unpublishedTopics = ({ agents, above, spawned }: AgentGraph, index: number): readonly string[] => {
  const { name, tools, mail } = agents[index]!;
  if (!tools.includes('receive_broadcast')) return [];
  const hear = mail?.topics.hear ?? [];
  if (hear.length === 0)
    return [`\`${name}\` waits for broadcasts, but has no topic to subscribe to: list some in \`topics\``];
  const mayHaveCopies = above[index]!.length > 0 || spawned[index]!.includes(index);
  const isPublished = agents.some(
    (other, at) => (at !== index || mayHaveCopies) && other.mail?.topics.say.some((topic) => hear.includes(topic)),
  );
  return isPublished ? [] : [`\`${name}\` may subscribe to ${hear.join(', ')}, but no other agent may publish there`];
};

/** Agents that a model defines inline have names that are unknown here. */
const unknownNames = ({ agents }: AgentGraph, { name, mail }: TopologyAgent): readonly string[] => {
  if (agents.some((agent) => (agent.mail?.spawns?.templates ?? null) !== null)) return [];
  const known = [...agents.map((agent) => agent.name), ...roles];
  return (mail?.messages ?? [])
    .filter((one) => !known.includes(one))
    .map((one) => {
      const suggestion = nearestName(one, known);
      return `\`${name}\` may exchange messages with \`${one}\`, but no agent here has that name${suggestion === null ? '' : `: did you mean \`${suggestion}\`?`}`;
    });
};
