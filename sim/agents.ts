// Defines the agents of a plan once, and binds them to each process with tools of its own.
import type { Agent, AgentOptions, SessionResources, ToolDefinition } from '#contracts';
import { defineAgent, defineTeam } from '#core/orchestration';
import { simulatedModel } from './models.ts';
import type { AgentPlan, MailPlan, TeamPlan, ToolPlan } from './plan.ts';
import type { Process } from './process.ts';
import { toolAsks } from './question-workload.ts';
import { simulatedSource, simulatedTool } from './tools.ts';

/** An agent or a team whose tools are not bound to a process yet. */
export const createAgent = (plan: AgentPlan): Agent =>
  plan.team === null ? createPlainAgent(plan) : createTeam(plan, plan.team);

const createTeam = ({ name, budget }: AgentPlan, { members, coordinator, rules }: TeamPlan): Agent =>
  defineTeam({
    name,
    agents: members.map(createAgent),
    ...(coordinator === null ? {} : { coordinator: createAgent(coordinator) }),
    budget,
    ...rules,
  });

const createPlainAgent = (plan: AgentPlan): Agent =>
  defineAgent({
    name: plan.name,
    description: `does ${plan.name}`,
    prompt: plan.prompt,
    tools: [
      ...plan.tools.map(({ name, repeat, inputSchema, timeoutMs, approve }) => ({
        name,
        description: `does ${name}`,
        inputSchema,
        repeat,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...approval(approve),
        execute: unboundTool,
      })),
      ...plan.builtins,
      ...(plan.mail?.tools ?? []),
      ...plan.sources.map(({ name }) => ({ name, list: unboundTool })),
    ],
    ...(plan.approve && { approve: plan.approve }),
    agents: plan.agents.map(createAgent),
    ...(plan.gather && { gather: plan.gather }),
    input: plan.input,
    output: plan.output,
    limits: plan.limits,
    settings: plan.settings,
    budget: plan.budget,
    grants: plan.grants,
    share: plan.share,
    ...(plan.skills.length === 0 ? {} : { skills: plan.skills }),
    ...(plan.mail && mailOptions(plan.mail)),
  });

const approval = (approve: ToolPlan['approve']): Pick<ToolDefinition, 'approve'> => {
  if (approve === undefined) return {};
  return { approve: approve === 'always' ? true : (args) => toolAsks({ approve }, args) };
};

const mailOptions = ({
  spawns,
  messages,
  hear,
  say,
}: MailPlan): Pick<AgentOptions, 'spawns' | 'messages' | 'topics'> => {
  const common = { messages, topics: { hear, say } };
  if (spawns === null) return common;
  const { agents, self, template, ...rest } = spawns;
  return {
    ...common,
    spawns: {
      ...rest,
      agents: [...agents.map(createAgent), ...(self ? (['self'] as const) : [])],
      templates: template !== null,
    },
  };
};

const unboundTool = (): never => {
  throw new Error('this tool belongs to no process');
};

/** The same definition, with tools that work in one process. */
export const bindToProcess = (process: Process, agent: Agent, plan: AgentPlan): Agent => ({
  ...agent,
  resources: {
    ...agent.resources,
    tools: agent.resources.tools.map((tool, index) => ({
      ...tool,
      execute: simulatedTool(process, plan.tools[index]!),
    })),
  },
  children: {
    ...agent.children,
    agents: agent.children.agents.map((child, index) => bindToProcess(process, child, plan.agents[index]!)),
    spawnable: agent.children.spawnable.map((child, index) =>
      bindToProcess(process, child, plan.mail!.spawns!.agents[index]!),
    ),
  },
  team: agent.team && {
    ...agent.team,
    members: agent.team.members.map((member) =>
      bindToProcess(
        process,
        member,
        plan.team!.members.find(({ name }) => name === member.name)!,
      ),
    ),
  },
});

/** Created for each session. */
export const equip = (process: Process, plan: AgentPlan): SessionResources => ({
  models: createModels(process, plan),
  sources: plan.sources.map((source) => ({ source: simulatedSource(process, source), only: null })),
});

const createModels = (process: Process, plan: AgentPlan): SessionResources['models'] => {
  const session = process.world.sessionCount++;
  return plan.models.map((model) => simulatedModel({ process, plan: model, agent: plan, session }));
};

/** The agent and all agents that it may call or spawn, or that are members of it. */
export const withChildren = (plan: AgentPlan): readonly AgentPlan[] => {
  const { agents = [], template = null } = plan.mail?.spawns ?? {};
  const { members = [], coordinator = null } = plan.team ?? {};
  const team = coordinator === null ? members : [...members, coordinator];
  const below = [...plan.agents, ...agents, ...team].flatMap(withChildren);
  return template === null ? [plan, ...below] : [plan, ...below, template];
};
