// Pairs of runs of agents that exchange messages. Both runs perform the same observable acts: spawns, messages, answers, ends,
// passing time, crashes. The private content of one session differs, or of all sessions of one agent.
import type { Outcome } from '#contracts';
import { Rng } from './rng.ts';
import { bytesOf, compareObservations, createObservation, firstDifference } from './observer.ts';
import type { Observation, ObservationComparison, Observations } from './observer.ts';
import { chooseRootGoal } from './plan.ts';
import { visibleOutcome } from './records.ts';
import { cachedValidate } from './isolation-setup.ts';
import type { Subject } from './subject.ts';
import { aideWorkflow } from './mail-act.ts';
import type { Act } from './mail-act.ts';
import { prepareAgents } from './mail-agents.ts';
import { drawActs, closingActs } from './mail-schedule.ts';
import { MailRun } from './mail-run.ts';
import { isVariedSession } from './mail-cell-state.ts';
import type { MailCellState, MailVariation } from './mail-cell-state.ts';
import { AgentTree } from './agent-tree.ts';
import { TestEnvironment } from './test-environment.ts';

export type MailPairResult = ObservationComparison & {
  readonly seed: number;
  readonly variation: MailVariation;
  readonly acts: readonly Act[];
  readonly runs: readonly [MailRun, MailRun];
};

export class MailPairs {
  readonly tree: AgentTree;
  /** Why the latest incomparable pair could not be compared. */
  obstacle = '';
  readonly #subject: Subject;
  readonly #environment: TestEnvironment | null;
  readonly #validate = cachedValidate();
  #current: MailRun | null = null;

  constructor(subject: Subject) {
    this.#subject = subject;
    this.tree = new AgentTree(subject, { tool: (...called) => this.#current!.tool(...called) });
    const { environment } = subject;
    this.#environment = environment === undefined ? null : new TestEnvironment(environment, this.tree.all);
  }

  /** Returns null if the runs cannot be compared. */
  async compare(seed: number): Promise<MailPairResult | null> {
    const one = this.#open(seed, null);
    const acts = await this.#drawActs(one, seed);
    const variation = drawVariation(one, seed);
    return this.#compareRuns(one, await this.#run(seed, variation, acts), { seed, acts, variation });
  }

  /** Repeats a pair on its own, with other acts. */
  async compareActs({ seed, variation }: MailPairResult, acts: readonly Act[]): Promise<MailPairResult | null> {
    const one = await this.#runAlone(seed, null, acts);
    return this.#compareRuns(one, await this.#runAlone(seed, variation, acts), { seed, acts, variation });
  }

  /** Whether the first run gives the same result when it is repeated. */
  async isReproducible({ seed, acts }: MailPairResult): Promise<boolean> {
    const one = await this.#runAlone(seed, null, acts);
    const other = await this.#run(seed, null, acts);
    return firstDifference(collectObservations(one, null), collectObservations(other, null)) === null;
  }

  /** With real tools, runs twice, so that any state the tools keep comes from the same run. */
  async #runAlone(seed: number, variation: MailVariation | null, acts: readonly Act[]): Promise<MailRun> {
    if (this.#subject.realTools === true) await this.#run(seed, variation, acts);
    return this.#run(seed, variation, acts);
  }

  #compareRuns(
    one: MailRun,
    other: MailRun,
    { seed, acts, variation }: Pick<MailPairResult, 'seed' | 'acts' | 'variation'>,
  ): MailPairResult | null {
    const obstacle = findObstacle([one, other], variation);
    if (obstacle !== null) {
      this.obstacle = obstacle;
      return null;
    }
    const compared = compareObservations(collectObservations(one, variation), collectObservations(other, variation));
    return { ...compared, seed, variation, acts, runs: [one, other] };
  }

  async #run(seed: number, variation: MailVariation | null, acts: readonly Act[]): Promise<MailRun> {
    const run = this.#open(seed, variation);
    await run.start();
    for (const act of acts) await run.perform(act);
    await run.close();
    return run;
  }

  #open(seed: number, variation: MailVariation | null): MailRun {
    this.tree.forgetChanges();
    const words = `talk ${seed}`;
    const rng = new Rng(words);
    const root = prepareAgents(this.tree, variation);
    const { messages, topics } = root.agent;
    const other = this.#otherValues(variation);
    const environment = this.#environment;
    const run = new MailRun(this.tree, {
      seed: words,
      root,
      goal: chooseRootGoal(this.#subject, root, { seed: words, validate: this.#validate }),
      resident: messages !== null && rng.percent(50) ? topics.hear.filter(() => rng.percent(70)) : null,
      variation,
      validate: this.#validate,
      usesRealTools: this.#subject.realTools === true,
      ids: `${words} ids`,
      startMs: 1_800_000_000_000,
      hasListeners: rng.percent(25),
      environmentOf: (testAgent) => environment?.render(testAgent, other) ?? null,
      redactFor: environment?.redactFor(other) ?? (() => null),
    });
    this.#current = run;
    return run;
  }

