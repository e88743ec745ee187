// An agent as another one starts it: never with more than its own definition, and never with more than the starter may pass on.
//
//   started-agent-recorded. What is in effect is part of the definition that the run records, so resume, replay and the audit
//       know it.
//   started-agent-by-definitions. It depends on the two definitions and the call alone.
import type { Json } from '#base';
import type { Agent, AgentDefinition, Limits } from '#contracts';
import { lowerLimits, lowestLimits, resolveLimits } from '#core/registry';
import { completeDefinition } from './define-agent.ts';
import { skillToolName } from './skill-tool.ts';

/** An agent that is spawned inherits its parent's limits and levels. */
export const asSpawned = (agent: Agent, parent: Agent): Agent => {
  let known = spawned.get(agent);
  if (known === undefined) spawned.set(agent, (known = new WeakMap()));
  let started = known.get(parent);
  if (started === undefined) {
    const depth = parent.children.spawns?.depth ?? parent.caps.depth;
    started = withSpawnDepth(
      withinLimits(withinDepth(agent, parent), /* probe: inherited-limits */ parent.caps.inheritable),
      depth,
    );
    known.set(parent, started);
  }
  return started;
};

/** By agent and parent, because the same pair is started again and again. */
const spawned = new WeakMap<Agent, WeakMap<Agent, Agent>>();

/** An agent that is called keeps the limits of its own definition, but no level below it is deeper than its caller's. */
export const withinDepth = (agent: Agent, { caps: { depth } }: Agent): Agent =>
  agent.caps.depth <= depth ? agent : completeDefinition({ ...agent, caps: { ...agent.caps, depth } });

const withSpawnDepth = (agent: Agent, depth: number): Agent => {
  const { spawns } = agent.children;
  if (spawns === null || spawns.depth <= depth) return agent;
  return completeDefinition({
    ...agent,
    children: { ...agent.children, spawns: Object.freeze({ ...spawns, depth }) },
  });
};

/** The same agent with at most this much of each limit. */
const withinLimits = (agent: Agent, most: Limits): Agent => {
  const limits = lowerLimits(agent.caps.limits, most);
  const inheritable = lowestLimits(agent.caps.inheritable, most);
  return limits === agent.caps.limits && inheritable === agent.caps.inheritable
    ? agent
    : completeDefinition({ ...agent, caps: { ...agent.caps, limits, inheritable } });
};

/** What a call asks for: less working time, or fewer tools. */
export type Restriction = { readonly timeoutMs?: number; readonly toolNames?: readonly string[] };

/** The arguments fit the schema of the tool that was called. */
export const readRestriction = (args: {
  readonly timeout_ms?: Json | undefined;
  readonly tools?: Json | undefined;
}): Restriction => ({
  ...(typeof args.timeout_ms === 'number' ? { timeoutMs: args.timeout_ms } : {}),
  ...(Array.isArray(args.tools) ? { toolNames: args.tools.filter((name) => typeof name === 'string') } : {}),
});

/** The tools that a caller can choose from, as the definition names them. */
const toolChoices = ({
  resources: { tools, builtins, sources, servers, skills },
  children,
}: Agent): readonly string[] => [
  ...new Set([
    ...[...tools, ...sources].map(({ name }) => name),
    ...builtins,
    ...servers,
    ...(skills.length === 0 ? [] : [skillToolName]),
    ...children.agents.map(({ signature }) => signature.modelToolName),
  ]),
];

/** What is wrong with the tools that a call asks for; null: nothing. */
export const absentTool = (agent: Agent, { toolNames = [] }: Restriction): string | null => {
  const choices = toolChoices(agent);
  const absent = toolNames.find((name) => !choices.includes(name));
  return absent === undefined
    ? null
    : `${agent.name} has no tool ${JSON.stringify(absent.slice(0, 80))}; it has: ${choices.join(', ') || 'none'}.`;
};

/** The same agent with what the call leaves it. A longer timeout has no effect, not even on what its agents inherit. */
export const restrictAgent = (agent: Agent, { timeoutMs, toolNames }: Restriction): Agent => {
  const some = toolNames === undefined ? agent : withTools(agent, toolNames);
  if (timeoutMs === undefined || timeoutMs >= resolveLimits(some.caps.limits, false).timeout_ms) return some;
  return withinLimits(some, /* probe: call-timeout */ { timeout_ms: timeoutMs });
};

/** The same agent with what the call had left it, according to the definition that was recorded for it. */
export const restrictToRecorded = (agent: Agent, recorded: AgentDefinition): Agent => {
  const names = [...recorded.tools.map(({ name }) => name), ...recorded.sources];
  const { timeout_ms: timeoutMs } = recorded.limits;
  return restrictAgent(agent, { toolNames: names, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
};

const withTools = (agent: Agent, names: readonly string[]): Agent => {
  const isKept = (name: string): boolean => names.includes(name);
  if (toolChoices(agent).every(isKept)) return agent;
  const { resources, children } = agent;
  const agents = children.agents.filter(({ signature }) => isKept(signature.modelToolName));
  return completeDefinition({
    ...agent,
    resources: {
      ...resources,
      tools: resources.tools.filter(({ name }) => isKept(name)),
      builtins: resources.builtins.filter(isKept),
      sources: resources.sources.filter(({ name }) => isKept(name)),
      servers: resources.servers.filter(isKept),
      skills: isKept(skillToolName) ? resources.skills : [],
    },
    children: {
      ...children,
      agents,
      ...(agents.length === 0 ? { gather: null, agentsAtOnce: null } : {}),
      ...(isKept('spawn_agent') ? {} : { spawns: null, spawnable: [] }),
    },
  });
};
