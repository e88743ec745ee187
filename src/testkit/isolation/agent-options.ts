import type { Agent, AgentOptions, ToolDefinition } from '#contracts';

/** The options that make an agent again, with these children and with other tools in the place of its own. */
export const agentOptions = (
  agent: Agent,
  agents: readonly Agent[],
  toolOf: (tool: ToolDefinition) => ToolDefinition = (tool) => tool,
): AgentOptions => {
  const { name, description, usage, prompt, models, toolName, input, output, caching } = agent;
  const { limits, settings, budget, grants, share, budgetGroup, gather, agentsAtOnce } = agent;
  return {
    name,
    description,
    usage,
    prompt,
    models,
    tools: [...agent.tools.map(toolOf), ...agent.builtins, ...agent.sources, ...agent.servers],
    agents,
    toolName,
    input,
    output,
    caching,
    limits,
    settings,
    budget,
    grants,
    share,
    ...(budgetGroup === null ? {} : { budgetGroup }),
    ...(gather === null ? {} : { gather }),
    ...(agentsAtOnce === null ? {} : { agentsAtOnce }),
  };
};
