// A team under test: its own rules and members, with stand-ins for their models, tools, sources and servers.
import type { Agent, AgentOptions, Birth } from '#contracts';
import { defineTeam, teamRoster } from '#core/orchestration';
import { changeInstructions, liftLimits } from './change-agent.ts';
import { Rng } from './rng.ts';
import type { GraphCase, GraphVariation, TeamFacts } from './graph-case.ts';
import type { Subject } from './subject.ts';
import { AgentTree } from './agent-tree.ts';
import type { TestAgent, StandInHandler } from './agent-tree.ts';

export type PreparedTeam = {
  readonly agent: Agent;
  /** Finds the test agent of a new cell. */
  findAgent(birth: Birth, agent: Agent, parent: TestAgent | null): TestAgent | undefined;
};

export class TestTeam {
  readonly notes: readonly string[];
  readonly facts: TeamFacts;
  readonly #own: Agent;
  readonly #members: readonly AgentTree[];
  readonly #coordinator: AgentTree | null;
  readonly #prepared = new Map<number, PreparedTeam>();

  constructor(subject: Subject, stage: StandInHandler) {
    const { agent } = subject;
    this.#own = agent;
    const { notes: _notes, input, ...rest } = subject;
    const teamOf = (member: Agent): AgentTree => new AgentTree({ ...rest, agent: member }, stage);
    const { rules, coordinator } = agent.team!;
    this.#members = teamRoster(agent.team!).map(teamOf);
    this.#coordinator = coordinator === null ? null : teamOf(coordinator.answers);
    const { planMayAskForAll, planTasksMax, planDepthMax } = rules;
    const members = this.#members.map(({ root }) => root.own.name);
    const hasCoordinator = this.#coordinator !== null;
    const goal = typeof input === 'string' ? input : null;
    this.facts = { members, hasCoordinator, planMayAskForAll, planTasksMax, planDepthMax, goal };
    const beside = teamRoster(agent.team!).filter(({ permissions: { messages } }) => (messages ?? []).some(isPeer));
    this.notes = [
      ...new Set([...(subject.notes ?? []), ...this.trees.flatMap(({ notes }) => [...notes])]),
      ...beside.map(
        ({ name }) =>
          `Messages from "${name}" to agents at work beside it, which its own \`messages\` allows, are not covered.`,
      ),
    ];
  }

  get trees(): readonly AgentTree[] {
    return [...this.#members, ...(this.#coordinator === null ? [] : [this.#coordinator])];
  }

  get testAgents(): readonly TestAgent[] {
    return this.trees.flatMap(({ all }) => all);
  }

  /** The test agent whose instructions vary. */
  variedAgent({ member, isCoordinator }: GraphVariation): TestAgent | null {
    const team = isCoordinator ? this.#coordinator : this.#members.find(({ root }) => root.own.name === member);
    return team?.root ?? null;
  }

  prepare(graph: GraphCase, variation: GraphVariation | null): PreparedTeam {
    const isChanged = variation?.member != null;
    const known = isChanged ? undefined : this.#prepared.get(graph.parallel);
    if (known !== undefined) return known;
    const prepared = this.#define(graph, isChanged ? variation : null);
    if (!isChanged) this.#prepared.set(graph.parallel, prepared);
    return prepared;
  }

  #define(graph: GraphCase, variation: GraphVariation | null): PreparedTeam {
    const isVaried = (own: Agent, isCoordinator: boolean): boolean =>
      variation !== null && variation.isCoordinator === isCoordinator && variation.member === own.name;
    const rebuildTree = (team: AgentTree, isCoordinator: boolean): TestAgent =>
      team.rebuild((own, options) => {
        const testOptions = { ...options, ...withoutPeers(own), limits: liftLimits(options.limits, contextTokensMin) };
        return own === team.root.own && isVaried(own, isCoordinator)
          ? changeOptions(graph, variation!, testOptions)
          : testOptions;
      });
    const members = this.#members.map((team) => rebuildTree(team, false));
    const coordinator = this.#coordinator === null ? null : rebuildTree(this.#coordinator, true);
    const { name, description } = this.#own;
    const {
      members: _members,
      coordinator: _coordinator,
      planTasksMax,
      planDepthMax,
      ...rules
    } = this.#own.team!.rules;
    const agent = defineTeam({
      ...rules,
      name,
      description,
      agents: members.map((testAgent) => testAgent.agent),
      ...(coordinator === null ? {} : { coordinator: coordinator.agent }),
      plan: { tasks: planTasksMax, depth: planDepthMax },
      parallel: graph.parallel,
    });
    return {
      agent,
      findAgent: ({ task }, one, parent) => {
        if (task?.part === 'task') return members.find((testAgent) => testAgent.agent.name === one.name);
        return task === undefined ? parent?.children.get(one.signature.modelToolName) : (coordinator ?? undefined);
      },
    };
  }
}

/** An agent that may message its peers learns when they are at work. Messages between agents are checked in other pairs. */
const withoutPeers = ({ permissions: { messages } }: Agent): Pick<AgentOptions, 'messages'> =>
  messages === null ? {} : { messages: messages.filter((name) => !isPeer(name)) };

const isPeer = (name: string): boolean => name !== 'parent' && name !== 'children';

const contextTokensMin = 500_000;

const changeOptions = ({ kind }: GraphCase, { salt }: GraphVariation, options: AgentOptions): AgentOptions => {
  const rng = new Rng(`${salt} ${options.name}`);
  if (kind === 'description') return { ...options, description: `${options.description} ${rng.hex()}` };
  return changeInstructions(options, rng);
};
