// Plans a team with a task graph: its members, the request, and what people send it meanwhile.
import type { TaskSpec } from '#contracts';
import { drawTasks } from './draw-tasks.ts';
import type { CreateAgentPlan } from './mail-workload.ts';
import type {
  AgentPlan,
  CheckpointActionPlan,
  ModelPlan,
  RolePlan,
  RunPlan,
  TeamRequestPlan,
  TeamPlan,
} from './plan.ts';
import type { Random } from './random.ts';

export const withTeam = (run: RunPlan, random: Random, createAgent: CreateAgentPlan): RunPlan =>
  random.fork('below').chance(calledTeamShare)
    ? withTeamBelow(run, random, createAgent)
    : asTeam(run, random, createAgent);

/** The share of these runs in which an agent calls the team like any other agent. */
const calledTeamShare = 0.15;

const withTeamBelow = (run: RunPlan, random: Random, createAgent: CreateAgentPlan): RunPlan => {
  const name = `${run.agent.name}_team`;
  const team = planTeam(random.fork('members'), name, createAgent, true);
  return {
    ...run,
    agent: {
      ...run.agent,
      tools: run.agent.tools.slice(0, 1),
      sources: [],
      agents: [{ ...run.agent, ...emptyTeamAgent, name, budget: {}, team }],
      gather: random.chance(0.3) ? { timeoutMs: random.log(200, 20_000) } : null,
      models: run.agent.models.map(withFullWindow),
      budget: {},
    },
    budget: undefined,
    cancel: random.chance(0.35) ? run.cancel : null,
  };
};

const asTeam = (run: RunPlan, random: Random, createAgent: CreateAgentPlan): RunPlan => {
  const team = planTeam(random.fork('members'), run.agent.name, createAgent);
  const names = team.members.map(({ name }) => name);
  return {
    ...run,
    agent: {
      ...run.agent,
      ...emptyTeamAgent,
      budget: random.chance(0.1) ? run.agent.budget : {},
      team,
    },
    budget: withDeadline(random.chance(0.35) ? run.budget : undefined, random.fork('hurry')),
    cancel: random.chance(0.35) ? run.cancel : null,
    context: [],
    gives: random.chance(0.2) ? run.gives : [],
    team: planTeamRequest(random.fork('ask'), names, team.coordinator !== null),
  };
};

/** Gives some runs little time. */
const withDeadline = (budget: RunPlan['budget'], random: Random): RunPlan['budget'] =>
  random.chance(0.12) ? { ...budget, ms: random.log(30, 3_000) } : budget;

/** A team has no model, tools or prompt of its own. */
const emptyTeamAgent = {
  prompt: '',
  models: [],
  tools: [],
  builtins: [],
  sources: [],
  agents: [],
  gather: null,
  input: { format: 'text' },
  output: { format: 'text' },
  limits: {},
  settings: {},
  grants: ['goal', 'result'],
  share: [],
  mail: null,
} as const satisfies Partial<AgentPlan>;

/** Some team runs are restored or branched; there are no conversations with teams. */
export const planTeamCheckpointActions = (random: Random): readonly CheckpointActionPlan[] =>
  Array.from({ length: random.chance(0.2) ? random.int(2, 4) : 0 }, (_, index) => ({
    afterMs: random.log(5, index === 0 ? 500 : 4_000),
    what: index === 0 ? 'checkpoint' : random.weighted({ checkpoint: 2, restore: 5, branch: 3 }),
    twice: random.chance(0.3),
  }));

