import type { Agent, AgentOptions, ToolDefinition } from '#contracts';

export type Family = { readonly agents: readonly Agent[]; readonly spawnable: readonly Agent[] };

/** The options that make an agent again, with these children, which it calls or spawns, and with other tools in the place of its own. */
export const agentOptions = (
  agent: Agent,
  { agents, spawnable }: Family,
  toolOf: (tool: ToolDefinition) => ToolDefinition = (tool) => tool,
): AgentOptions => {
  const { name, description, usage, prompt, models, toolName, input, output, caching } = agent;
  const { limits, settings, budget, grants, share, budgetGroup, gather, agentsAtOnce } = agent;
  const { spawns, messages, topics } = agent;
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
    ...(spawns === null
      ? {}
      : {
          spawns: {
            ...spawns,
            agents: [...spawnable, ...(spawns.self ? selves : [])],
            templates: spawns.templates ?? false,
          },
        }),
    ...(messages === null ? {} : { messages }),
    topics,
    ...(budgetGroup === null ? {} : { budgetGroup }),
    ...(gather === null ? {} : { gather }),
    ...(agentsAtOnce === null ? {} : { agentsAtOnce }),
  };
};

const selves = ['self'] as const;
