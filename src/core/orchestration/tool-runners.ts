// Maps the tool names of an agent to what runs them.
import type { Agent, BuiltinTool } from '#contracts';
import { builtinTool, isMailTool, plainTool } from '#core/session';
import type { ToolRunner } from '#core/session';
import { agentTool } from './agent-tool.ts';
import { gatherTool } from './gather.ts';
import { mailTool } from './mail-tools.ts';
import { isSpawnTool, spawnAgentTool } from './spawn-agent.ts';

const builtinRunner = (name: BuiltinTool): ToolRunner => {
  if (!isMailTool(name)) return builtinTool(name);
  return isSpawnTool(name) ? spawnAgentTool(name) : mailTool(name);
};

const runners = new WeakMap<Agent, ReadonlyMap<string, ToolRunner>>();

/** Contains only tools that the definition names. */
export const toolRunners = (agent: Agent): ReadonlyMap<string, ToolRunner> => {
  let known = runners.get(agent);
  if (known === undefined) {
    const all = [
      ...agent.resources.tools.map(plainTool),
      ...agent.resources.builtins.map(builtinRunner),
      ...agent.children.agents.map(agentTool),
    ];
    if (agent.children.gather !== null) all.push(gatherTool(agent.children.agents, agent.children.gather.timeoutMs));
    if (agent.definition.tools.length > all.length) all.push(builtinTool('read_output'));
    known = new Map(all.map((runner) => [runner.schema.name, runner]));
    runners.set(agent, known);
  }
  return known;
};
