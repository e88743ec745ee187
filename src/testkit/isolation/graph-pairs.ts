// Pairs of runs of a team through one graph that differ in one thing. Whoever does not depend on it, was not written to by one
// who knows it, and was not given all results, is shown the same: prompts, records, ends. And in every run each prompt is what
// its task, the results that it depends on and its messages give.
import type { CellId } from '#base';
import type { Task } from '#contracts';
import { Rng } from './rng.ts';
import { firstDifference, createObservation } from './observer.ts';
import type { Difference, Observation, Observations } from './observer.ts';
import { ExpectedPrompts } from './expected-prompts.ts';
import { allTasks, drawCase, isReordered } from './graph-case.ts';
import type { GraphCase, GraphKind } from './graph-case.ts';
import { TestTeam } from './test-team.ts';
import { comparableOutcome, recordsOf } from './graph-records.ts';
import { GraphRun } from './graph-run.ts';
import type { TeamCellState, GraphVariation } from './team-cell-state.ts';
import { cachedValidate } from './isolation-setup.ts';
import type { Subject } from './subject.ts';
import { TestEnvironment } from './test-environment.ts';

export type GraphCompared = {
  readonly of: GraphCase;
  readonly variation: GraphVariation;
  readonly sights: number;
  readonly bytes: number;
  readonly difference: Difference | null;
  /** The difference is between a prompt and what it should be: in one run. */
  readonly isPrompt: boolean;
  readonly runs: readonly [GraphRun, GraphRun];
};

export class GraphPairs {
  readonly cast: TestTeam;
  /** Why the newest pair that could not be compared could not be. */
  obstacle = '';
  readonly #subject: Subject;
  readonly #environment: TestEnvironment | null;
  readonly #validate = cachedValidate();
  #onStage: GraphRun | null = null;

  readonly #recordsEvery: number;

