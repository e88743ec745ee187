import type { Agent, AgentOptions, TeamOptions, ToolDefinition } from '#contracts';
import { rosterOf } from '#core/orchestration';

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

/** The options that make a team again, with others in the place of its agents. */
export const teamOptions = (team: Agent, instead: (agent: Agent) => Agent): TeamOptions => {
  const { members: _members, coordinator: _coordinator, planTasksMax, planDepthMax, ...rules } = team.team!;
  const { name, description, budget, coordinator } = team;
  return {
    ...rules,
    name,
    description,
    budget,
    agents: rosterOf(team).map(instead),
    plan: { tasks: planTasksMax, depth: planDepthMax },
    ...(coordinator === null ? {} : { coordinator: instead(coordinator.answers) }),
  };
};
