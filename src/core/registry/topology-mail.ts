// Agents that wait for mail which no agent can send, and names that nobody has. Who runs them may still write to them.
import { nearestName } from '#base';
import type { TopologyAgent, Warning } from '#contracts';
import type { Graph } from './topology-graph.ts';

const roles: readonly string[] = ['parent', 'children', 'siblings'];
/** Beyond so many agents it is not looked at who could write to whom: everybody is compared with everybody. */
const agentsMax = 1_000;

export const mailWarnings = (graph: Graph): readonly Warning[] => {
  if (graph.agents.length > agentsMax) return [];
  return graph.agents.flatMap((agent, place) => {
    const words = [...unwritten(graph, place), ...unheard(graph, place), ...nobodies(graph, agent)];
    return words.map((message): Warning => ({ code: 'not-reached', agent: agent.name, message }));
  });
};

const unwritten = (graph: Graph, place: number): readonly string[] => {
  const { agents, spawned } = graph;
  const { name, tools, mail } = agents[place]!;
  // The end of an agent comes to the one that has spawned it.
  if (!tools.includes('receive_message') || (mail?.spawns ?? null) !== null) return [];
  const isWritten = agents.some(
    (_, other) =>
      (other !== place || spawned.some((children) => children.includes(place))) &&
      names(graph, place, other) &&
      names(graph, other, place),
  );
  return isWritten
    ? []
    : [`\`${name}\` waits for messages, and no agent may write to it: each must name the other in \`messages\``];
};

/** Whether one could stand to the other as its `messages` say. */
const names = ({ agents, above, spawned }: Graph, one: number, other: number): boolean =>
  messagesOf(agents[one]!).some((name) => {
    const isParent = (child: number, parent: number): boolean =>
      above[child]!.includes(parent) || (child === parent && spawned[child]!.includes(child));
    if (name === 'parent') return isParent(one, other);
    if (name === 'children') return isParent(other, one);
    if (name === 'siblings') return agents.some((_, parent) => isParent(one, parent) && isParent(other, parent));
    return name === agents[other]!.name;
  });

const messagesOf = ({ mail }: TopologyAgent): readonly string[] => mail?.messages ?? ['parent', 'children'];

const unheard = ({ agents, above, spawned }: Graph, place: number): readonly string[] => {
  const { name, tools, mail } = agents[place]!;
  if (!tools.includes('receive_broadcast')) return [];
  const hear = mail?.topics.hear ?? [];
  if (hear.length === 0) return [`\`${name}\` waits for broadcasts, and has no topic to hear: name some in \`topics\``];
  const hasTwins = above[place]!.length > 0 || spawned[place]!.includes(place);
  const isSaid = agents.some(
    (other, at) => (at !== place || hasTwins) && other.mail?.topics.say.some((topic) => hear.includes(topic)),
  );
  return isSaid ? [] : [`\`${name}\` hears ${hear.join(', ')}, and no other agent may publish there`];
};

/** Agents of a model's own making have names that are not known here. */
const nobodies = ({ agents }: Graph, { name, mail }: TopologyAgent): readonly string[] => {
  if (agents.some((agent) => (agent.mail?.spawns?.templates ?? null) !== null)) return [];
  const known = [...agents.map((agent) => agent.name), ...roles];
  return (mail?.messages ?? [])
    .filter((one) => !known.includes(one))
    .map((one) => {
      const meant = nearestName(one, known);
      return `\`${name}\` may exchange messages with \`${one}\`, and no agent here has that name${meant === null ? '' : `: did you mean \`${meant}\`?`}`;
    });
};
