// Plans runs in which people are asked: marked tools at every depth, and people who answer in every way.
import type { AnswerRight, ApprovalRule } from '#contracts';
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

/** With this number, the seeds that tests name wait for no slot. */
const planPeople = (random: Random): PeoplePlan => {
  const slots = random.fork('slots 134');
  return { msMax: random.log(5, 60_000), elsewhere: 0, slotMs: slots.chance(0.3) ? slots.log(2, 2_000) : 0 };
};

export const planCrashBefore = (random: Random): QuestionRecord | null =>
  random.chance(0.6) ? random.pick(['ask', 'ruling', 'answered', 'call']) : null;

/** The agent and all below it. Those of a team that only plan call nothing. */
const markAgent = (agent: AgentPlan, random: Random, spare: ToolPlan): AgentPlan => {
  const below = (one: AgentPlan): AgentPlan => markAgent(one, random.fork(one.name), spare);
  const hasTools = agent.team === null && agent.role?.as !== 'coordinator';
  const tools = hasTools ? markTools(agent.tools, random, spare) : agent.tools;
  const rules = hasTools ? planRules(tools, random.fork('rules 7')) : {};
  const isHasty = hasTools && random.chance(0.35);
  const approve = { ...rules.approve, ...(hasTools ? markAgents(agent, random.fork('agents')) : {}) };
  return {
    ...agent,
    tools,
    ...(Object.keys(approve).length === 0 ? {} : { approve }),
    limits: isHasty ? { ...agent.limits, questionTimeout: random.log(20, 3_000) } : agent.limits,
    agents: agent.agents.map(below),
    mail: agent.mail && markSpawned(agent.mail, { tools, ...rules }, below),
    team: agent.team && markTeam(agent.team, below),
  };
};

/** Some agents may only be called if a person allows it. Calls of several at once are asked about as one, which is left to other tests. */
const markAgents = ({ agents, gather }: AgentPlan, random: Random): NonNullable<AgentPlan['approve']> =>
  gather === null && random.chance(0.6)
    ? Object.fromEntries(agents.filter(() => random.chance(0.8)).map(({ name }) => [name, {}]))
    : {};

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

/** Some tools are also marked by the definition, which says who may answer and how many people are needed. */
const planRules = (tools: readonly ToolPlan[], random: Random): Pick<AgentPlan, 'approve'> => {
  if (!random.chance(0.35)) return {};
  const marked = tools.filter(({ approve }) => approve !== undefined && random.chance(0.8));
  return marked.length === 0 ? {} : { approve: Object.fromEntries(marked.map(({ name }) => [name, planRule(random)])) };
};

/** Nobody is left out so that too few remain. */
const planRule = (random: Random): ApprovalRule => ({
  need: random.pick([1, 2, 2, 2, 3]),
  ...(random.chance(0.6) ? { by: random.chance(0.3) ? [...namedPeople, 'operator'] : namedPeople } : {}),
  ...(random.chance(0.4) ? { not: 'asker' } : {}),
});

const namedPeople: readonly string[] = ['ann', 'ben', 'cleo', 'dora', 'emil'];

/** Those who may answer, with their rights: by the rule of the plan, or else the caller and whoever answers for the agent. */
export const peopleWhoMay = ({
  by,
  not,
}: ApprovalRule): readonly { readonly by: string; readonly right: AnswerRight }[] => {
  const all: readonly { readonly by: string; readonly right: AnswerRight }[] =
    by === undefined
      ? [{ by: 'operator', right: 'operator' }, ...namedPeople.map((name) => ({ by: name, right: 'answers' as const }))]
      : by.map((name) => ({ by: name, right: 'named' }));
  return not === 'asker' ? all.filter((one) => one.by !== 'operator') : all;
};

const markSpawned = (
  mail: MailPlan,
  { tools, ...rules }: Pick<AgentPlan, 'tools' | 'approve'>,
  below: (agent: AgentPlan) => AgentPlan,
): MailPlan => ({
  ...mail,
  spawns: mail.spawns && {
    ...mail.spawns,
    agents: mail.spawns.agents.map(below),
    // Its tools, and what they need, are those of the agent that defines it.
    template: mail.spawns.template && { ...mail.spawns.template, tools: tools.slice(0, 1), ...rules },
  },
});

const markTeam = (team: TeamPlan, below: (agent: AgentPlan) => AgentPlan): TeamPlan => ({
  ...team,
  members: team.members.map(below),
});

/** Which calls need approval, where the tool itself decides. */
export const toolAsks = ({ approve }: Pick<ToolPlan, 'approve'>, args: Readonly<Record<string, unknown>>): boolean =>
  approve === 'always' || (approve === 'some' && String(args['q']) < '8');

/** Which calls of an agent's tools need approval: all that its definition marks, and those for which the tool itself asks. */
export const needsApproval = (
  agent: Pick<AgentPlan, 'tools' | 'approve'>,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): boolean => {
  if (agent.approve?.[tool] !== undefined) return true;
  const plan = agent.tools.find(({ name }) => name === tool);
  return plan !== undefined && toolAsks(plan, args);
};
