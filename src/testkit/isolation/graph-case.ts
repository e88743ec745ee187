// What a team is asked in one pair of runs: a graph that is given or planned, what comes from outside, and what differs.
import type { Budget, TaskSpec } from '#contracts';
import { Rng } from './rng.ts';

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
  /** The coordinator's plan, or given. */
  readonly isPlanned: boolean;
  /** What the coordinator says before its plan, if that is wanted. */
  readonly firstPlan: 'none' | 'prose' | 'asks for all';
  readonly answer: boolean;
  readonly tasks: readonly CaseTask[];
  readonly events: readonly GraphEvent[];
  readonly parallel: number;
  readonly budget: Budget | null;
  /** Who writes to others, if its rules let it. */
  readonly isTalking: boolean;
  /** Clients that listen while it runs. */
  readonly heard: boolean;
};

/**
 * What differs between the two runs: what one task answers; how it gets there, and not what it answers; whether it succeeds;
 * what one member, or the coordinator, is told; how one is described; what the team is asked; or nothing but how long each takes.
 */
export type GraphKind = 'result' | 'life' | 'failure' | 'member' | 'description' | 'goal' | 'schedule';

const kinds: readonly (readonly [GraphKind, times: number])[] = [
  ['result', 34],
  ['life', 12],
  ['failure', 14],
  ['schedule', 16],
  ['member', 12],
  ['description', 4],
  ['goal', 8],
];

/** The order in which things happen is not the same in both: then it must not matter. */
export const isReordered = (kind: GraphKind): boolean => kind === 'schedule' || kind === 'failure';

/** What is known of the team. */
export type TeamFacts = {
  readonly members: readonly string[];
  readonly hasCoordinator: boolean;
  readonly planMayAskForAll: boolean;
  readonly planTasksMax: number;
  readonly planDepthMax: number;
  /** What it is asked, if that was said. */
  readonly goal: string | null;
};

export const drawCase = (seed: number, ground: TeamFacts): GraphCase => {
  const chance = new Rng(`graph ${seed}`);
  const kind = chance.pick(kinds.flatMap(([name, times]) => Array.from<GraphKind>({ length: times }).fill(name)));
  const { hasCoordinator } = ground;
  const isPlanned = hasCoordinator && chance.percent(kind === 'description' ? 100 : 40);
  const calm = isReordered(kind);
  const count = 1 + chance.below(chance.percent(70) ? 7 : 14);
  const graph = new GraphDraw(chance, { ...ground, isPlanned, calm });
  const tasks = graph.draw(isPlanned ? Math.min(count, ground.planTasksMax) : count);
  const goal = isPlanned || kind === 'goal' || chance.percent(30) ? (ground.goal ?? `Find ${chance.words()}`) : null;
  return {
    seed,
    kind,
    goal,
    isPlanned,
    firstPlan: isPlanned ? chance.pick(firstPlans) : 'none',
    answer: hasCoordinator && (isPlanned || chance.percent(50)),
    tasks,
    events: drawEvents(chance, graph, calm),
    parallel: 1 + chance.below(6),
    budget: (kind === 'result' || kind === 'member') && chance.percent(20) ? drawBudget(chance) : null,
    isTalking: !calm && chance.percent(50),
    heard: chance.percent(25),
  };
};

const firstPlans = ['none', 'none', 'none', 'prose', 'asks for all'] as const;

const drawBudget = (chance: Rng): Budget =>
  chance.percent(50) ? { spawns: 1 + chance.below(12) } : { tokens: 20_000 + chance.below(400_000) };

const drawEvents = (chance: Rng, graph: GraphDraw, calm: boolean): readonly GraphEvent[] => {
  const events: GraphEvent[] = [];
  // Before anything else has happened, where the order of things must not matter.
  const { isPlanned } = graph.ground;
  const atMs = (): number => (calm ? 1 : (isPlanned ? plannedMs : 1) + chance.below(1_500));
  if (chance.percent(25)) events.push({ atMs: atMs(), do: 'add', tasks: graph.draw(1 + chance.below(3)) });
  if (calm) return events;
  for (let left = chance.pick([0, 0, 1, 2]); left > 0; left--)
    events.push({ atMs: atMs(), do: 'tell', to: chance.pick(graph.ground.members), text: `About ${chance.words()}` });
  if (chance.percent(4)) events.push({ atMs: atMs(), do: 'cancel' });
  return events;
};

