import type { Agent, AgentOptions, TeamOptions, ToolDefinition } from '#contracts';
import { ownMarks, teamRoster } from '#core/orchestration';

export type ChildAgents = { readonly agents: readonly Agent[]; readonly spawnable: readonly Agent[] };

/** The options to define an agent again, with other children to call or spawn, and with other tools in place of its own. */
export const agentOptions = (
  agent: Agent,
  { agents, spawnable }: ChildAgents,
  mapTool: (tool: ToolDefinition) => ToolDefinition = (tool) => tool,
): AgentOptions => {
  const { name, description, usage, prompt } = agent;
  const { toolName, input, output } = agent.signature;
  const { models, caching, settings, tools, builtins, sources, servers, skills } = agent.resources;
  const { limits, budget, budgetGroup } = agent.caps;
  const { gather, agentsAtOnce, spawns } = agent.children;
  const { grants, share, messages, topics, asks } = agent.permissions;
  const approve = ownMarks(agent);
  return {
    name,
    description,
    usage,
    prompt,
    models,
    tools: [...tools.map(mapTool), ...builtins, ...sources, ...servers],
    skills,
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
    ...(Object.keys(approve).length === 0 ? {} : { approve }),
    ...(asks ? { asks } : {}),
    ...(budgetGroup === null ? {} : { budgetGroup }),
    ...(gather === null ? {} : { gather }),
    ...(agentsAtOnce === null ? {} : { agentsAtOnce }),
  };
};

const selfOnly = ['self'] as const;

/** The options to define a team again, with other agents in place of its own. */
export const teamOptions = (agent: Agent, replaceAgent: (agent: Agent) => Agent): TeamOptions => {
  const { name, description, caps } = agent;
  const team = agent.team!;
  const { members: _members, coordinator: _coordinator, planTasksMax, planDepthMax, ...rules } = team.rules;
  return {
    ...rules,
    name,
    description,
    budget: caps.budget,
    agents: teamRoster(team).map(replaceAgent),
    plan: { tasks: planTasksMax, depth: planDepthMax },
    ...(team.coordinator === null ? {} : { coordinator: replaceAgent(team.coordinator.answers) }),
  };
};
