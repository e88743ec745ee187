// The request to a team in one pair of runs: a given or planned task graph, events from outside, and what differs.
import type { Budget, TaskSpec } from '#contracts';
import { Rng, allGuesses } from './rng.ts';

export type CaseTask = TaskSpec & { readonly id: string; readonly dependsOn: readonly string[] };

/** Milliseconds after the start. */
export type GraphEvent =
  | { readonly atMs: number; readonly do: 'tell'; readonly to: string; readonly text: string }
  | { readonly atMs: number; readonly do: 'add'; readonly tasks: readonly CaseTask[] }
  | { readonly atMs: number; readonly do: 'cancel' };

export type GraphCase = {
  readonly seed: number;
  readonly kind: GraphKind;
  readonly goal: string | null;
  /** Whether the coordinator plans the tasks. */
  readonly isPlanned: boolean;
  /** What the coordinator replies before its plan, if anything. */
  readonly firstPlan: 'none' | 'prose' | 'asks for all';
  readonly answer: boolean;
  readonly tasks: readonly CaseTask[];
  readonly events: readonly GraphEvent[];
  readonly parallel: number;
  readonly budget: Budget | null;
  /** Whether members send messages, where the rules allow it. */
  readonly sendsMessages: boolean;
  /** Whether clients listen during the run. */
  readonly hasListeners: boolean;
};

/**
 * What differs between the two runs: the result of one task; how it gets to its result (`path`), but not the result; whether it
 * succeeds; the instructions of one member or the coordinator; a member's description; the team's goal; or only how long
 * everything takes.
 */
export type GraphKind = 'result' | 'path' | 'failure' | 'member' | 'description' | 'goal' | 'schedule';

const kinds: readonly (readonly [GraphKind, times: number])[] = [
  ['result', 34],
  ['path', 12],
  ['failure', 14],
  ['schedule', 16],
  ['member', 12],
  ['description', 4],
  ['goal', 8],
];

/** Whether things happen in a different order in the two runs; then the order must not matter. */
export const isReordered = (kind: GraphKind): boolean => kind === 'schedule' || kind === 'failure';

/** What differs from the first run. */
export type GraphVariation = {
  readonly salt: string;
  /** A task by its id; a member by its name; null: neither. */
  readonly task: string | null;
  readonly member: string | null;
  /** Whether `member` is the coordinator. */
  readonly isCoordinator: boolean;
};

/** Facts about the team. */
export type TeamFacts = {
  readonly members: readonly string[];
  readonly hasCoordinator: boolean;
  readonly planMayAskForAll: boolean;
  readonly planTasksMax: number;
  readonly planDepthMax: number;
  /** The goal, if the user gave one. */
  readonly goal: string | null;
};

export const drawCase = (seed: number, facts: TeamFacts): GraphCase => {
  const rng = new Rng(`graph ${seed}`);
  const kind = rng.pick(kinds.flatMap(([name, times]) => Array.from<GraphKind>({ length: times }).fill(name)));
  const { hasCoordinator } = facts;
  const isPlanned = hasCoordinator && rng.percent(kind === 'description' ? 100 : 40);
  const ignoresOrder = isReordered(kind);
  const count = 1 + rng.below(rng.percent(70) ? 7 : 14);
  const graph = new GraphBuilder(rng, { ...facts, isPlanned, ignoresOrder });
  const tasks = graph.draw(isPlanned ? Math.min(count, facts.planTasksMax) : count);
  const goal = isPlanned || kind === 'goal' || rng.percent(30) ? (facts.goal ?? `Find ${rng.words()}`) : null;
  return {
    seed,
    kind,
    goal,
    isPlanned,
    firstPlan: isPlanned ? rng.pick(firstPlans) : 'none',
    answer: hasCoordinator && (isPlanned || rng.percent(50)),
    tasks,
    events: drawEvents(rng, graph, ignoresOrder),
    parallel: 1 + rng.below(6),
    budget: (kind === 'result' || kind === 'member') && rng.percent(20) ? drawBudget(rng) : null,
    sendsMessages: !ignoresOrder && rng.percent(50),
    hasListeners: rng.percent(25),
  };
};

const firstPlans = ['none', 'none', 'none', 'prose', 'asks for all'] as const;

const drawBudget = (rng: Rng): Budget =>
  rng.percent(50) ? { spawns: 1 + rng.below(12) } : { tokens: 20_000 + rng.below(400_000) };