const planTeam = (random: Random, name: string, createAgent: CreateAgentPlan, mustPlan = false): TeamPlan => {
  const count = random.pick([1, 2, 2, 2, 3, 3]);
  const names = Array.from({ length: count }, (_, index) => `${name}_${'abc'[index]}`);
  const messages = random.weighted({ all: 3, none: 1, some: 1 });
  const mates = (one: string): readonly string[] =>
    messages === 'none' ? [] : names.filter((other) => other !== one && (messages === 'all' || other > one));
  const member = (one: string): AgentPlan =>
    planMember(createAgent(random.fork(one), one), random, { as: 'member', mates: mates(one) });
  return {
    members: names.map(member),
    coordinator:
      random.chance(0.6) || mustPlan
        ? planCoordinator(createAgent(random.fork('lead'), `${name}_lead`), random, names)
        : null,
    rules: {
      parallel: random.int(1, 5),
      capacity: Object.fromEntries(names.flatMap((one) => (random.chance(0.3) ? [[one, random.int(1, 2)]] : []))),
      memoryScope: random.chance(0.1) ? 'all' : 'dependencies',
      planMayAskForAll: random.chance(0.3),
      retries: random.chance(0.3) ? 1 : 0,
      backOffMs: random.log(1, 800),
      messages: messages === 'some' ? Object.fromEntries(names.map((one) => [one, mates(one)])) : messages === 'all',
      plan: { tasks: random.int(5, 12), depth: random.int(3, 12) },
    },
  };
};

/** All prompts fit into the window; other workloads test small windows. */
const withFullWindow = (model: ModelPlan): ModelPlan => ({
  ...model,
  contextTokens: undefined,
  maxOutputTokens: undefined,
});

const planMember = (plain: AgentPlan, random: Random, role: RolePlan & { readonly as: 'member' }): AgentPlan => {
  const { contextTokensMax: _window, max_steps: steps, timeout_ms: timeoutMs, ...limits } = plain.limits;
  return {
    ...plain,
    models: plain.models.map(withFullWindow),
    tools: plain.tools.slice(0, 2),
    builtins: [],
    sources: random.chance(0.3) ? plain.sources : [],
    input: { format: 'text' },
    output: random.chance(0.3) ? plain.output : { format: 'text' },
    limits: {
      ...limits,
      maxOutputTokens: random.int(600, 1_500),
      ...(steps !== undefined && random.chance(0.4) ? { max_steps: steps } : {}),
      ...(timeoutMs !== undefined && random.chance(0.6) ? { timeout_ms: timeoutMs } : {}),
    },
    share: [],
    budget: random.chance(0.3) ? plain.budget : {},
    mail:
      role.mates.length === 0 && random.chance(0.8)
        ? null
        : { tools: ['send_message'], spawns: null, messages: ['parent'], hear: [], say: [] },
    role,
  };
};

const planCoordinator = (plain: AgentPlan, random: Random, members: readonly string[]): AgentPlan => ({
  ...plain,
  models: plain.models.map((model) => ({ ...withFullWindow(model), density: 0.3 })),
  tools: [],
  builtins: [],
  sources: [],
  input: { format: 'text' },
  output: { format: 'text' },
  limits: { maxOutputTokens: 3_000, maxRetries: 2, ...(random.chance(0.2) ? { timeout_ms: 2_000 } : {}) },
  share: [],
  budget: random.chance(0.1) ? plain.budget : {},
  role: {
    as: 'coordinator',
    members,
    plans: random.pick([
      [true, true],
      [true, true],
      [false, true],
      [false, true],
      [false, false],
    ] as const),
  },
});

const planTeamRequest = (random: Random, members: readonly string[], hasCoordinator: boolean): TeamRequestPlan => {
  const isPlanned = hasCoordinator && random.chance(0.45);
  const tasks = isPlanned ? null : drawTasks(random.fork('tasks'), members);
  return {
    tasks,
    answer: hasCoordinator && random.chance(0.6),
    planOnly: isPlanned && random.chance(0.08),
    additions: Array.from({ length: random.chance(0.35) ? random.int(1, 2) : 0 }, (_, index) => ({
      afterMs: random.log(1, 1_500),
      tasks: addedTasks(random.fork(`add ${index}`), members, `x${index}`),
    })),
    messages: Array.from({ length: random.chance(0.45) ? random.int(1, 3) : 0 }, () => ({
      afterMs: random.log(1, 1_500),
      to: random.pick(members),
      what: random.weighted({ member: 12, nobody: 1, team: 1, finish: 0.5 }),
    })),
  };
};

/** Mostly they depend on existing tasks. */
const addedTasks = (random: Random, members: readonly string[], name: string): readonly TaskSpec[] => {
  const known = random.chance(0.9) ? ['t0'] : ['t0', 't9'];
  return drawTasks(random, members, { name, least: 1, most: 2, known: random.chance(0.6) ? known : [] });
};