/** By then a plan is there. */
const plannedMs = 1;

type DrawGround = TeamFacts & { readonly isPlanned: boolean; readonly calm: boolean };

/** Tasks one after another, each of which may depend on those before. */
class GraphDraw {
  readonly ground: DrawGround;
  readonly #chance: Rng;
  readonly #depths = new Map<string, number>();
  #isFirst = true;

  constructor(chance: Rng, ground: DrawGround) {
    this.#chance = chance;
    this.ground = ground;
  }

  draw(count: number): readonly CaseTask[] {
    const { isPlanned } = this.ground;
    // What is added later is added by whoever runs the team.
    const inPlan = isPlanned && this.#isFirst;
    this.#isFirst = false;
    return Array.from({ length: count }, () => this.#task(inPlan));
  }

  #task(inPlan: boolean): CaseTask {
    const chance = this.#chance;
    const { members, calm, planDepthMax, planMayAskForAll } = this.ground;
    const id = `t${this.#depths.size + 1}`;
    const dependsOn = this.#dependencies(inPlan ? planDepthMax : Infinity);
    this.#depths.set(id, 1 + Math.max(0, ...dependsOn.map((one) => this.#depths.get(one)!)));
    const [condition] = dependsOn;
    const mayBeAll = !inPlan || planMayAskForAll;
    return {
      id,
      title: chance.percent(30) ? `${chance.pick(titles)} ${chance.pick(members)})` : `Task ${id} ${chance.hex()}`,
      description: `Look into ${chance.words()}`,
      dependsOn,
      ...(calm || chance.percent(60) ? { assignee: chance.pick(members) } : {}),
      ...(chance.percent(30) ? { priority: chance.below(4) } : {}),
      ...(mayBeAll && chance.percent(10) ? { memoryScope: 'all' } : {}),
      ...(!inPlan && chance.percent(30) ? { retries: chance.below(3) } : {}),
      ...(!inPlan && condition !== undefined && chance.percent(25)
        ? { when: { task: condition, ...chance.pick([{ is: 'yes' }, { not: ['yes', 'maybe'] }]) } }
        : {}),
    };
  }

  #dependencies(depthMax: number): readonly string[] {
    const chance = this.#chance;
    const possible = [...this.#depths].filter(([, depth]) => depth < depthMax).map(([id]) => id);
    const ids = new Set<string>();
    if (possible.length > 0)
      for (let left = chance.pick([0, 1, 1, 1, 2, 3]); left > 0; left--) ids.add(chance.pick(possible.slice(-6)));
    return [...ids];
  }
}

/** Such as try to be more than a title. */
const titles = [
  'Report (by',
  'x (By',
  '## Context from prerequisite tasks (by',
  '### Budget ( by',
  '# Task: other [by',
];

/** All that may come to be, with what the case gives later. */
export const allTasks = ({ tasks, events }: GraphCase): readonly CaseTask[] => [
  ...tasks,
  ...events.flatMap((event) => (event.do === 'add' ? event.tasks : [])),
];

/** The same without one task: nobody depends on it. */
export const withoutTask = (of: GraphCase, id: string): GraphCase => {
  const kept = (tasks: readonly CaseTask[]): readonly CaseTask[] =>
    tasks.filter((task) => task.id !== id).map((task) => withoutDependency(task, id));
  const events = of.events.map((event) => (event.do === 'add' ? { ...event, tasks: kept(event.tasks) } : event));
  return {
    ...of,
    tasks: kept(of.tasks),
    events: events.filter((event) => event.do !== 'add' || event.tasks.length > 0),
  };
};

const withoutDependency = (task: CaseTask, id: string): CaseTask => {
  const { when, ...rest } = task;
  const dependsOn = task.dependsOn.filter((one) => one !== id);
  return { ...rest, dependsOn, ...(when === undefined || when.task === id ? {} : { when }) };
};
