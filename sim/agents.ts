// The agents of a plan: defined once, and handed to each process with tools of its own.
import type { Agent, Equipment } from '#contracts';
import { defineAgent } from '#core/orchestration';
import { simulatedModel } from './models.ts';
import type { AgentPlan } from './plan.ts';
import type { Process } from './process.ts';
import { simulatedSource, simulatedTool } from './tools.ts';

/** An agent whose tools are still nobody's. */
export const agentOf = (plan: AgentPlan): Agent =>
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
  });

const nobodys = (): never => {
  throw new Error('this tool belongs to no process');
};

/** The same definition, at work in one process. */
export const boundTo = (process: Process, agent: Agent, plan: AgentPlan): Agent => ({
  ...agent,
  tools: agent.tools.map((tool, index) => ({ ...tool, execute: simulatedTool(process, plan.tools[index]!) })),
  agents: agent.agents.map((child, index) => boundTo(process, child, plan.agents[index]!)),
});

/** Made anew for each session. */
export const equip = (process: Process, plan: AgentPlan): Equipment => ({
  models: plan.models.map((model) => simulatedModel(process, model, plan)),
  sources: plan.sources.map((source) => ({ source: simulatedSource(process, source), only: null })),
});

export const withChildren = (plan: AgentPlan): readonly AgentPlan[] => [plan, ...plan.agents.flatMap(withChildren)];
