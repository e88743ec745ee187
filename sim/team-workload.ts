// A team that works through a graph of tasks: who is in it, what is asked of it, and what people tell it meanwhile.
import type { TaskSpec } from '#contracts';
import { drawTasks } from './draw-tasks.ts';
import type { Grow } from './mail-workload.ts';
import type { AgentPlan, KeepingPlan, ModelPlan, RolePlan, RunPlan, TeamAsk, TeamPlan } from './plan.ts';
import type { Random } from './random.ts';

export const withTeam = (run: RunPlan, random: Random, grow: Grow): RunPlan =>
  random.fork('below').chance(belowIn) ? withTeamBelow(run, random, grow) : asTeam(run, random, grow);

/** In how many of them an agent calls a team like any other agent. */
const belowIn = 0.15;

const withTeamBelow = (run: RunPlan, random: Random, grow: Grow): RunPlan => {
  const name = `${run.agent.name}_team`;
  const team = planTeam(random.fork('members'), name, grow, true);
  return {
    ...run,
    agent: {
      ...run.agent,
      tools: run.agent.tools.slice(0, 1),
      sources: [],
      agents: [{ ...run.agent, ...bare, name, budget: {}, team }],
      gather: random.chance(0.3) ? { timeoutMs: random.log(200, 20_000) } : null,
      models: run.agent.models.map(roomy),
      budget: {},
    },
    budget: undefined,
    cancel: random.chance(0.35) ? run.cancel : null,
  };
};

const asTeam = (run: RunPlan, random: Random, grow: Grow): RunPlan => {
  const team = planTeam(random.fork('members'), run.agent.name, grow);
  const names = team.members.map(({ name }) => name);
  return {
    ...run,
    agent: {
      ...run.agent,
      ...bare,
      budget: random.chance(0.1) ? run.agent.budget : {},
      team,
    },
    budget: hurried(random.chance(0.35) ? run.budget : undefined, random.fork('hurry')),
    cancel: random.chance(0.35) ? run.cancel : null,
    context: [],
    gives: random.chance(0.2) ? run.gives : [],
    team: planAsk(random.fork('ask'), names, team.coordinator !== null),
  };
};

/** Some have little time. */
const hurried = (budget: RunPlan['budget'], random: Random): RunPlan['budget'] =>
  random.chance(0.12) ? { ...budget, ms: random.log(30, 3_000) } : budget;

/** A team has no model, no tools and no words of its own. */
const bare = {
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

/** Some of its work is gone back to; nobody talks with it. */
export const keepingOfTeams = (random: Random): readonly KeepingPlan[] =>
  Array.from({ length: random.chance(0.2) ? random.int(2, 4) : 0 }, (_, index) => ({
    afterMs: random.log(5, index === 0 ? 500 : 4_000),
    what: index === 0 ? 'checkpoint' : random.weighted({ checkpoint: 2, restore: 5, branch: 3 }),
    twice: random.chance(0.3),
  }));

const planTeam = (random: Random, name: string, grow: Grow, plans = false): TeamPlan => {
  const count = random.pick([1, 2, 2, 2, 3, 3]);
  const names = Array.from({ length: count }, (_, index) => `${name}_${'abc'[index]}`);
  const messages = random.weighted({ all: 3, none: 1, some: 1 });
  const mates = (one: string): readonly string[] =>
    messages === 'none' ? [] : names.filter((other) => other !== one && (messages === 'all' || other > one));
  const member = (one: string): AgentPlan =>
    planMember(grow(random.fork(one), one), random, { as: 'member', mates: mates(one) });
  return {
    members: names.map(member),
    coordinator:
      random.chance(0.6) || plans ? planCoordinator(grow(random.fork('lead'), `${name}_lead`), random, names) : null,
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

/** What they are shown fits: what gives way in a small window is for others. */
const roomy = (model: ModelPlan): ModelPlan => ({ ...model, contextTokens: undefined, maxOutputTokens: undefined });

const planMember = (plain: AgentPlan, random: Random, role: RolePlan & { readonly as: 'member' }): AgentPlan => {
  const { contextTokensMax: _window, max_steps: steps, timeout_ms: timeoutMs, ...limits } = plain.limits;
  return {
    ...plain,
    models: plain.models.map(roomy),
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
  models: plain.models.map((model) => ({ ...roomy(model), density: 0.3 })),
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

const planAsk = (random: Random, members: readonly string[], coordinates: boolean): TeamAsk => {
  const isPlanned = coordinates && random.chance(0.45);
  const tasks = isPlanned ? null : drawTasks(random.fork('tasks'), members);
  return {
    tasks,
    answer: coordinates && random.chance(0.6),
    planOnly: isPlanned && random.chance(0.08),
    adds: Array.from({ length: random.chance(0.35) ? random.int(1, 2) : 0 }, (_, index) => ({
      afterMs: random.log(1, 1_500),
      tasks: addedTasks(random.fork(`add ${index}`), members, `x${index}`),
    })),
    words: Array.from({ length: random.chance(0.45) ? random.int(1, 3) : 0 }, () => ({
      afterMs: random.log(1, 1_500),
      to: random.pick(members),
      what: random.weighted({ member: 12, nobody: 1, team: 1, finish: 0.5 }),
    })),
  };
};

/** They depend on tasks that are there, mostly. */
const addedTasks = (random: Random, members: readonly string[], name: string): readonly TaskSpec[] => {
  const known = random.chance(0.9) ? ['t0'] : ['t0', 't9'];
  return drawTasks(random, members, { name, least: 1, most: 2, known: random.chance(0.6) ? known : [] });
};
