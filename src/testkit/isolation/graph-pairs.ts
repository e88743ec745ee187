// Pairs of runs of a team through one task graph that differ in one thing. Cells that do not depend on it, got no message from
// a cell that does, and did not get all results must see the same prompts, records and ends. In addition, in every run each
// prompt must follow from its task, the results it depends on, and its messages.
import type { TestAgent } from './agent-tree.ts';
import { cellOperations, countCrossings, nothingVaried, Pairs } from './check-pairs.ts';
import type { DifferenceFound } from './check-pairs.ts';
import { ExpectedPrompts, wrongPrompt } from './expected-prompts.ts';
import { allTasks, drawCase, isReordered, withoutTask } from './graph-case.ts';
import type { GraphCase, GraphKind, GraphVariation } from './graph-case.ts';
import { collectTeamObservations, findReached, isVariedCell } from './graph-reach.ts';
import { GraphRun } from './graph-run.ts';
import { compareObservations, firstDifference } from './observer.ts';
import type { ObservationComparison } from './observer.ts';
import { Rng } from './rng.ts';
import type { Subject } from './subject.ts';
import { TestTeam } from './test-team.ts';

type GraphPair = ObservationComparison & {
  readonly graph: GraphCase;
  readonly variation: GraphVariation;
  /** Whether the difference is between a prompt and the expected prompt, within one run. */
  readonly isPrompt: boolean;
  readonly runs: readonly [GraphRun, GraphRun];
};

export class GraphPairs extends Pairs<GraphRun, GraphPair> {
  readonly team: TestTeam;
  readonly #recordsEvery: number;
  readonly #counts = { tasks: 0, results: 0, messages: 0, cells: 0 };

  /** `recordsEvery`: only every nth pair also compares records and events. */
  constructor(subject: Subject, recordsEvery = 1) {
    super(subject);
    this.#recordsEvery = recordsEvery;
    this.team = new TestTeam(subject, this.handler);
  }

  protected override get testAgents(): readonly TestAgent[] {
    return this.team.testAgents;
  }

  override compare(seed: number): Promise<GraphPair | null> {
    return this.#compareCase(drawCase(seed, this.team.facts));
  }

  async #compareCase(graph: GraphCase, known?: GraphVariation): Promise<GraphPair | null> {
    for (const team of this.team.trees) team.forgetChanges();
    const one = await this.#run(graph, null);
    const variation = one === null ? null : (known ?? drawVariation(one, this.team));
    const other = variation === null ? null : await this.#run(graph, variation);
    if (one === null || variation === null || other === null) return null;
    return compareRuns([one, other], variation, graph.seed % this.#recordsEvery === 0);
  }

  #run(graph: GraphCase, variation: GraphVariation | null): Promise<GraphRun | null> {
    return this.runAlone(() => this.#runOnce(graph, variation));
  }

