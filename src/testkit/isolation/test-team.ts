// A team as it is played: its own rules, its own members with stand-ins for their models, tools, sources and servers.
import type { Agent, AgentOptions, Birth, Limits } from '#contracts';
import { defineTeam, rosterOf } from '#core/orchestration';
import { Rng } from './rng.ts';
import type { GraphCase, TeamFacts } from './graph-case.ts';
import type { GraphVariation } from './team-cell-state.ts';
import type { Subject } from './subject.ts';
import { Team } from './team.ts';
import type { PlayedAgent, StandInHandler } from './team.ts';

export type TestAgents = {
  readonly agent: Agent;
  /** Whoever is born. */
  partOf(birth: Birth, agent: Agent, parent: PlayedAgent | null): PlayedAgent | undefined;
};

export class TestTeam {
  readonly notes: readonly string[];
  readonly ground: TeamFacts;
  readonly #own: Agent;
  readonly #members: readonly Team[];
  readonly #coordinator: Team | null;
  readonly #casts = new Map<number, TestAgents>();

  constructor(subject: Subject, stage: StandInHandler) {
    const { agent } = subject;
    this.#own = agent;
    const { notes: _notes, input, ...rest } = subject;
    const teamOf = (member: Agent): Team => new Team({ ...rest, agent: member }, stage);
    this.#members = rosterOf(agent).map(teamOf);
    this.#coordinator = agent.coordinator === null ? null : teamOf(agent.coordinator.answers);
    const { planMayAskForAll, planTasksMax, planDepthMax } = agent.team!;
    const members = this.#members.map(({ root }) => root.own.name);
    const hasCoordinator = this.#coordinator !== null;
    const goal = typeof input === 'string' ? input : null;
    this.ground = { members, hasCoordinator, planMayAskForAll, planTasksMax, planDepthMax, goal };
    const beside = rosterOf(agent).filter(({ messages }) => (messages ?? []).some(isBeside));
    this.notes = [
      ...new Set([...(subject.notes ?? []), ...this.teams.flatMap(({ notes }) => [...notes])]),
      ...beside.map(
        ({ name }) => `What "${name}" writes to those at work beside it, by its own \`messages\`, is not covered.`,
      ),
    ];
  }

  get teams(): readonly Team[] {
    return [...this.#members, ...(this.#coordinator === null ? [] : [this.#coordinator])];
  }

  get parts(): readonly PlayedAgent[] {
    return this.teams.flatMap(({ parts }) => parts);
  }

  /** The part of the one that is told something else. */
  variedPart({ member, isCoordinator }: GraphVariation): PlayedAgent | null {
    const team = isCoordinator ? this.#coordinator : this.#members.find(({ root }) => root.own.name === member);
    return team?.root ?? null;
  }

  castFor(of: GraphCase, variation: GraphVariation | null): TestAgents {
    const isChanged = variation?.member != null;
    const known = isChanged ? undefined : this.#casts.get(of.parallel);
    if (known !== undefined) return known;
    const cast = this.#make(of, isChanged ? variation : null);
    if (!isChanged) this.#casts.set(of.parallel, cast);
    return cast;
  }

  #make(of: GraphCase, variation: GraphVariation | null): TestAgents {
    const isVaried = (own: Agent, isCoordinator: boolean): boolean =>
      variation !== null && variation.isCoordinator === isCoordinator && variation.member === own.name;
    const play = (team: Team, isCoordinator: boolean): PlayedAgent =>
      team.recast((own, options) => {
        const played = { ...options, ...alone(own), limits: roomy(options.limits) };
        return own === team.root.own && isVaried(own, isCoordinator) ? changed(of, variation!, played) : played;
      });
    const members = this.#members.map((team) => play(team, false));
    const coordinator = this.#coordinator === null ? null : play(this.#coordinator, true);
    const { name, description } = this.#own;
    const { members: _members, coordinator: _coordinator, planTasksMax, planDepthMax, ...rules } = this.#own.team!;
    const agent = defineTeam({
      ...rules,
      name,
      description,
      agents: members.map((part) => part.agent),
      ...(coordinator === null ? {} : { coordinator: coordinator.agent }),
      plan: { tasks: planTasksMax, depth: planDepthMax },
      parallel: of.parallel,
    });
    return {
      agent,
      partOf: ({ task }, one, parent) => {
        if (task?.part === 'task') return members.find((part) => part.agent.name === one.name);
        return task === undefined ? parent?.children.get(one.toolName) : (coordinator ?? undefined);
      },
    };
  }
}

/** Who may write to those at work beside it hears when they are: what one says to another is looked at apart. */
const alone = ({ messages }: Agent): Pick<AgentOptions, 'messages'> =>
  messages === null ? {} : { messages: messages.filter((name) => !isBeside(name)) };

const isBeside = (name: string): boolean => name !== 'parent' && name !== 'children';

/** What only the number of a cell's turns, its window or time could reach is out of reach. */
const roomy = (limits: Limits = {}): Limits => {
  const { contextTokensMax, ...rest } = limits;
  return {
    ...rest,
    timeout_ms: 1e9,
    llmTimeout: 1e9,
    toolTimeout: 1e9,
    maxToolTurns: 1_000,
    max_steps: 1e5,
    max_output_files: 1e5,
    max_output_size_bytes: 1e9,
    ...(contextTokensMax === undefined ? {} : { contextTokensMax: Math.max(contextTokensMax, contextTokensMin) }),
  };
};

const contextTokensMin = 500_000;

const changed = ({ kind }: GraphCase, { salt }: GraphVariation, options: AgentOptions): AgentOptions => {
  const chance = new Rng(`${salt} ${options.name}`);
  const { tools = [], settings = {}, description, prompt } = options;
  if (kind === 'description') return { ...options, description: `${description} ${chance.hex()}` };
  return {
    ...options,
    prompt: `${prompt}\n${chance.words()} ${'and '.repeat(chance.below(20))}`,
    usage: chance.words(),
    settings: { ...settings, temperature: chance.below(10) / 10 },
    tools: chance.percent(50) ? tools.toReversed() : tools,
  };
};
