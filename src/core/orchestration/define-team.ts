// Defines a team in code: validated, completed, frozen. To the runtime it is an agent whose session works through a task graph.
import { CloisterError, deepFreeze, isObject } from '#base';
import { checkShape, listOf, object, oneOf, whole } from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { Agent, AgentTeam, TeamOptions, TeamRules } from '#contracts';
import { buildAgent, completeDefinition, withReadOutput } from './define-agent.ts';
import type { OperatorSettings } from './define-agent.ts';
import { planFormat } from './coordinator-prompts.ts';
import { teamOptionsShape } from './option-shapes.ts';
import type { RejectField } from './option-shapes.ts';

/**
 * Defines a team: an agent whose run works through a graph of tasks. Throws a CloisterError (`team_invalid`) that names the
 * option.
 */
export const defineTeam = (options: TeamOptions): Agent => buildTeam(options, null);

/** `file`: the path of the team file; null for a team defined in code. */
export const buildTeam = (options: TeamOptions, file: string | null, operator?: OperatorSettings): Agent => {
  checkTeamOptions(options);
  const rules = toTeamRules(options);
  const { name, description = `The team ${name}.`, agents, coordinator, budget } = options;
  const plain = { name, description, prompt: '', ...(budget === undefined ? {} : { budget }) };
  const base = buildAgent(plain, file, operator);
  const pair = coordinator === undefined ? null : buildCoordinator(coordinator, rules);
  return completeDefinition({
    ...base,
    team: {
      rules: deepFreeze({
        ...rules,
        ...(pair === null ? {} : { coordinator: { plans: pair.plans.digest, answers: pair.answers.digest } }),
      }),
      // Each member also exists with `read_output`, for tasks whose results may be too long to show.
      // probe: team-members
      members: Object.freeze(agents.flatMap((agent) => [...new Set([agent, withReadOutput(agent)])])),
      coordinator: pair,
    },
    // The team receives its members' messages to each other, and tasks that are added while it works.
    permissions: { ...base.permissions, messages: Object.freeze(['children']) },
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

/** The agents that plan and answer have no tools, no sub-agents and no mail, and ask nobody. */
const buildCoordinator = (agent: Agent, rules: TeamRules): NonNullable<AgentTeam['coordinator']> => {
  const { signature, children, permissions } = agent;
  const resources = { ...agent.resources, tools: [], builtins: [], sources: [], servers: [], skills: [] };
  const bare = {
    ...agent,
    resources,
    children: { ...children, agents: [], gather: null, agentsAtOnce: null, spawns: null, spawnable: [] },
    permissions: { ...permissions, messages: null, topics: { hear: [], say: [] }, share: [], asks: false },
  };
  return Object.freeze({
    plans: completeDefinition({ ...bare, signature: { ...signature, output: planFormat(rules) } }),
    answers: completeDefinition({ ...bare, resources: { ...resources, canReadOutput: true } }),
  });
};

type Roster = { readonly plain: ReadonlyMap<string, Agent>; readonly reading: ReadonlyMap<string, Agent> };

const rosters = new WeakMap<Agent, Roster>();

/** A member, with or without `read_output`. */
export const teamMember = (team: Agent, name: string, canReadOutput: boolean): Agent | undefined => {
  let roster = rosters.get(team);
  if (roster === undefined) {
    const named = team.team!.members.map((member) => [member.name, member] as const);
    roster = { plain: new Map(named.toReversed()), reading: new Map(named) };
    rosters.set(team, roster);
  }
  return (canReadOutput ? roster.reading : roster.plain).get(name);
};

/** Each member once, in the order of the definition. */
export const teamRoster = ({ members }: AgentTeam): readonly Agent[] =>
  members.filter((member, index) => members.findIndex(({ name }) => name === member.name) === index);

const checkTeamOptions = (options: TeamOptions): void => {
  if (!isObject(options)) throw new CloisterError('team_invalid', 'defineTeam takes an object.');
  const team = typeof options.name === 'string' ? options.name.slice(0, 80) : '?';
  const say = (text: string): CloisterError =>
    new CloisterError('team_invalid', `Team ${JSON.stringify(team)}, ${text}`);
  checkShape(teamOptionsShape, options, say);
  if (options.name === 'person') throw say(`name: expected another name: "person" is reserved for the user.`);
  checkMembers(options, (field, expected) => {
    throw say(`${field}: expected ${expected}.`);
  });
  checkShape(
    memberNamesShape(options.agents.map(({ name }) => name)),
    { capacity: options.capacity, messages: typeof options.messages === 'boolean' ? undefined : options.messages },
    say,
  );
};

const checkMembers = ({ name, agents, coordinator }: TeamOptions, reject: RejectField): void => {
  for (const agent of [...agents, ...(coordinator === undefined ? [] : [coordinator])]) {
    if (agent.team !== null) reject('agents', `agents; "${agent.name}" is a team`);
    if (agent.signature.input.format !== 'text') reject('agents', `agents with text input; "${agent.name}" takes JSON`);
  }
  const names = agents.map((agent) => agent.name);
  const duplicate = names.find((one, index) => names.indexOf(one) !== index);
  if (duplicate !== undefined) reject('agents', `unique agent names; "${duplicate}" is used twice`);
  if (names.includes(name)) reject('name', `another name: "${name}" is one of its agents`);
};

/** Where options name members, they name those that exist. */
const memberNamesShape = (names: readonly string[]): Shape => {
  const forEach = (shape: Shape): Shape => object({}, Object.fromEntries(names.map((name) => [name, shape])));
  return object({}, { capacity: forEach(whole()), messages: forEach(listOf(oneOf(...names))) });
};
