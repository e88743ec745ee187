// The agents of a caller as a graph: who calls, starts and writes to whom.
//
//   topology-of-caller. Only the agents that the caller may use are described, and those below them named; the operator is told about
//       all of them, and what `cloister check` finds. No list names any other agent.
import type { Agent, AgentFacts, AgentTopology, Caller, TopologyCheck, TopologyEdge } from '#contracts';

export const describeTopology = (
  agents: readonly Agent[],
  { operator }: Caller,
  checked: TopologyCheck | null,
): AgentTopology => {
  const all = [...byName(agents).values()];
  const described = operator === true ? all : all.filter(({ name }) => agents.some((one) => one.name === name));
  const { worstCase, warnings } = (operator === true ? checked : null) ?? { worstCase: null, warnings: [] };
  const isKnown = (name: string): boolean => mailRoles.includes(name) || all.some((one) => one.name === name);
  const facts = described.map((one) => factsOf(one, operator === true ? () => true : isKnown));
  return { agents: facts, edges: all.flatMap((one) => edgesOf(one, all)), worstCase, warnings };
};

/** Whom `messages` can list besides names. */
const mailRoles: readonly string[] = ['parent', 'children', 'siblings'];

/** With all agents below them. Of two with one name, the first. */
const byName = (agents: readonly Agent[]): ReadonlyMap<string, Agent> => {
  const found = new Map<string, Agent>();
  const waiting = [...agents];
  for (let agent = waiting.shift(); agent !== undefined; agent = waiting.shift()) {
    if (found.has(agent.name)) continue;
    found.set(agent.name, agent);
    waiting.push(...startedBy(agent).map(({ to }) => to));
  }
  return found;
};

const startedBy = ({ children, team }: Agent): readonly { readonly to: Agent; readonly kind: string }[] => [
  ...children.agents.map((to) => ({ to, kind: 'calls' })),
  ...children.spawnable.map((to) => ({ to, kind: 'spawns' })),
  ...(team?.members ?? []).map((to) => ({ to, kind: 'tasks' })),
];

const edgesOf = (agent: Agent, all: readonly Agent[]): readonly TopologyEdge[] => {
  const { name: from, permissions, team } = agent;
  const other = all.filter(({ name }) => name !== from);
  const writes = other.filter(
    ({ name, permissions: { messages } }) =>
      permissions.messages?.includes(name) === true && messages?.includes(from) === true,
  );
  const hears = other.filter(({ permissions: { topics } }) =>
    permissions.topics.say.some((topic) => topics.hear.includes(topic)),
  );
  const members = Object.entries(team?.rules.messages ?? {}).flatMap(([one, others]) =>
    others.map((to) => ({ from: one, to, kind: 'messages' })),
  );
  return [
    ...startedBy(agent).map(({ to, kind }) => ({ from, to: to.name, kind })),
    ...writes.map(({ name }) => ({ from, to: name, kind: 'messages' })),
    ...hears.map(({ name }) => ({ from, to: name, kind: 'topic' })),
    ...members,
  ];
};

/** `isKnown`: whether the caller may know an agent of that name. */
const factsOf = (agent: Agent, isKnown: (name: string) => boolean): AgentFacts => {
  const { name, description, resources, children, permissions, team, definition, caps } = agent;
  const { builtins, tools, servers, sources, models } = resources;
  const { hear, say } = permissions.topics;
  return {
    name,
    description,
    models: models.map(modelName),
    tools: [
      ...builtins,
      ...tools.map((tool) => tool.name),
      ...servers,
      ...sources.map((source) => source.name),
      ...(children.gather === null ? [] : ['gather']),
    ],
    agents: startedBy(agent).map(({ to }) => to.name),
    team: team !== null,
    topics: [...new Set([...hear, ...say])],
    messages: permissions.messages?.filter(isKnown) ?? null,
    approve: Object.keys(definition.approve ?? {}),
    budget: caps.budget,
  };
};

const modelName = (model: Agent['resources']['models'][number]): string =>
  typeof model === 'string' ? model : `${model.language.provider}/${model.language.modelId}`;
