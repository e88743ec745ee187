// A team in code: validated, completed, frozen. To the runtime it is an agent whose session is a graph of tasks.
import { CloisterError, deepFreeze, isName, isObject } from '#base';
import type { Agent, TeamOptions, TeamRules } from '#contracts';
import { checkKeys, describeGot } from './check-keys.ts';
import type { RejectField } from './check-keys.ts';
import { checkNumbers } from './check-agent.ts';
import { completeDefinition, defineAgent, withReadOutput } from './define-agent.ts';
import { planFormat } from './coordinator-prompts.ts';

const keys = [
  'name',
  'description',
  'agents',
  'coordinator',
  'parallel',
  'capacity',
  'memoryScope',
  'planMayAskForAll',
  'plan',
  'retries',
  'backOffMs',
  'messages',
  'budget',
] as const satisfies readonly (keyof TeamOptions)[];

export const defineTeam = (options: TeamOptions): Agent => teamFrom(options, null);

/** The same, of what a file says. */
export const teamFrom = (options: TeamOptions, file: string | null): Agent => {
  checkTeamOptions(options);
  const rules = rulesOf(options);
  const { name, description = `The team ${name}.`, agents, coordinator, budget } = options;
  const base = defineAgent({ name, description, prompt: '', ...(budget === undefined ? {} : { budget }) });
  const pair = coordinator === undefined ? null : coordinatorOf(coordinator, rules);
  const team = deepFreeze({
    ...rules,
    ...(pair === null ? {} : { coordinator: { plans: pair.plans.digest, answers: pair.answers.digest } }),
  });
  return completeDefinition({
    ...base,
    file,
    team,
    // Who may be handed results that are too long to show can read on in them.
    // probe: team-members
    members: Object.freeze(agents.flatMap((agent) => [...new Set([agent, withReadOutput(agent)])])),
    coordinator: pair,
    // It takes what its members write to each other, and tasks that are added while it works.
    messages: Object.freeze(['children']),
  });
};

const rulesOf = (options: TeamOptions): TeamRules => {
  const { agents, parallel = 4, capacity = {}, memoryScope = 'dependencies', planMayAskForAll = false } = options;
  const { plan = {}, retries = 0, backOffMs = 1_000, messages = false } = options;
  const names = agents.map(({ name }) => name);
  const toAll = (): TeamRules['messages'] =>
    Object.fromEntries(names.map((name) => [name, names.filter((other) => other !== name)]));
  return {
    members: Object.fromEntries(agents.map(({ name, digest }) => [name, digest])),
    parallel,
    capacity: { ...capacity },
    memoryScope,
    planMayAskForAll,
    planTasksMax: plan.tasks ?? planTasksDefault,
    planDepthMax: plan.depth ?? planDepthDefault,
    retries,
    backOffMs,
    messages: messages === true ? toAll() : messages === false ? {} : structuredClone(messages),
  };
};

const [planTasksDefault, planDepthDefault] = [200, 20];

/** Who plans and who answers are given words, and nothing to do anything with. */
const coordinatorOf = (agent: Agent, rules: TeamRules): NonNullable<Agent['coordinator']> => {
  const bare = {
    ...agent,
    tools: [],
    builtins: [],
    sources: [],
    servers: [],
    agents: [],
    gather: null,
    agentsAtOnce: null,
    spawns: null,
    spawnable: [],
    messages: null,
    topics: { hear: [], say: [] },
    share: [],
  };
  return Object.freeze({
    plans: completeDefinition({ ...bare, output: planFormat(rules) }),
    answers: completeDefinition({ ...bare, readsOn: true }),
  });
};

type Known = { readonly plain: ReadonlyMap<string, Agent>; readonly reading: ReadonlyMap<string, Agent> };

const rosters = new WeakMap<Agent, Known>();

/** A member with or without the means to read on. */
export const teamMember = (team: Agent, name: string, reads: boolean): Agent | undefined => {
  let known = rosters.get(team);
  if (known === undefined) {
    const named = team.members.map((member) => [member.name, member] as const);
    known = { plain: new Map(named.toReversed()), reading: new Map(named) };
    rosters.set(team, known);
  }
  return (reads ? known.reading : known.plain).get(name);
};

