// An agent as another one starts it: never with more than its own definition, and never with more than the starter may pass on.
//
//   S1. What is in effect is part of the definition that the run records, so resume, replay and the audit know it.
//   S2. It depends on the two definitions and the call alone.
import type { Agent, Limits } from '#contracts';
import { lowerLimits, lowestOf } from '#core/registry';
import { completeDefinition } from './define-agent.ts';

/** An agent that is spawned inherits its parent's limits and levels. */
export const asSpawned = (agent: Agent, parent: Agent): Agent => {
  let known = spawned.get(agent);
  if (known === undefined) spawned.set(agent, (known = new WeakMap()));
  let started = known.get(parent);
  if (started === undefined) {
    const depth = parent.spawns?.depth ?? parent.depth;
    started = withSpawnDepth(
      withinLimits(withinDepth(agent, parent), /* probe: inherited-limits */ parent.inheritable),
      depth,
    );
    known.set(parent, started);
  }
  return started;
};

/** By agent and parent, because the same pair is started again and again. */
const spawned = new WeakMap<Agent, WeakMap<Agent, Agent>>();

/** An agent that is called keeps the limits of its own definition, but no level below it is deeper than its caller's. */
export const withinDepth = (agent: Agent, { depth }: Agent): Agent =>
  agent.depth <= depth ? agent : completeDefinition({ ...agent, depth });

const withSpawnDepth = (agent: Agent, depth: number): Agent =>
  agent.spawns === null || agent.spawns.depth <= depth
    ? agent
    : completeDefinition({ ...agent, spawns: Object.freeze({ ...agent.spawns, depth }) });

/** The same agent with at most this much of each limit. */
export const withinLimits = (agent: Agent, most: Limits): Agent => {
  const limits = lowerLimits(agent.limits, most);
  const inheritable = lowestOf(agent.inheritable, most);
  return limits === agent.limits && inheritable === agent.inheritable
    ? agent
    : completeDefinition({ ...agent, limits, inheritable });
};
