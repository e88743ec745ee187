// The agents of a plan: defined once, and handed to each process with tools of its own.
import type { Agent, AgentOptions, SessionResources } from '#contracts';
import { defineAgent, defineTeam } from '#core/orchestration';
import { simulatedModel } from './models.ts';
import type { AgentPlan, MailPlan, TeamPlan } from './plan.ts';
import type { Process } from './process.ts';
import { simulatedSource, simulatedTool } from './tools.ts';

/** An agent, or a team of them, whose tools are still nobody's. */
export const agentOf = (plan: AgentPlan): Agent => (plan.team === null ? plainAgentOf(plan) : teamOf(plan, plan.team));

const teamOf = ({ name, budget }: AgentPlan, { members, coordinator, rules }: TeamPlan): Agent =>
  defineTeam({
    name,
    agents: members.map(agentOf),
    ...(coordinator === null ? {} : { coordinator: agentOf(coordinator) }),
    budget,
    ...rules,
  });

const plainAgentOf = (plan: AgentPlan): Agent =>
  defineAgent({
    name: plan.name,
    description: `does ${plan.name}`,
    prompt: plan.prompt,
    tools: [
      ...plan.tools.map(({ name, repeat, inputSchema, timeoutMs }) => ({
        name,
        description: `does ${name}`,
        inputSchema,
        repeat,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        execute: nobodys,
      })),
      ...plan.builtins,
      ...(plan.mail?.tools ?? []),
      ...plan.sources.map(({ name }) => ({ name, list: nobodys })),
    ],
    agents: plan.agents.map(agentOf),
    ...(plan.gather && { gather: plan.gather }),
    input: plan.input,
    output: plan.output,
    limits: plan.limits,
    settings: plan.settings,
    budget: plan.budget,
    grants: plan.grants,
    share: plan.share,
    ...(plan.mail && mailOf(plan.mail)),
  });

const mailOf = ({ spawns, messages, hear, say }: MailPlan): Pick<AgentOptions, 'spawns' | 'messages' | 'topics'> => {
  const common = { messages, topics: { hear, say } };
  if (spawns === null) return common;
  const { agents, self, template, ...rest } = spawns;
  return {
    ...common,
    spawns: {
      ...rest,
      agents: [...agents.map(agentOf), ...(self ? (['self'] as const) : [])],
      templates: template !== null,
    },
  };
};

const nobodys = (): never => {
  throw new Error('this tool belongs to no process');
};

/** The same definition, at work in one process. */
export const boundTo = (process: Process, agent: Agent, plan: AgentPlan): Agent => ({
  ...agent,
  tools: agent.tools.map((tool, index) => ({ ...tool, execute: simulatedTool(process, plan.tools[index]!) })),
  agents: agent.agents.map((child, index) => boundTo(process, child, plan.agents[index]!)),
  spawnable: agent.spawnable.map((child, index) => boundTo(process, child, plan.mail!.spawns!.agents[index]!)),
  members: agent.members.map((member) =>
    boundTo(
      process,
      member,
      plan.team!.members.find(({ name }) => name === member.name)!,
    ),
  ),
});

/** Made anew for each session. */
export const equip = (process: Process, plan: AgentPlan): SessionResources => ({
  models: modelsOf(process, plan),
  sources: plan.sources.map((source) => ({ source: simulatedSource(process, source), only: null })),
});

const modelsOf = (process: Process, plan: AgentPlan): SessionResources['models'] => {
  const session = process.world.sessions++;
  return plan.models.map((model) => simulatedModel({ process, plan: model, agent: plan, session }));
};

/** It and all that it may call or start, or that work in it. */
export const withChildren = (plan: AgentPlan): readonly AgentPlan[] => {
  const { agents = [], template = null } = plan.mail?.spawns ?? {};
  const { members = [], coordinator = null } = plan.team ?? {};
  const team = coordinator === null ? members : [...members, coordinator];
  const below = [...plan.agents, ...agents, ...team].flatMap(withChildren);
  return template === null ? [plan, ...below] : [plan, ...below, template];
};
