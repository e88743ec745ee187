// Pairs of runs of a team through one task graph that differ in one thing. Cells that do not depend on it, got no message from
// a cell that does, and did not get all results must see the same prompts, records and ends. In addition, in every run each
// prompt must follow from its task, the results it depends on, and its messages.
import type { CellId } from '#base';
import type { Task } from '#contracts';
import { Rng } from './rng.ts';
import { compareObservations, createObservation, firstDifference } from './observer.ts';
import type { Difference, Observation, ObservationComparison, Observations } from './observer.ts';
import { ExpectedPrompts } from './expected-prompts.ts';
import { allTasks, drawCase, isReordered } from './graph-case.ts';
import type { GraphCase, GraphKind } from './graph-case.ts';
import { TestTeam } from './test-team.ts';
import { comparableOutcome, collectRecords } from './graph-records.ts';
import { GraphRun } from './graph-run.ts';
import type { TeamCellState, GraphVariation } from './team-cell-state.ts';
import { cachedValidate } from './isolation-setup.ts';
import type { Subject } from './subject.ts';
import { TestEnvironment } from './test-environment.ts';

export type GraphPairResult = ObservationComparison & {
  readonly graph: GraphCase;
  readonly variation: GraphVariation;
  /** Whether the difference is between a prompt and the expected prompt, within one run. */
  readonly isPrompt: boolean;
  readonly runs: readonly [GraphRun, GraphRun];
};

export class GraphPairs {
  readonly team: TestTeam;
  /** Why the latest incomparable pair could not be compared. */
  obstacle = '';
  readonly #subject: Subject;
  readonly #environment: TestEnvironment | null;
  readonly #validate = cachedValidate();
  #current: GraphRun | null = null;

  readonly #recordsEvery: number;

