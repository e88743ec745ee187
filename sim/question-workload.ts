// Plans runs in which people are asked: marked tools at every depth, and people who answer in every way.
import type { AgentPlan, MailPlan, PeoplePlan, QuestionRecord, RunPlan, TeamPlan, ToolPlan } from './plan.ts';
import type { Random } from './random.ts';

/** `spare`: the tool for agents that have none. */
export const withQuestions = (run: RunPlan, random: Random, spare: ToolPlan): RunPlan => {
  // Little time, so that it matters whose time passes while people think.
  const hurry = random.fork('hurry');
  return {
    ...run,
    agent: markAgent(run.agent, random.fork('agent'), spare),
    budget: hurry.chance(0.3) ? { ...run.budget, ms: hurry.log(40, 3_000) } : run.budget,
    people: planPeople(random),
  };
};

const planPeople = (random: Random): PeoplePlan => ({ msMax: random.log(5, 60_000) });

export const planCrashBefore = (random: Random): QuestionRecord | null =>
  random.chance(0.6) ? random.pick(['ask', 'ruling', 'answered', 'call']) : null;

/** The agent and all below it. Those of a team that only plan call nothing. */
const markAgent = (agent: AgentPlan, random: Random, spare: ToolPlan): AgentPlan => {
  const below = (one: AgentPlan): AgentPlan => markAgent(one, random.fork(one.name), spare);
  const hasTools = agent.team === null && agent.role?.as !== 'coordinator';
  const tools = hasTools ? markTools(agent.tools, random, spare) : agent.tools;
  const isHasty = hasTools && random.chance(0.35);
  return {
    ...agent,
    tools,
    limits: isHasty ? { ...agent.limits, questionTimeout: random.log(20, 3_000) } : agent.limits,
    agents: agent.agents.map(below),
    mail: agent.mail && markSpawned(agent.mail, tools, below),
    team: agent.team && markTeam(agent.team, below),
  };
};

/** At least one, because there is nothing to ask about otherwise; often the same one, so that answers could cover other agents. */
const markTools = (tools: readonly ToolPlan[], random: Random, spare: ToolPlan): readonly ToolPlan[] => {
  const hasSpare = tools.some(({ name }) => name === spare.name);
  const all = tools.length === 0 || (!hasSpare && random.chance(0.6)) ? [...tools, spare] : tools;
  const first = random.int(0, all.length - 1);
  return all.map((tool, index) =>
    index === first || tool.name === spare.name || random.chance(0.4)
      ? { ...tool, approve: random.chance(0.25) ? 'some' : 'always' }
      : tool,
  );
};

const markSpawned = (mail: MailPlan, tools: readonly ToolPlan[], below: (agent: AgentPlan) => AgentPlan): MailPlan => ({
  ...mail,
  spawns: mail.spawns && {
    ...mail.spawns,
    agents: mail.spawns.agents.map(below),
    // Its tools are those of the agent that defines it.
    template: mail.spawns.template && { ...mail.spawns.template, tools: tools.slice(0, 1) },
  },
});

const markTeam = (team: TeamPlan, below: (agent: AgentPlan) => AgentPlan): TeamPlan => ({
  ...team,
  members: team.members.map(below),
});

/** Which calls of a tool need approval, where not all do. */
export const needsApproval = (
  { approve }: Pick<ToolPlan, 'approve'>,
  args: Readonly<Record<string, unknown>>,
): boolean => approve === 'always' || (approve === 'some' && String(args['q']) < '8');