  async #runOnce(graph: GraphCase, variation: GraphVariation | null): Promise<GraphRun | null> {
    const { kind, seed } = graph;
    const { facts } = this.team;
    const salt = variation?.salt ?? '';
    const varied = variation === null ? null : this.team.variedAgent(variation);
    const run = new GraphRun({
      ...this.world(varied === null || kind !== 'member' ? null : { testAgent: varied, salt }),
      graph,
      team: this.team.prepare(graph, variation),
      modelPorts: {
        graph,
        validate: this.validate,
        members: facts.members,
        planMayAskForAll: facts.planMayAskForAll,
        saltOf: (state) => (variation !== null && kind !== 'description' && isVariedCell(variation, state) ? salt : ''),
        timeSalt: isReordered(kind) ? salt : '',
        failingTask: kind === 'failure' ? (variation?.task ?? null) : null,
      },
      // Ids are random, and messages contain them. Without messages they must not matter.
      ids: `ids ${seed} ${hasMail(graph) ? '' : salt}`,
      goal: graph.goal !== null && kind === 'goal' ? `${graph.goal} ${salt}` : graph.goal,
      hasListeners: graph.hasListeners,
      startMs: 1_800_000_000_000,
    });
    this.current = run;
    try {
      await run.run();
      return run;
    } catch (error) {
      this.obstacle = `the run broke: ${error instanceof Error ? error.message : String(error)}`;
      return null;
    }
  }

  override async explain(found: GraphPair, seed: number): Promise<DifferenceFound> {
    const isSteady = found.isPrompt || (await this.#isReproducible(found));
    const best = isSteady ? await this.#reduceCase(found) : found;
    const [one, other] = best.runs.map(({ frames }) => cellOperations(frames, frames));
    const steps = one === other ? one : `${one} | ${other}`;
    return {
      ...best.difference!,
      varied: isSteady ? variedText(best) : nothingVaried,
      shortest: `${caseText(best.graph)}: ${steps}`,
      seed,
      isProof: true,
    };
  }

  /** Whether the first run gives the same result when it is repeated. */
  async #isReproducible({ graph }: GraphPair): Promise<boolean> {
    const [one, other] = [await this.#run(graph, null), await this.#run(graph, null)];
    if (one === null || other === null) return false;
    const nothing = new Set<string>();
    const [first, second] = [one, other].map((run) => collectTeamObservations(run, nothing, true));
    return firstDifference(first!, second!) === null;
  }

  /** Removes all tasks and events that the difference does not need. */
  async #reduceCase(found: GraphPair): Promise<GraphPair> {
    let best = found;
    const attempt = async (fewer: GraphCase): Promise<void> => {
      const compared = fewer.tasks.length === 0 ? null : await this.#compareCase(fewer, found.variation);
      if (compared !== null && compared.difference !== null && compared.isPrompt === found.isPrompt) best = compared;
    };
    for (const { id } of allTasks(found.graph).toReversed())
      if (id !== found.variation.task) await attempt(withoutTask(best.graph, id));
    for (const event of found.graph.events)
      await attempt({
        ...best.graph,
        events: best.graph.events.filter((one) => one.atMs !== event.atMs || one.do !== event.do),
      });
    return best;
  }

  override tally({ runs }: GraphPair): void {
    const counts = this.#counts;
    for (const { cells, frames } of runs) {
      counts.cells += cells.filter(({ firstRequest }) => firstRequest !== null).length;
      counts.results += countCrossings(frames, 'dependency');
      counts.messages += countCrossings(frames, 'message');
    }
    counts.tasks += [...(runs[0].live.team?.queue.tasks() ?? [])].length;
  }

  note(): string {
    const { tasks, cells, results, messages } = this.#counts;
    return `Task graphs with ${tasks} tasks: ${cells} cells, which got ${results} results and ${messages} messages.`;
  }
}

const hasMail = ({ sendsMessages, events }: GraphCase): boolean =>
  sendsMessages || events.some((event) => event.do === 'tell');

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
      const names = isCoordinator ? [setting.team.agent.team!.coordinator!.answers.name] : workers;
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

const compareRuns = (runs: GraphPair['runs'], variation: GraphVariation, withRecords: boolean): GraphPair => {
  const { graph } = runs[0].setting;
  const expectations = runs.map((run) => ({ run, prompts: new ExpectedPrompts(run) }));
  const wrong =
    expectations.map(({ run, prompts }) => wrongPrompt(run, prompts)).find((found) => found !== null) ?? null;
  const reached = new Set(expectations.flatMap(({ run, prompts }) => [...findReached(run, prompts, variation)]));
  const [one, other] = runs.map((run) => collectTeamObservations(run, reached, withRecords));
  const compared = compareObservations(one!, other!);
  return { ...compared, difference: wrong ?? compared.difference, graph, variation, isPrompt: wrong !== null, runs };
};

const variedText = ({ graph: { kind }, variation: { task, member, isCoordinator }, isPrompt }: GraphPair): string => {
  if (isPrompt) return 'the rest of the team';
  if (task !== null) return `task ${task} (its ${kindTexts[kind]})`;
  if (member !== null) return `${isCoordinator ? 'the coordinator' : `every "${member}"`} (${kindTexts[kind]})`;
  return kindTexts[kind];
};

const kindTexts: Readonly<Record<GraphKind, string>> = {
  result: 'result',
  path: 'path to its result',
  failure: 'failure',
  member: 'its instructions',
  description: 'its description',
  goal: 'the goal',
  schedule: 'the order of events',
};

const caseText = (graph: GraphCase): string => {
  const tasks = allTasks(graph).map(({ id, dependsOn, assignee, memoryScope }) =>
    [id, assignee, memoryScope === 'all' ? 'all' : '', dependsOn.length === 0 ? '' : `after ${dependsOn.join(' ')}`]
      .filter((word) => word !== undefined && word !== '')
      .join(' '),
  );
  return `${tasks.length} tasks (${tasks.join(', ')}), ${graph.parallel} at once`;
};