  /** `recordsEvery`: what the log and its clients tell is compared in one pair of so many. */
  constructor(subject: Subject, recordsEvery = 1) {
    this.#subject = subject;
    this.#recordsEvery = recordsEvery;
    this.cast = new TestTeam(subject, { tool: (...called) => this.#onStage!.tool(...called) });
    const { environment } = subject;
    this.#environment = environment === undefined ? null : new TestEnvironment(environment, this.cast.parts);
  }

  compare(seed: number): Promise<GraphCompared | null> {
    return this.again(drawCase(seed, this.cast.ground));
  }

  /** Null when the two cannot be compared. */
  async again(of: GraphCase, known?: GraphVariation): Promise<GraphCompared | null> {
    for (const team of this.cast.teams) team.forget();
    const one = await this.#play(of, null);
    const variation = one === null ? null : (known ?? variationOf(one, this.cast));
    const other = variation === null ? null : await this.#play(of, variation);
    if (one === null || variation === null || other === null) return null;
    return comparedRuns(one, other, { variation, withRecords: of.seed % this.#recordsEvery === 0 });
  }

  /** Whether the first run shows the same when it is played again. */
  async isSteady({ of }: GraphCompared): Promise<boolean> {
    const one = await this.#play(of, null);
    const other = await this.#play(of, null);
    if (one === null || other === null) return false;
    const [first, second] = [one, other].map((run) => sightsOf(run, new Set(), true));
    return firstDifference(first!, second!) === null;
  }

  /** What tools may have kept of a run before is what they kept of this one. */
  async #play(of: GraphCase, variation: GraphVariation | null): Promise<GraphRun | null> {
    if (this.#subject.realTools === true) await this.#playOnce(of, variation);
    return this.#playOnce(of, variation);
  }

  async #playOnce(of: GraphCase, variation: GraphVariation | null): Promise<GraphRun | null> {
    const { kind, seed } = of;
    const { ground } = this.cast;
    const salt = variation?.salt ?? '';
    const part = variation === null ? null : this.cast.variedPart(variation);
    const other = part === null || kind !== 'member' ? null : { part, salt };
    const environment = this.#environment;
    const run = new GraphRun({
      of,
      cast: this.cast.castFor(of, variation),
      mind: {
        of,
        validate: this.#validate,
        members: ground.members,
        planMayAskForAll: ground.planMayAskForAll,
        saltOf: (seat) => (variation !== null && kind !== 'description' && hasSecret(variation, seat) ? salt : ''),
        timeSalt: isReordered(kind) ? salt : '',
        failing: kind === 'failure' ? (variation?.task ?? null) : null,
      },
      // Ids are drawn, and part of what is sent: without mail they must not matter.
      ids: `ids ${seed} ${hasMail(of) ? '' : salt}`,
      goal: of.goal !== null && kind === 'goal' ? `${of.goal} ${salt}` : of.goal,
      validate: this.#validate,
      isReal: this.#subject.realTools === true,
      told: (one) => environment?.told(one, other) ?? null,
      redact: environment?.redact(other) ?? null,
    });
    this.#onStage = run;
    try {
      await run.play();
      return run;
    } catch (error) {
      this.obstacle = `the run broke: ${error instanceof Error ? error.message : String(error)}`;
      return null;
    }
  }
}

const hasMail = ({ isTalking, events }: GraphCase): boolean => isTalking || events.some((event) => event.do === 'tell');

/** What its model says differs by itself. */
const hasSecret = ({ task, member, isCoordinator }: GraphVariation, seat: TeamCellState): boolean =>
  (task !== null && seat.task === task) || (member !== null && isMember(member, isCoordinator, seat));

const isMember = (member: string, isCoordinator: boolean, seat: TeamCellState): boolean => {
  const part = seat.birth.task?.part;
  if (part === undefined) return seat.parent !== null && isMember(member, isCoordinator, seat.parent);
  return isCoordinator ? part !== 'task' : part === 'task' && seat.birth.agent === member;
};

/** A task that somebody worked on, a member that worked, or who is there by the kind of pair. */
const variationOf = (run: GraphRun, cast: TestTeam): GraphVariation | null => {
  const { seats, setting } = run;
  const { seed, kind } = setting.of;
  const chance = new Rng(`pair ${seed}`);
  const nobody = { salt: `salt ${seed}`, task: null, member: null, isCoordinator: false };
  const tasks = [...(run.live.team?.queue.tasks() ?? [])].filter(({ attempts }) => attempts > 0);
  switch (kind) {
    case 'schedule':
      return nobody;
    case 'goal':
      return setting.goal === null ? null : nobody;
    case 'description':
      return { ...nobody, member: chance.pick(cast.ground.members) };
    case 'member': {
      const isCoordinator = cast.ground.hasCoordinator && chance.percent(25);
      const workers = seats.flatMap(({ birth }) => (birth.task?.part === 'task' ? [birth.agent] : []));
      const names = isCoordinator ? [setting.cast.agent.coordinator!.answers.name] : workers;
      return names.length === 0 ? null : { ...nobody, member: chance.pick(names), isCoordinator };
    }
    case 'failure':
    case 'result':
    case 'life': {
      const possible = kind === 'failure' ? tasks.filter(({ status }) => status === 'completed') : tasks;
      return possible.length === 0 ? null : { ...nobody, task: chance.pick(possible).id };
    }
  }
};

type Comparing = { readonly variation: GraphVariation; readonly withRecords: boolean };

const comparedRuns = (one: GraphRun, other: GraphRun, { variation, withRecords }: Comparing): GraphCompared => {
  const { of } = one.setting;
  const books = [one, other].map((run) => ({ run, book: new ExpectedPrompts(run) }));
  const wrong = books.map(({ run, book }) => wrongPrompt(run, book)).find((found) => found !== null) ?? null;
  const reached = new Set(books.flatMap(({ run, book }) => [...reachedIn(run, book, variation)]));
  const [first, second] = [sightsOf(one, reached, withRecords), sightsOf(other, reached, withRecords)];
  const all = [...first.values()].flat();
  const bytes = all.reduce((sum, { length }) => sum + length, 0);
  const difference = wrong ?? firstDifference(first, second);
  return { of, variation, sights: all.length, bytes, difference, isPrompt: wrong !== null, runs: [one, other] };
};

/** The first that is not what it should be. */
const wrongPrompt = ({ seats }: GraphRun, { expected }: ExpectedPrompts): Difference | null => {
  for (const { birth, place, first, shown } of seats) {
    const { prompt, names } = expected.get(birth.cell) ?? {};
    if (first === null || prompt === undefined || names === undefined) continue;
    const found =
      firstDifference(promptAt(place, prompt), promptAt(place, shown)) ??
      firstDifference(promptAt(place, names.join('\n')), promptAt(place, namesIn(shown).join('\n')));
    if (found !== null) return found;
  }
  return null;
};

const promptAt = (place: string, text: string): Observations =>
  new Map([[place, [createObservation('its prompt, as it should be | as it is', text)]]]);

/** All that is named as the one who did something, in the headings of results. */
const namesIn = (shown: string): readonly string[] =>
  [...shown.matchAll(/^### .*$/gmu)].flatMap(([line]) =>
    [...line.matchAll(/\(\s*by\s+([^)]*)\)/giu)].map(([, name]) => name!),
  );

/** Places and tasks that may know what differs. */
const reachedIn = (run: GraphRun, { expected }: ExpectedPrompts, variation: GraphVariation): ReadonlySet<string> => {
  const { kind } = run.setting.of;
  const before = dependenciesIn(run.setting.of);
  const reached = new Set<string>();
  const cells = new Set<CellId>();
  const dependsOnReached = (id: string): boolean => [...before.get(id)!].some((one) => reached.has(taskPlace(one)));
  // What all results are is a question of time.
  const isLate = (id: string): boolean => isReordered(kind) && scopeIn(run, id) === 'all';
  if (kind === 'failure') reached.add(taskPlace(variation.task!));
  if (kind === 'failure' || (isReordered(kind) && hasBlocked(run))) reached.add('the answer').add('the caller');
  for (const seat of run.seats) {
    const { birth, parent, place, task } = seat;
    const isBelow = parent !== null && cells.has(parent.birth.cell);
    const isGiven = (expected.get(birth.cell)?.from ?? []).some((cell) => cells.has(cell));
    const isTask = task !== null && (isLate(task) || dependsOnReached(task));
    if (!isTold(seat, kind, variation) && !isBelow && !isGiven && !isTask) continue;
    cells.add(birth.cell);
    reached.add(place);
    if (birth.task?.part === 'task') reached.add(taskPlace(birth.task.task));
  }
  // Those that never began.
  for (const id of before.keys()) if (isLate(id) || dependsOnReached(id)) reached.add(taskPlace(id));
  return reached.size === 0 ? reached : reached.add('the caller');
};

/** Because of what, is a question of time. */
const hasBlocked = ({ live }: GraphRun): boolean =>
  [...(live.team?.queue.tasks() ?? [])].some(({ status }) => status === 'blocked');

const isTold = (seat: TeamCellState, kind: GraphKind, variation: GraphVariation): boolean => {
  const part = seat.birth.task?.part;
  if (kind === 'description') return part === 'plan';
  return kind === 'goal' ? part === 'plan' || part === 'answer' : hasSecret(variation, seat);
};

/** All that each task depends on, others between them or not. */
const dependenciesIn = (of: GraphCase): ReadonlyMap<string, ReadonlySet<string>> => {
  const before = new Map<string, ReadonlySet<string>>();
  for (const { id, dependsOn } of allTasks(of))
    before.set(id, new Set(dependsOn.flatMap((one) => [one, ...(before.get(one) ?? [])])));
  return before;
};

const scopeIn = ({ setting: { of, cast } }: GraphRun, id: string): string =>
  allTasks(of).find((task) => task.id === id)?.memoryScope ?? cast.agent.team!.memoryScope;

const taskPlace = (id: string): string => `task ${id}`;

/** Of all cells and tasks that the difference may not reach; and of the caller, if it may reach nobody. */
const sightsOf = (run: GraphRun, reached: ReadonlySet<string>, withRecords: boolean): Observations => {
  const all = new Map<string, readonly Observation[]>();
  const seats = run.seats.filter(({ place }) => !reached.has(place));
  const asked = new Set(seats.map(({ birth }) => birth.cell));
  const records = withRecords ? recordsOf(run, asked) : new Map<CellId, readonly Observation[]>();
  for (const { place, eye, birth } of seats) all.set(place, [...eye.sights, ...(records.get(birth.cell) ?? [])]);
  for (const task of run.live.team?.queue.tasks() ?? [])
    if (!reached.has(taskPlace(task.id))) all.set(taskPlace(task.id), [createObservation('its end', endOf(task, run))]);
  if (!reached.has('the caller'))
    all.set('the caller', [createObservation('outcome', JSON.stringify(comparableOutcome(run.outcome)))]);
  return all;
};

const endOf = ({ status, assignee, result, attempts, reason }: Task, { setting }: GraphRun): string => {
  // Of several that failed, the first is named.
  const why = reason?.code === 'dependency' && isReordered(setting.of.kind) ? reason.code : reason;
  return JSON.stringify({ status, assignee, attempts, reason: why, result });
};
