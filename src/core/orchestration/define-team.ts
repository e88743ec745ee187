// Defines a team in code: validated, completed, frozen. To the runtime it is an agent whose session works through a task graph.
import { CloisterError, deepFreeze, isName, isObject } from '#base';
import type { Agent, TeamOptions, TeamRules } from '#contracts';
import { checkKeys, describeGot, expectationText } from './check-keys.ts';
import type { RejectField } from './check-keys.ts';
import { checkNumbers } from './check-agent.ts';
import { buildAgent, completeDefinition, withReadOutput } from './define-agent.ts';
import type { OperatorSettings } from './define-agent.ts';
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

export const defineTeam = (options: TeamOptions): Agent => buildTeam(options, null);

/** `file`: the path of the team file; null for a team defined in code. */
export const buildTeam = (options: TeamOptions, file: string | null, operator?: OperatorSettings): Agent => {
  checkTeamOptions(options);
  const rules = toTeamRules(options);
  const { name, description = `The team ${name}.`, agents, coordinator, budget } = options;
  const plain = { name, description, prompt: '', ...(budget === undefined ? {} : { budget }) };
  const base = buildAgent(plain, file, operator);
  const pair = coordinator === undefined ? null : buildCoordinator(coordinator, rules);
  const team = deepFreeze({
    ...rules,
    ...(pair === null ? {} : { coordinator: { plans: pair.plans.digest, answers: pair.answers.digest } }),
  });
  return completeDefinition({
    ...base,
    team,
    // Each member also exists with `read_output`, for tasks whose results may be too long to show.
    // probe: team-members
    members: Object.freeze(agents.flatMap((agent) => [...new Set([agent, withReadOutput(agent)])])),
    coordinator: pair,
    // The team receives its members' messages to each other, and tasks that are added while it works.
    messages: Object.freeze(['children']),
  });
};

const toTeamRules = (options: TeamOptions): TeamRules => {
  const { agents, parallel = 4, capacity = {}, memoryScope = 'dependencies', planMayAskForAll = false } = options;
  const { plan = {}, retries = 0, backOffMs = 1_000, messages = false } = options;
  const names = agents.map(({ name }) => name);
  const everyoneToEveryone = (): TeamRules['messages'] =>
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
    messages: messages === true ? everyoneToEveryone() : messages === false ? {} : structuredClone(messages),
  };
};

const [planTasksDefault, planDepthDefault] = [200, 20];

/** The agents that plan and answer have no tools, no sub-agents and no mail. */
const buildCoordinator = (agent: Agent, rules: TeamRules): NonNullable<Agent['coordinator']> => {
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
    answers: completeDefinition({ ...bare, canReadOutput: true }),
  });
};

type Roster = { readonly plain: ReadonlyMap<string, Agent>; readonly reading: ReadonlyMap<string, Agent> };

const rosters = new WeakMap<Agent, Roster>();

/** A member, with or without `read_output`. */
export const teamMember = (team: Agent, name: string, canReadOutput: boolean): Agent | undefined => {
  let roster = rosters.get(team);
  if (roster === undefined) {
    const named = team.members.map((member) => [member.name, member] as const);
    roster = { plain: new Map(named.toReversed()), reading: new Map(named) };
    rosters.set(team, roster);
  }
  return (canReadOutput ? roster.reading : roster.plain).get(name);
};

/** Each member once, in the order of the definition. */
export const teamRoster = ({ members }: Agent): readonly Agent[] =>
  members.filter((member, index) => members.findIndex(({ name }) => name === member.name) === index);

export const checkTeamOptions = (options: TeamOptions): void => {
  if (!isObject(options)) throw new CloisterError('team_invalid', 'defineTeam takes an object.');
  const team = typeof options.name === 'string' ? options.name.slice(0, 80) : '?';
  const reject: RejectField = (field, expected) => {
    throw new CloisterError('team_invalid', expectationText(`Team ${JSON.stringify(team)}, ${field}`, expected));
  };
  checkKeys(options, keys, '', reject);
  if (typeof options.name !== 'string' || !isName(options.name) || options.name === 'person')
    reject('name', 'letters, digits, dot, dash and underscore, at most 64 characters');
  const { description } = options;
  if (description !== undefined && (typeof description !== 'string' || description.trim() === ''))
    reject('description', 'a sentence that says what the team does');
  checkMembers(options, reject);
  checkNumbers(options.budget, ['tokens', 'usd', 'spawns', 'memory', 'ms'], 'budget', reject);
  checkPolicy(options, reject);
};

const checkMembers = ({ name, agents, coordinator }: TeamOptions, reject: RejectField): void => {
  if (!Array.isArray(agents) || agents.length === 0) return reject('agents', 'at least one agent');
  for (const agent of [...agents, ...(coordinator === undefined ? [] : [coordinator])] as readonly Agent[]) {
    if (typeof agent?.digest !== 'string') reject('agents', 'agents created with defineAgent');
    if (agent.team !== null) reject('agents', `agents; "${agent.name}" is a team`);
    if (agent.input.format !== 'text') reject('agents', `agents with text input; "${agent.name}" takes JSON`);
  }
  const names = (agents as readonly Agent[]).map((agent) => agent.name);
  const duplicate = names.find((one, index) => names.indexOf(one) !== index);
  if (duplicate !== undefined) reject('agents', `unique agent names; "${duplicate}" is used twice`);
  if (names.includes(name)) reject('name', `another name: "${name}" is one of its agents`);
};

const checkPolicy = (options: TeamOptions, reject: RejectField): void => {
  const { parallel, capacity = {}, plan = {}, retries, backOffMs, memoryScope, planMayAskForAll, messages } = options;
  const names = options.agents.map(({ name }) => name);
  const whole = (field: string, value: unknown, [min, max]: readonly [number, number]): void => {
    if (value !== undefined && !(Number.isInteger(value) && (value as number) >= min && (value as number) <= max))
      reject(field, `a whole number from ${min} to ${max}; ${describeGot(value)}`);
  };
  whole('parallel', parallel, [1, 10_000]);
  if (!isObject(capacity)) reject('capacity', 'an object with a number for each member named');
  checkKeys(capacity, names, 'capacity.', reject);
  for (const [name, value] of Object.entries(capacity)) whole(`capacity.${name}`, value, [1, 10_000]);
  if (!isObject(plan)) reject('plan', 'an object with `tasks` and `depth`');
  checkKeys(plan, ['tasks', 'depth'], 'plan.', reject);
  whole('plan.tasks', plan.tasks, [1, 100_000]);
  whole('plan.depth', plan.depth, [1, 100_000]);
  whole('retries', retries, [0, 10]);
  whole('backOffMs', backOffMs, [0, 3_600_000]);
  if (memoryScope !== undefined && memoryScope !== 'dependencies' && memoryScope !== 'all')
    reject('memoryScope', `dependencies or all; ${describeGot(memoryScope)}`);
  if (planMayAskForAll !== undefined && typeof planMayAskForAll !== 'boolean')
    reject('planMayAskForAll', 'true or false');
  if (messages === undefined || typeof messages === 'boolean') return;
  if (!isObject(messages)) reject('messages', 'true, false, or for each sender a list of recipients');
  checkKeys(messages, names, 'messages.', reject);
  for (const [name, others] of Object.entries(messages)) {
    if (!Array.isArray(others)) reject(`messages.${name}`, 'a list of members');
    for (const other of others)
      if (!names.includes(other)) reject(`messages.${name}`, `names of members; ${describeGot(other)}`);
  }
};
