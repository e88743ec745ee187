// A team that starts agents while it works, and talks by mail: who may start whom, who may write to whom, who writes from outside.
import type { Limits, MailTool, ShareName } from '#contracts';
import type { AgentPlan, MailPlan, ModelPlan, ResidentPlan, RunPlan, SendPlan, SpawnPlan } from './plan.ts';
import type { Random } from './random.ts';

/** Makes an agent that calls no others. */
export type Grow = (random: Random, name: string) => AgentPlan;

export const withMail = (run: RunPlan, random: Random, grow: Grow): RunPlan => {
  const resident = run.turns === 0 && random.chance(0.4) ? planResident(random) : null;
  const budget = random.chance(0.2) ? run.agent.budget : {};
  return {
    ...run,
    agent: talkative({ ...run.agent, budget }, random, { depth: 0, grow }),
    budget: random.chance(0.2) ? run.budget : undefined,
    cancel: random.chance(0.4) ? run.cancel : null,
    resident,
    // What is said in a conversation is for other judges.
    sends: run.turns > 0 ? [] : planSends(random.fork('sends'), resident !== null),
  };
};

const planResident = (random: Random): ResidentPlan => ({
  goal: random.chance(0.6),
  topics: topics.filter(() => random.chance(0.5)),
  finishAfterMs: random.log(100, 20_000),
});

const topics: readonly string[] = ['news', 'plans'];

/** Some write again and again before anybody can have read it. */
const planSends = (random: Random, resident: boolean): readonly SendPlan[] =>
  Array.from({ length: random.chance(resident ? 0.9 : 0.4) ? random.int(1, 4) : 0 }, () => {
    const kind = random.weighted({ plain: 40, twice: 6, flood: 1, big: 0.4 });
    return {
      afterMs: random.log(1, 6_000),
      what: random.weighted({ send: 8, publish: 2, finish: 1 }),
      to: random.weighted({ root: 4, any: 4, nobody: 0.5 }),
      times: { plain: 1, twice: 2, flood: random.int(98, 125), big: 5 }[kind],
      bytes: kind === 'big' ? random.int(180_000, 250_000) : 0,
    };
  });

type Place = { readonly depth: number; readonly grow: Grow };

const depthMost = 2;

const talkative = (plain: AgentPlan, random: Random, place: Place): AgentPlan => {
  const agent: AgentPlan = {
    ...plain,
    // Its mail is text, whatever its callers are asked for.
    input: { format: 'text' },
    builtins: [],
    sources: random.chance(0.2) ? plain.sources : [],
    agents: random.chance(0.5) ? plain.agents : [],
    gather: null,
    models: plain.models.map((model) => roomy(model, random)),
    limits: planLimits(plain.limits, random),
  };
  const spawns = random.chance([0.95, 0.6, 0.2][place.depth]!) ? planSpawns(agent, random.fork('spawns'), place) : null;
  const mail: MailPlan = {
    tools: [...(spawns === null ? [] : (['spawn_agent'] as const)), ...tools.filter(() => random.chance(0.85))],
    spawns,
    messages: random.pick(place.depth === 0 ? fromRoot : below),
    hear: topics.filter(() => random.chance(0.85)),
    say: topics.filter(() => random.chance(0.85)),
  };
  return { ...agent, mail };
};

/** The tools for mail alone fill a small window. */
const roomy = (model: ModelPlan, random: Random): ModelPlan => ({
  ...model,
  contextTokens: random.chance(0.1) ? model.contextTokens : undefined,
  maxOutputTokens: undefined,
});

/** Room to say something, and now and then a short way to a loop. */
const planLimits = (plain: Limits, random: Random): Limits => ({
  ...(random.chance(0.2) ? plain : {}),
  maxToolTurns: random.int(3, 6),
  maxOutputTokens: random.int(600, 1_500),
  parallelToolCalls: random.int(1, 4),
  ...(random.chance(0.15) ? { maxHops: random.int(1, 4) } : {}),
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

const fromRoot: readonly (readonly string[])[] = [['children'], ['parent', 'children'], ['children', 'siblings']];
const below: readonly (readonly string[])[] = [
  ['parent', 'children'],
  ['parent', 'children', 'siblings'],
  ['parent', 'children', 'siblings'],
  ['parent', 'siblings'],
  ['siblings', 'children'],
];

const planSpawns = (agent: AgentPlan, random: Random, { depth, grow }: Place): SpawnPlan => {
  const count = depth >= depthMost ? 0 : random.int(depth === 0 ? 1 : 0, 2);
  const agents = Array.from({ length: count }, (_, index) => {
    const own = random.fork(`spawned ${index}`);
    return talkative(grow(own.fork('agent'), `${agent.name}_${'pq'[index]}`), own, { depth: depth + 1, grow });
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
  };
};

const shares: readonly (readonly ShareName[])[] = [['system'], ['context'], ['system', 'context']];

/** What the runtime makes of a description in a call: no more than the one who describes it. */
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