/** Each once, in the order of the roster. */
export const rosterOf = ({ members }: Agent): readonly Agent[] =>
  members.filter((member, index) => members.findIndex(({ name }) => name === member.name) === index);

export const checkTeamOptions = (options: TeamOptions): void => {
  if (!isObject(options)) throw new CloisterError('team_invalid', 'defineTeam takes an object.');
  const team = typeof options.name === 'string' ? options.name.slice(0, 80) : '?';
  const wrong: RejectField = (field, expected) => {
    throw new CloisterError('team_invalid', `Team ${JSON.stringify(team)}, ${field}: expected ${expected}.`);
  };
  checkKeys(options, keys, '', wrong);
  if (typeof options.name !== 'string' || !isName(options.name) || options.name === 'person')
    wrong('name', 'letters, digits, dot, dash and underscore, at most 64 characters');
  const { description } = options;
  if (description !== undefined && (typeof description !== 'string' || description.trim() === ''))
    wrong('description', 'a sentence that says what it does');
  checkMembers(options, wrong);
  checkNumbers(options.budget, ['tokens', 'usd', 'spawns', 'memory', 'ms'], 'budget', wrong);
  checkPolicy(options, wrong);
};

const checkMembers = ({ name, agents, coordinator }: TeamOptions, wrong: RejectField): void => {
  if (!Array.isArray(agents) || agents.length === 0) return wrong('agents', 'at least one agent');
  for (const agent of [...agents, ...(coordinator === undefined ? [] : [coordinator])] as readonly Agent[]) {
    if (typeof agent?.digest !== 'string') wrong('agents', 'agents made by defineAgent');
    if (agent.team !== null) wrong('agents', `agents; "${agent.name}" is a team`);
    if (agent.input.format !== 'text') wrong('agents', `agents that take text; "${agent.name}" takes JSON`);
  }
  const names = (agents as readonly Agent[]).map((agent) => agent.name);
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  if (twice !== undefined) wrong('agents', `one agent per name; "${twice}" is there twice`);
  if (names.includes(name)) wrong('name', `another name: "${name}" is one of its agents`);
};

const checkPolicy = (options: TeamOptions, wrong: RejectField): void => {
  const { parallel, capacity = {}, plan = {}, retries, backOffMs, memoryScope, planMayAskForAll, messages } = options;
  const names = options.agents.map(({ name }) => name);
  const whole = (field: string, value: unknown, [min, max]: readonly [number, number]): void => {
    if (value !== undefined && !(Number.isInteger(value) && (value as number) >= min && (value as number) <= max))
      wrong(field, `a whole number from ${min} to ${max}; ${describeGot(value)}`);
  };
  whole('parallel', parallel, [1, 10_000]);
  if (!isObject(capacity)) wrong('capacity', 'a number for each of some members');
  checkKeys(capacity, names, 'capacity.', wrong);
  for (const [name, value] of Object.entries(capacity)) whole(`capacity.${name}`, value, [1, 10_000]);
  if (!isObject(plan)) wrong('plan', 'an object with `tasks` and `depth`');
  checkKeys(plan, ['tasks', 'depth'], 'plan.', wrong);
  whole('plan.tasks', plan.tasks, [1, 100_000]);
  whole('plan.depth', plan.depth, [1, 100_000]);
  whole('retries', retries, [0, 10]);
  whole('backOffMs', backOffMs, [0, 3_600_000]);
  if (memoryScope !== undefined && memoryScope !== 'dependencies' && memoryScope !== 'all')
    wrong('memoryScope', `dependencies or all; ${describeGot(memoryScope)}`);
  if (planMayAskForAll !== undefined && typeof planMayAskForAll !== 'boolean')
    wrong('planMayAskForAll', 'true or false');
  if (messages === undefined || typeof messages === 'boolean') return;
  if (!isObject(messages)) wrong('messages', 'true, false, or for each of some members a list of others');
  checkKeys(messages, names, 'messages.', wrong);
  for (const [name, others] of Object.entries(messages)) {
    if (!Array.isArray(others)) wrong(`messages.${name}`, 'a list of members');
    for (const other of others) if (!names.includes(other)) wrong(`messages.${name}`, `members; ${describeGot(other)}`);
  }
};
