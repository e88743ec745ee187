// What a session is given by its run: models, tools, and the ports to the outside.
import { CloisterError } from '#base';
import type { Failure } from '#base';
import type { Agent, CellFolders, RunStartInfo, SessionResources, Validate, WindowLimit } from '#contracts';
import type { CellRuntime, RunPorts } from '#core/cells';
import type { SessionPorts } from '#core/session';
import { beginCompactor } from './compactor.ts';
import { asSpawned } from './started-agent.ts';
import { toolRunners } from './tool-runners.ts';

/** The ports through which one run reaches the outside. */
export type RunWorldPorts = RunPorts & {
  /** How the run was started, so that it can be resumed with the same agents. */
  readonly started?: RunStartInfo | undefined;
  readonly workspaces: CellFolders;
  readonly validate: Validate;
  /**
   * Models and tool sources for a new session of this agent; sessions share none of them. `model` replaces the agent's own.
   * `without`: its models that are left out; by default those that cannot be used now.
   */
  resourcesFor(agent: Agent, model?: string, without?: readonly string[]): SessionResources;
  /** Pre-warms this many instances of an agent. */
  warm?(agent: Agent, count: number): void;
  /** The context window of an agent, if its definition or the config sets it. */
  windowLimitFor?(agent: Agent): WindowLimit | undefined;
  /** The smallest window among the agents currently in this agent's budget group. */
  groupTokens?(agent: Agent): number | undefined;
  /** Called with the promise of a resource that is being closed; the run waits for it before it ends. */
  onClosing?(done: Promise<void>): void;
  readBlob(ref: string): Promise<Uint8Array>;
  /** Whether the run was cancelled before it started. */
  cancelled?(): boolean;
};

export const sessionPorts = (agent: Agent, world: RunWorldPorts, runtime: CellRuntime): SessionPorts => {
  const tools = toolRunners(agent);
  for (const one of agent.spawnable) {
    const count = agent.spawns?.pool[one.name] ?? 0;
    if (count > 0) world.warm?.(asSpawned(one, agent), count);
  }
  const without = runtime.liveRun.passedOver(runtime.cellId, agent)?.map(({ model }) => model) ?? [];
  try {
    const resources = world.resourcesFor(agent, undefined, without);
    // probe: session-ports
    return { ...resources, ...forkModels(agent, world, runtime), ...compaction(agent), tools, world };
  } catch (error) {
    const setupFailure: Failure =
      error instanceof CloisterError ? error.failure : { code: 'defect', detail: String(error) };
    return { models: [], sources: [], setupFailure, tools, world };
  }
};

const compaction = ({ compactor }: Agent): Pick<SessionPorts, 'compact'> =>
  compactor === null ? {} : { compact: (session, text) => beginCompactor(compactor, session, text) };

/** A fork may have replaced the agent's model from some frame on. */
const forkModels = (agent: Agent, world: RunWorldPorts, runtime: CellRuntime): Pick<SessionPorts, 'currentModels'> => {
  const { amendments } = runtime.liveRun;
  const named = amendments.modelsFor(agent.name);
  if (named.length === 0) return {};
  const models = new Map(named.map((model) => [model, world.resourcesFor(agent, model).models]));
  return {
    currentModels: () => {
      const model = amendments.modelAt(agent.name, runtime.nextFrame);
      return model === undefined ? undefined : models.get(model);
    },
  };
};
