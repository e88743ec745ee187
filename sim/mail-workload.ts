// Plans agents that spawn agents and exchange messages: who may spawn whom, who may message whom, and messages from outside.
import type { Limits, MailTool, ShareName } from '#contracts';
import type { AgentPlan, MailPlan, ModelPlan, ResidentPlan, RunPlan, SendPlan, SpawnPlan } from './plan.ts';
import type { Random } from './random.ts';
import { frugal } from './scarce-workload.ts';

/** Creates an agent that calls no others. */
export type CreateAgentPlan = (random: Random, name: string) => AgentPlan;

export const withMail = (run: RunPlan, random: Random, createAgent: CreateAgentPlan): RunPlan => {
  const resident = run.turns === 0 && random.chance(0.4) ? planResident(random) : null;
  const budget = random.chance(0.2) ? run.agent.budget : {};
  const agent = addMail({ ...run.agent, budget }, random, { depth: 0, createAgent });
  const ownBudget = random.chance(0.2) ? run.budget : undefined;
  const scarce = random.fork('scarce');
  // Spawned agents then compete with the next request of their parent, as long as it may make one.
  const isScarce = resident === null && scarce.chance(0.25);
  return {
    ...run,
    agent: isScarce ? frugalAgent(agent) : agent,
    budget: isScarce ? { tokens: scarce.log(4_000, 60_000) } : ownBudget,
    cancel: random.chance(0.4) ? run.cancel : null,
    resident,
    // Messages within a conversation would change its history, which other judges check.
    sends: run.turns > 0 ? [] : planSends(random.fork('sends'), resident !== null),
  };
};

/** It and its agents use little of their holds, so that many requests fit one after the other. */
const frugalAgent = (agent: AgentPlan): AgentPlan => ({
  ...agent,
  budget: {},
  models: agent.models.map(frugal),
  mail: agent.mail && {
    ...agent.mail,
    spawns: agent.mail.spawns && frugalSpawns(agent.mail.spawns),
  },
});

const frugalSpawns = (spawns: SpawnPlan): SpawnPlan => ({
  ...spawns,
  agents: spawns.agents.map(frugalAgent),
  template: spawns.template && frugalAgent(spawns.template),
});

const planResident = (random: Random): ResidentPlan => ({
  goal: random.chance(0.6),
  topics: topics.filter(() => random.chance(0.5)),
  finishAfterMs: random.log(100, 20_000),
  listens: random.fork('listens').pick([0, 0, 20, 2_000, null]),
});

const topics: readonly string[] = ['news', 'plans'];

/** Some senders repeat a message many times before anybody can read it. */
const planSends = (random: Random, resident: boolean): readonly SendPlan[] =>
  Array.from({ length: random.chance(resident ? 0.9 : 0.4) ? random.int(1, 4) : 0 }, () => {
    const kind = random.weighted({ plain: 40, twice: 6, flood: 1, big: 0.4 });
    return {
      afterMs: random.log(1, 6_000),
      what: random.weighted({ send: 8, publish: 2, finish: 1, spawn: 3 }),
      to: random.weighted({ root: 4, any: 4, nobody: 0.5 }),
      times: { plain: 1, twice: 2, flood: random.int(98, 125), big: 5 }[kind],
      bytes: kind === 'big' ? random.int(180_000, 250_000) : 0,
    };
  });

type Place = { readonly depth: number; readonly createAgent: CreateAgentPlan };

const depthMax = 2;

const addMail = (plain: AgentPlan, random: Random, place: Place): AgentPlan => {
  const agent: AgentPlan = {
    ...plain,
    // Messages are text, so the input is text too.
    input: { format: 'text' },
    builtins: [],
    sources: random.chance(0.2) ? plain.sources : [],
    agents: random.chance(0.5) ? plain.agents : [],
    gather: null,
    models: plain.models.map((model) => withRoomyWindow(model, random)),
    limits: planLimits(plain.limits, random),
  };
  const spawns = random.chance([0.95, 0.6, 0.2][place.depth]!) ? planSpawns(agent, random.fork('spawns'), place) : null;
  const mail: MailPlan = {
    tools: [...(spawns === null ? [] : (['spawn_agent'] as const)), ...tools.filter(() => random.chance(0.85))],
    spawns,
    messages: random.pick(place.depth === 0 ? rootMessages : childMessages),
    hear: topics.filter(() => random.chance(0.85)),
    say: topics.filter(() => random.chance(0.85)),
  };
  return { ...agent, mail };
};

/** The mail tools alone would fill a small window. */
const withRoomyWindow = (model: ModelPlan, random: Random): ModelPlan => ({
  ...model,
  contextTokens: random.chance(0.1) ? model.contextTokens : undefined,
  maxOutputTokens: undefined,
});

/** Enough room for messages, and sometimes a low limit on loops. */
const planLimits = (plain: Limits, random: Random): Limits => ({
  ...(random.chance(0.2) ? plain : {}),
  maxToolTurns: random.int(3, 6),
  maxOutputTokens: random.int(600, 1_500),
  parallelToolCalls: random.int(1, 4),
  ...(random.chance(0.15) ? { maxHops: random.int(1, 4) - 1 } : {}),
  ...(random.chance(0.1) ? { answersPerMinute: random.int(1, 3) } : {}),
});

const tools: readonly MailTool[] = [
  'send_message',
  'receive_message',
  'subscribe',
  'publish',
  'receive_broadcast',
  'list_spawned_agents',
  'shutdown_agent',
];

const rootMessages: readonly (readonly string[])[] = [['children'], ['parent', 'children'], ['children', 'siblings']];
const childMessages: readonly (readonly string[])[] = [
  ['parent', 'children'],
  ['parent', 'children', 'siblings'],
  ['parent', 'children', 'siblings'],
  ['parent', 'siblings'],
  ['siblings', 'children'],
];

const planSpawns = (agent: AgentPlan, random: Random, { depth, createAgent }: Place): SpawnPlan => {
  const count = depth >= depthMax ? 0 : random.int(depth === 0 ? 1 : 0, 2);
  const agents = Array.from({ length: count }, (_, index) => {
    const own = random.fork(`spawned ${index}`);
    return addMail(createAgent(own.fork('agent'), `${agent.name}_${'pq'[index]}`), own, {
      depth: depth + 1,
      createAgent,
    });
  });
  return {
    agents,
    self: agents.length === 0 || random.chance(0.3),
    children: random.int(1, 4),
    perMinute: random.int(1, 6),
    depth: random.int(1, 3),
    share: random.chance(0.3) ? random.pick(shares) : [],
    template: random.chance(0.2) ? templateOf(agent, random) : null,
    graceMs: random.log(10, 4_000),
    onEnd: random.chance(0.25) ? 'stop' : 'wait',
    waitMs: random.chance(0.7) ? 600_000 : random.log(10, 20_000),
  };
};

const shares: readonly (readonly ShareName[])[] = [['system'], ['context'], ['system', 'context']];

/** What the runtime makes of an inline definition: no more rights than the agent that defines it. */
const templateOf = (agent: AgentPlan, random: Random): AgentPlan => ({
  ...agent,
  name: `${agent.name}_t`,
  prompt: `You help with ${random.hex()}.`,
  tools: agent.tools.slice(0, 1),
  builtins: [],
  sources: [],
  agents: [],
  gather: null,
  input: { format: 'text' },
  output: { format: 'text' },
  share: [],
  grants: (['goal', 'result', 'note'] as const).filter((grant) => agent.grants.includes(grant)),
  mail: { tools: [], spawns: null, messages: ['parent'], hear: [], say: [] },
});
