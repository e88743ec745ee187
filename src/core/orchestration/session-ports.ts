// What a session is given by its run: models, tools, and the ports to the outside.
import { CloisterError } from '#base';
import type { Failure } from '#base';
import type { Agent, RunPorts } from '#contracts';
import type { LiveCell } from '#core/cells';
import type { SessionPorts } from '#core/session';
import { beginCompactor } from './compactor.ts';
import { asSpawned } from './started-agent.ts';
import { toolRunners } from './tool-runners.ts';

export const sessionPorts = (agent: Agent, world: RunPorts, runtime: LiveCell): SessionPorts => {
  const tools = toolRunners(agent);
  for (const one of agent.children.spawnable) {
    const count = agent.children.spawns?.pool[one.name] ?? 0;
    if (count > 0) world.resources.warm?.(asSpawned(one, agent), count);
  }
  const without = runtime.run.passedOver(runtime.cellId, agent)?.map(({ model }) => model) ?? [];
  try {
    const resources = world.resources.resourcesFor(agent, undefined, without);
    // probe: session-ports
    return {
      ...resources,
      ...forkModels(agent, world, runtime),
      ...compaction(agent),
      tools,
      world: runtime.run.world,
    };
  } catch (error) {
    const setupFailure: Failure =
      error instanceof CloisterError ? error.failure : { code: 'defect', detail: String(error) };
    return { models: [], sources: [], setupFailure, tools, world: runtime.run.world };
  }
};

const compaction = ({ children: { compactor } }: Agent): Pick<SessionPorts, 'compact'> =>
  compactor === null ? {} : { compact: (session, text) => beginCompactor(compactor, session, text) };

/** A fork may have replaced the agent's model from some frame on. */
const forkModels = (agent: Agent, world: RunPorts, runtime: LiveCell): Pick<SessionPorts, 'currentModels'> => {
  const { amendments } = runtime.run;
  const named = amendments.modelsFor(agent.name);
  if (named.length === 0) return {};
  const models = new Map(named.map((model) => [model, world.resources.resourcesFor(agent, model).models]));
  return {
    currentModels: () => {
      const model = amendments.modelAt(agent.name, runtime.nextFrame);
      return model === undefined ? undefined : models.get(model);
    },
  };
};
