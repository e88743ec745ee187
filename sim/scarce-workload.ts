// Runs whose budget does not suffice for all children at the same time: holds wait, and steps are stopped while they wait.
import type { CreateAgentPlan } from './mail-workload.ts';
import type { AgentPlan, ModelPlan, RunPlan } from './plan.ts';
import type { Random } from './random.ts';

/** Uses little of its hold, so that many attempts fit one after the other. */
export const frugal = (model: ModelPlan): ModelPlan => ({ ...model, density: 0.1, noUsageRate: 0 });

/** Three children with short answers, started together. Some are given little time. */
export const withScarceBudget = <R extends Pick<RunPlan, 'agent' | 'budget'>>(
  run: R,
  random: Random,
  createAgent: CreateAgentPlan,
): R => {
  const child = (index: number): AgentPlan => {
    const name = `${run.agent.name}_s${index}`;
    const plan = createAgent(random.fork(name), name);
    const limits = {
      ...plan.limits,
      maxOutputTokens: 300,
      ...(random.chance(0.4) ? { timeout_ms: random.log(20, 600), llmTimeout: 20 } : {}),
    };
    const models = plan.models.map(frugal);
    return {
      ...plan,
      limits,
      models,
      tools: plan.tools.slice(0, 1),
      builtins: [],
      input: { format: 'text' },
      budget: {},
    };
  };
  const agent: AgentPlan = {
    ...run.agent,
    models: run.agent.models.map(frugal),
    tools: [],
    builtins: [],
    sources: [],
    agents: [child(0), child(1), child(2)],
    gather: { timeoutMs: random.log(30, 2_000) },
    limits: { maxToolTurns: 4, maxOutputTokens: 300 },
    budget: {},
  };
  return { ...run, agent, budget: { tokens: random.log(9_000, 14_000) } };
};