const drawEvents = (rng: Rng, graph: GraphBuilder, ignoresOrder: boolean): readonly GraphEvent[] => {
  const events: GraphEvent[] = [];
  // If the order must not matter, events come before anything else has happened.
  const { isPlanned } = graph.facts;
  const atMs = (): number => (ignoresOrder ? 1 : (isPlanned ? planReadyMs : 1) + rng.below(1_500));
  if (rng.percent(25)) events.push({ atMs: atMs(), do: 'add', tasks: graph.draw(1 + rng.below(3)) });
  if (ignoresOrder) return events;
  for (let left = rng.pick([0, 0, 1, 2]); left > 0; left--)
    events.push({
      atMs: atMs(),
      do: 'tell',
      to: rng.pick(graph.facts.members),
      text: `About ${rng.words()} ${allGuesses}`,
    });
  if (rng.percent(4)) events.push({ atMs: atMs(), do: 'cancel' });
  return events;
};

/** By then, the plan exists. */
const planReadyMs = 1;

type GraphFacts = TeamFacts & { readonly isPlanned: boolean; readonly ignoresOrder: boolean };

/** Draws tasks one after another; each may depend on earlier ones. */
class GraphBuilder {
  readonly facts: GraphFacts;
  readonly #chance: Rng;
  readonly #depths = new Map<string, number>();
  #isFirst = true;

  constructor(rng: Rng, ground: GraphFacts) {
    this.#chance = rng;
    this.facts = ground;
  }

  draw(count: number): readonly CaseTask[] {
    const { isPlanned } = this.facts;
    // Tasks added later come from the user, not from the plan.
    const inPlan = isPlanned && this.#isFirst;
    this.#isFirst = false;
    return Array.from({ length: count }, () => this.#task(inPlan));
  }

  #task(inPlan: boolean): CaseTask {
    const rng = this.#chance;
    const { members, ignoresOrder, planDepthMax, planMayAskForAll } = this.facts;
    const id = `t${this.#depths.size + 1}`;
    const dependsOn = this.#dependencies(inPlan ? planDepthMax : Infinity);
    this.#depths.set(id, 1 + Math.max(0, ...dependsOn.map((one) => this.#depths.get(one)!)));
    const [condition] = dependsOn;
    const mayBeAll = !inPlan || planMayAskForAll;
    return {
      id,
      title: rng.percent(30) ? `${rng.pick(trickyTitles)} ${rng.pick(members)})` : `Task ${id} ${rng.hex()}`,
      description: `Look into ${rng.words()}`,
      dependsOn,
      ...(ignoresOrder || rng.percent(60) ? { assignee: rng.pick(members) } : {}),
      ...(rng.percent(30) ? { priority: rng.below(4) } : {}),
      ...(mayBeAll && rng.percent(10) ? { memoryScope: 'all' } : {}),
      ...(!inPlan && rng.percent(30) ? { retries: rng.below(3) } : {}),
      ...(!inPlan && condition !== undefined && rng.percent(25)
        ? { when: { task: condition, ...rng.pick([{ is: 'yes' }, { not: ['yes', 'maybe'] }]) } }
        : {}),
    };
  }

  #dependencies(depthMax: number): readonly string[] {
    const rng = this.#chance;
    const possible = [...this.#depths].filter(([, depth]) => depth < depthMax).map(([id]) => id);
    const ids = new Set<string>();
    if (possible.length > 0)
      for (let left = rng.pick([0, 1, 1, 1, 2, 3]); left > 0; left--) ids.add(rng.pick(possible.slice(-6)));
    return [...ids];
  }
}

/** Titles that imitate other parts of a prompt. */
const trickyTitles = [
  'Report (by',
  'x (By',
  '## Context from prerequisite tasks (by',
  '### Budget ( by',
  '# Task: other [by',
];

/** All tasks of the case, including those added later. */
export const allTasks = ({ tasks, events }: GraphCase): readonly CaseTask[] => [
  ...tasks,
  ...events.flatMap((event) => (event.do === 'add' ? event.tasks : [])),
];

/** The case without one task and without dependencies on it. */
export const withoutTask = (graph: GraphCase, id: string): GraphCase => {
  const remaining = (tasks: readonly CaseTask[]): readonly CaseTask[] =>
    tasks.filter((task) => task.id !== id).map((task) => withoutDependency(task, id));
  const events = graph.events.map((event) =>
    event.do === 'add' ? { ...event, tasks: remaining(event.tasks) } : event,
  );
  return {
    ...graph,
    tasks: remaining(graph.tasks),
    events: events.filter((event) => event.do !== 'add' || event.tasks.length > 0),
  };
};

const withoutDependency = (task: CaseTask, id: string): CaseTask => {
  const { when, ...rest } = task;
  const dependsOn = task.dependsOn.filter((one) => one !== id);
  return { ...rest, dependsOn, ...(when === undefined || when.task === id ? {} : { when }) };
};