  /** `recordsEvery`: only every nth pair also compares records and events. */
  constructor(subject: Subject, recordsEvery = 1) {
    this.#subject = subject;
    this.#recordsEvery = recordsEvery;
    this.team = new TestTeam(subject, { tool: (...called) => this.#current!.tool(...called) });
    const { environment } = subject;
    this.#environment = environment === undefined ? null : new TestEnvironment(environment, this.team.testAgents);
  }

  compare(seed: number): Promise<GraphPairResult | null> {
    return this.compareCase(drawCase(seed, this.team.facts));
  }

  /** Returns null if the runs cannot be compared. */
  async compareCase(graph: GraphCase, known?: GraphVariation): Promise<GraphPairResult | null> {
    for (const team of this.team.trees) team.forgetChanges();
    const one = await this.#run(graph, null);
    const variation = one === null ? null : (known ?? drawVariation(one, this.team));
    const other = variation === null ? null : await this.#run(graph, variation);
    if (one === null || variation === null || other === null) return null;
    return compareRuns(one, other, { variation, withRecords: graph.seed % this.#recordsEvery === 0 });
  }

  /** Whether the first run gives the same result when it is repeated. */
  async isReproducible({ graph }: GraphPairResult): Promise<boolean> {
    const one = await this.#run(graph, null);
    const other = await this.#run(graph, null);
    if (one === null || other === null) return false;
    const [first, second] = [one, other].map((run) => collectObservations(run, new Set(), true));
    return firstDifference(first!, second!) === null;
  }

  /** With real tools, runs twice, so that any state the tools keep comes from the same run. */
  async #run(graph: GraphCase, variation: GraphVariation | null): Promise<GraphRun | null> {
    if (this.#subject.realTools === true) await this.#runOnce(graph, variation);
    return this.#runOnce(graph, variation);
  }

  async #runOnce(graph: GraphCase, variation: GraphVariation | null): Promise<GraphRun | null> {
    const { kind, seed } = graph;
    const { facts } = this.team;
    const salt = variation?.salt ?? '';
    const varied = variation === null ? null : this.team.variedAgent(variation);
    const other = varied === null || kind !== 'member' ? null : { testAgent: varied, salt };
    const environment = this.#environment;
    const run = new GraphRun({
      graph,
      team: this.team.prepare(graph, variation),
      modelPorts: {
        graph,
        validate: this.#validate,
        members: facts.members,
        planMayAskForAll: facts.planMayAskForAll,
        saltOf: (state) => (variation !== null && kind !== 'description' && isVariedCell(variation, state) ? salt : ''),
        timeSalt: isReordered(kind) ? salt : '',
        failingTask: kind === 'failure' ? (variation?.task ?? null) : null,
      },
      // Ids are random, and messages contain them. Without messages they must not matter.
      ids: `ids ${seed} ${hasMail(graph) ? '' : salt}`,
      goal: graph.goal !== null && kind === 'goal' ? `${graph.goal} ${salt}` : graph.goal,
      validate: this.#validate,
      usesRealTools: this.#subject.realTools === true,
      hasListeners: graph.hasListeners,
      startMs: 1_800_000_000_000,
      environmentOf: (one) => environment?.render(one, other) ?? null,
      redactFor: environment?.redactFor(other) ?? (() => null),
    });
    this.#current = run;
    try {
      await run.run();
      return run;
    } catch (error) {
      this.obstacle = `the run broke: ${error instanceof Error ? error.message : String(error)}`;
      return null;
    }
  }
}

const hasMail = ({ sendsMessages, events }: GraphCase): boolean =>
  sendsMessages || events.some((event) => event.do === 'tell');

/** Whether the model's replies in this cell vary directly. */
const isVariedCell = ({ task, member, isCoordinator }: GraphVariation, state: TeamCellState): boolean =>
  (task !== null && state.task === task) || (member !== null && isMember(member, isCoordinator, state));

const isMember = (member: string, isCoordinator: boolean, state: TeamCellState): boolean => {
  const part = state.birth.task?.part;
  if (part === undefined) return state.parent !== null && isMember(member, isCoordinator, state.parent);
  return isCoordinator ? part !== 'task' : part === 'task' && state.birth.agent === member;
};

/** Picks a task that was worked on, a member that worked, or nobody, depending on the kind of pair. */
const drawVariation = (run: GraphRun, team: TestTeam): GraphVariation | null => {
  const { cells, setting } = run;
  const { seed, kind } = setting.graph;
  const rng = new Rng(`pair ${seed}`);
  const nobody = { salt: `salt ${seed}`, task: null, member: null, isCoordinator: false };
  const tasks = [...(run.live.team?.queue.tasks() ?? [])].filter(({ attempts }) => attempts > 0);
  switch (kind) {
    case 'schedule':
      return nobody;
    case 'goal':
      return setting.goal === null ? null : nobody;
    case 'description':
      return { ...nobody, member: rng.pick(team.facts.members) };
    case 'member': {
      const isCoordinator = team.facts.hasCoordinator && rng.percent(25);
      const workers = cells.flatMap(({ birth }) => (birth.task?.part === 'task' ? [birth.agent] : []));
      const names = isCoordinator ? [setting.team.agent.coordinator!.answers.name] : workers;
      return names.length === 0 ? null : { ...nobody, member: rng.pick(names), isCoordinator };
    }
    case 'failure':
    case 'result':
    case 'path': {
      const possible = kind === 'failure' ? tasks.filter(({ status }) => status === 'completed') : tasks;
      return possible.length === 0 ? null : { ...nobody, task: rng.pick(possible).id };
    }
  }
};

type ComparisonOptions = { readonly variation: GraphVariation; readonly withRecords: boolean };

const compareRuns = (
  one: GraphRun,
  other: GraphRun,
  { variation, withRecords }: ComparisonOptions,
): GraphPairResult => {
  const { graph } = one.setting;
  const expectations = [one, other].map((run) => ({ run, prompts: new ExpectedPrompts(run) }));
  const wrong =
    expectations.map(({ run, prompts }) => wrongPrompt(run, prompts)).find((found) => found !== null) ?? null;
  const reached = new Set(expectations.flatMap(({ run, prompts }) => [...findReached(run, prompts, variation)]));
  const compared = compareObservations(
    collectObservations(one, reached, withRecords),
    collectObservations(other, reached, withRecords),
  );
  return {
    ...compared,
    difference: wrong ?? compared.difference,
    graph,
    variation,
    isPrompt: wrong !== null,
    runs: [one, other],
  };
};

/** The first prompt that is not the expected one. */
const wrongPrompt = ({ cells }: GraphRun, { expected }: ExpectedPrompts): Difference | null => {
  for (const { birth, place, firstRequest, shown } of cells) {
    const { prompt, names } = expected.get(birth.cell) ?? {};
    if (firstRequest === null || prompt === undefined || names === undefined) continue;
    const found =
      firstDifference(promptAt(place, prompt), promptAt(place, shown)) ??
      firstDifference(promptAt(place, names.join('\n')), promptAt(place, namesInHeadings(shown).join('\n')));
    if (found !== null) return found;
  }
  return null;
};

const promptAt = (place: string, text: string): Observations =>
  new Map([[place, [createObservation('prompt, expected | actual', text)]]]);

/** All names given as authors in the headings of results. */
const namesInHeadings = (shown: string): readonly string[] =>
  [...shown.matchAll(/^### .*$/gmu)].flatMap(([line]) =>
    [...line.matchAll(/\(\s*by\s+([^)]*)\)/giu)].map(([, name]) => name!),
  );

/** Places and tasks that the difference may legitimately reach. */
const findReached = (run: GraphRun, { expected }: ExpectedPrompts, variation: GraphVariation): ReadonlySet<string> => {
  const { kind } = run.setting.graph;
  const before = allDependencies(run.setting.graph);
  const reached = new Set<string>();
  const cells = new Set<CellId>();
  const dependsOnReached = (id: string): boolean => [...before.get(id)!].some((one) => reached.has(taskPlace(one)));
  // Which results exist at a given moment depends on timing.
  const isLate = (id: string): boolean => isReordered(kind) && memoryScopeOf(run, id) === 'all';
  if (kind === 'failure') reached.add(taskPlace(variation.task!));
  if (kind === 'failure' || (isReordered(kind) && hasBlocked(run))) reached.add('the answer').add('the caller');
  for (const state of run.cells) {
    const { birth, parent, place, task } = state;
    const isBelow = parent !== null && cells.has(parent.birth.cell);
    const isGiven = (expected.get(birth.cell)?.from ?? []).some((cell) => cells.has(cell));
    const isTask = task !== null && (isLate(task) || dependsOnReached(task));
    if (!seesVariation(state, kind, variation) && !isBelow && !isGiven && !isTask) continue;
    cells.add(birth.cell);
    reached.add(place);
    if (birth.task?.part === 'task') reached.add(taskPlace(birth.task.task));
  }
  // Tasks that never started.
  for (const id of before.keys()) if (isLate(id) || dependsOnReached(id)) reached.add(taskPlace(id));
  return reached.size === 0 ? reached : reached.add('the caller');
};

/** Which task blocked another depends on timing. */
const hasBlocked = ({ live }: GraphRun): boolean =>
  [...(live.team?.queue.tasks() ?? [])].some(({ status }) => status === 'blocked');

const seesVariation = (state: TeamCellState, kind: GraphKind, variation: GraphVariation): boolean => {
  const part = state.birth.task?.part;
  if (kind === 'description') return part === 'plan';
  return kind === 'goal' ? part === 'plan' || part === 'answer' : isVariedCell(variation, state);
};

/** The direct and indirect dependencies of each task. */
const allDependencies = (graph: GraphCase): ReadonlyMap<string, ReadonlySet<string>> => {
  const before = new Map<string, ReadonlySet<string>>();
  for (const { id, dependsOn } of allTasks(graph))
    before.set(id, new Set(dependsOn.flatMap((one) => [one, ...(before.get(one) ?? [])])));
  return before;
};

const memoryScopeOf = ({ setting: { graph, team } }: GraphRun, id: string): string =>
  allTasks(graph).find((task) => task.id === id)?.memoryScope ?? team.agent.team!.memoryScope;

const taskPlace = (id: string): string => `task ${id}`;

/** The observations of all cells and tasks that the difference must not reach, and of the caller unless it may be reached. */
const collectObservations = (run: GraphRun, reached: ReadonlySet<string>, withRecords: boolean): Observations => {
  const all = new Map<string, readonly Observation[]>();
  const seats = run.cells.filter(({ place }) => !reached.has(place));
  const wanted = new Set(seats.map(({ birth }) => birth.cell));
  const records = withRecords ? collectRecords(run, wanted) : new Map<CellId, readonly Observation[]>();
  for (const { place, observer, birth } of seats)
    all.set(place, [...observer.observations, ...(records.get(birth.cell) ?? [])]);
  for (const task of run.live.team?.queue.tasks() ?? [])
    if (!reached.has(taskPlace(task.id)))
      all.set(taskPlace(task.id), [createObservation('end', taskEndText(task, run))]);
  if (!reached.has('the caller'))
    all.set('the caller', [createObservation('outcome', JSON.stringify(comparableOutcome(run.outcome)))]);
  return all;
};

const taskEndText = ({ status, assignee, result, attempts, reason }: Task, { setting }: GraphRun): string => {
  // The reason names the first of several failed dependencies, which depends on timing.
  const why = reason?.code === 'dependency' && isReordered(setting.graph.kind) ? reason.code : reason;
  return JSON.stringify({ status, assignee, attempts, reason: why, result });
};
