import type { Agent, AgentOptions, TeamOptions, ToolDefinition } from '#contracts';
import { teamRoster } from '#core/orchestration';

export type ChildAgents = { readonly agents: readonly Agent[]; readonly spawnable: readonly Agent[] };

/** The options to define an agent again, with other children to call or spawn, and with other tools in place of its own. */
export const agentOptions = (
  agent: Agent,
  { agents, spawnable }: ChildAgents,
  mapTool: (tool: ToolDefinition) => ToolDefinition = (tool) => tool,
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
    tools: [...agent.tools.map(mapTool), ...agent.builtins, ...agent.sources, ...agent.servers],
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
            agents: [...spawnable, ...(spawns.self ? selfOnly : [])],
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

const selfOnly = ['self'] as const;

/** The options to define a team again, with other agents in place of its own. */
export const teamOptions = (team: Agent, replaceAgent: (agent: Agent) => Agent): TeamOptions => {
  const { members: _members, coordinator: _coordinator, planTasksMax, planDepthMax, ...rules } = team.team!;
  const { name, description, budget, coordinator } = team;
  return {
    ...rules,
    name,
    description,
    budget,
    agents: teamRoster(team).map(replaceAgent),
    plan: { tasks: planTasksMax, depth: planDepthMax },
    ...(coordinator === null ? {} : { coordinator: replaceAgent(coordinator.answers) }),
  };
};
