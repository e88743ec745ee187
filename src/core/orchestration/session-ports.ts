// What a session is given by its run: models, tools, and the ports to the outside.
import { CloisterError, utf8Bytes } from '#base';
import type { Failure } from '#base';
import type {
  Agent,
  RunPorts,
  ChildOperation,
  PendingOperation,
  BuiltinTool,
  CallableTool,
  ToolDefinition,
} from '#contracts';
import type { LiveCell } from '#core/cells';
import { approvedTool, askPersonTool, builtinTool, clientTool, isMailTool, plainTool } from '#core/session';
import type { SessionPorts, Session, ToolRunner } from '#core/session';
import { asSpawned } from './started-agent.ts';
import { approvalMark, dataFrame } from '#core/rules';
import { childRequest, depthFailure, goalBytesMax, agentTool } from './agent-tool.ts';
import { gatherTool } from './gather.ts';
import { mailTool } from './mail-tools.ts';
import { skillTools } from './skill-tool.ts';
import { isSpawnTool, spawnAgentTool } from './spawn-agent.ts';

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
      onSource: (source) => world.resources.onSource?.(runtime.cellId, source),
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

// The cell that summarises another cell's old turns: a child like any other, one level down.

/** Null if no child can be started: at the depth limit, without a spawn left, or if the text is too long. */
const beginCompactor = (agent: Agent, { cell }: Session, text: string): PendingOperation<ChildOperation> | null => {
  const content = dataFrame("Summarise the agent's work so far:", text);
  if (depthFailure(cell) !== null || utf8Bytes(content) > goalBytesMax) return null;
  const about = { step: cell.nextUncalledStep, tool: 'agent:spawn', why: 'compaction' };
  const begun = cell.runtime.beginChild(childRequest(cell, agent, content, { about }));
  if ('code' in begun) return null;
  cell.countUncalledStep();
  return begun;
};

// Maps the tool names of an agent to what runs them.

const builtinRunner = (name: BuiltinTool): ToolRunner => {
  if (!isMailTool(name)) return builtinTool(name);
  return isSpawnTool(name) ? spawnAgentTool(name) : mailTool(name);
};

/** The tool as it is, or one that asks a person first. `approve`: the tool's own function of the arguments. */
const withApproval = ({ definition }: Agent, tool: ToolRunner, approve?: ToolDefinition['approve']): ToolRunner => {
  const mark = approvalMark(definition.approve, tool.schema);
  if (mark === undefined) return tool;
  // probe: approval-decided-by
  return approvedTool(tool, mark, mark.when !== undefined && typeof approve === 'function' ? approve : undefined);
};

const ownTool = ({ definition: { client } }: Agent, tool: CallableTool): ToolRunner => {
  const timeoutMs = client?.[tool.name];
  return timeoutMs === undefined ? plainTool(tool) : clientTool(tool, timeoutMs);
};

const runners = new WeakMap<Agent, ReadonlyMap<string, ToolRunner>>();

/** Contains only tools that the definition names. */
const toolRunners = (agent: Agent): ReadonlyMap<string, ToolRunner> => {
  let known = runners.get(agent);
  if (known === undefined) {
    const all = [
      ...agent.resources.tools.map((tool) => withApproval(agent, ownTool(agent, tool), tool.approve)),
      ...skillTools(agent.resources.skills).map((tool) => withApproval(agent, plainTool(tool))),
      ...agent.resources.builtins.map((name) => withApproval(agent, builtinRunner(name))),
      ...agent.children.agents.map((child) => withApproval(agent, agentTool(child))),
    ];
    if (agent.children.gather !== null)
      all.push(withApproval(agent, gatherTool(agent.children.agents, agent.children.gather.timeoutMs)));
    if (agent.definition.asks === true) all.push(withApproval(agent, askPersonTool));
    if (agent.definition.tools.length > all.length) all.push(withApproval(agent, builtinTool('read_output')));
    known = new Map(all.map((runner) => [runner.schema.name, runner]));
    runners.set(agent, known);
  }
  return known;
};