  /** Only for an agent with a unique name: values that all its sessions get, and no other agent. */
  #otherValues(variation: MailVariation | null) {
    if (variation === null || variation.place !== null) return null;
    const candidates = this.tree.all.filter(({ own }) => own.name === variation.agent);
    return candidates.length === 1 ? { testAgent: candidates[0]!, salt: variation.salt } : null;
  }

  async #drawActs(run: MailRun, seed: number): Promise<readonly Act[]> {
    const rng = new Rng(`acts ${seed}`);
    const agents = this.tree.all.map(({ agent }) => agent);
    const acts: Act[] = [];
    const play = async (act: Act): Promise<void> => {
      acts.push(act);
      await run.perform(act);
    };
    await run.start();
    for (let left = actsMin + rng.below(actsMore); left > 0 && !run.isOver; left--)
      for (const act of drawActs(run, agents, rng)) await play(act);
    for (const act of closingActs(run, rng)) await play(act);
    await run.close();
    return acts;
  }
}

const [actsMin, actsMore] = [10, 40];

/** Picks a session that has replied, or all sessions of its agent. */
const drawVariation = ({ cells }: MailRun, seed: number): MailVariation => {
  const rng = new Rng(`pair ${seed}`);
  const sessions = cells.filter(({ isAide }) => !isAide);
  const spoken = sessions.filter(({ replies }) => replies > 0);
  const { place, birth } = rng.pick(spoken.length === 0 ? sessions : spoken);
  return { salt: `salt ${seed}`, agent: birth.agent, place: rng.percent(50) ? null : place };
};

/** Why two runs cannot be compared; null if they can. */
const findObstacle = (runs: readonly MailRun[], variation: MailVariation): string | null => {
  for (const { broken } of runs) if (broken !== null) return `the run broke: ${broken}`;
  const [one, other] = runs.map((run) => {
    const isRoot = run.cells[0] !== undefined && isVariedSession(variation, run.cells[0]);
    return JSON.stringify([variedEndings(run, variation), isRoot ? run.outcome?.status : null]);
  });
  return one === other ? null : `"${variation.place ?? variation.agent}" ended differently in the two runs`;
};

/** How the varied sessions ended, which others can observe. */
const variedEndings = (run: MailRun, variation: MailVariation): readonly string[] =>
  run.frames.slice(0, run.framesAtClose).flatMap(({ record }) => {
    if (record.type !== 'settle' || record.ended === undefined) return [];
    const { cell, outcome } = record.ended;
    const state = run.cellState(cell);
    if (state === undefined || state.isAide || !isVariedSession(variation, state)) return [];
    return [`${state.place} ${outcome.status} ${outcome.failure?.code}`, ...aidesTold(state, outcome)];
  });

/** Aides that a stopped session left, if its parent was told of them with its result. */
const aidesTold = ({ parent }: MailCellState, { missing }: Outcome): readonly string[] =>
  missing.filter(
    (name) =>
      name.startsWith(aideWorkflow) &&
      parent?.observer.observations.some((one) => bytesOf(one).includes(name)) === true,
  );

/** The observations of all other sessions, and of the caller. */
const collectObservations = (run: MailRun, variation: MailVariation | null): Observations => {
  const all = new Map<string, readonly Observation[]>();
  for (const state of run.cells)
    if (!isVariedSession(variation, state)) all.set(state.place, state.observer.observations);
  const outside = run.frames.flatMap(({ contents = [] }) =>
    contents.flatMap(({ to, kind, content }) =>
      to === 'outside'
        ? [createObservation(kind, kind === 'result' ? visibleResult(content) : content.replace(chainField, ''))]
        : [],
    ),
  );
  const outcome = run.outcome === null ? 'null' : visibleResult(JSON.stringify(visibleOutcome(run.outcome, 'varied')));
  return all.set('the caller', [...outside, createObservation('outcome', outcome)]);
};

/** A random id, of the first of the messages that led to this one; nobody is shown it. */
const chainField = /"chain":"[^"]*"/u;

/** A result without the aides of the session, and without the random ids of agents. */
const visibleResult = (content: string): string => {
  const { missing = [], spawned = [], ...rest } = JSON.parse(content) as Partial<Outcome>;
  const isPublic = (name: string): boolean => !name.startsWith(aideWorkflow);
  return JSON.stringify({
    ...rest,
    missing: missing.filter(isPublic),
    spawned: spawned.filter(({ agent }) => isPublic(agent)).map(({ cell: _cell, ...one }) => one),
  });
};
