// Pairs of runs of agents that call each other, with the same seed, which differ in the private content of one cell.
//
//   pair-private-differs. All private content of that cell differs: replies, results, files, turns, usage, delays, failures,
//       and sometimes its agent's instructions and settings. What it passes on is the same: its children's goals, its answer,
//       how it ends.
//   pair-compares-every-byte. Every byte that reaches another cell's models, tools, files, environment and clients is
//       compared. Ids are compared by the place they stand for.
//   pair-by-seed. A pair depends only on its seed.
import { limitBehind } from '#base';
import type { ErrorCode } from '#base';
import { AgentTree } from './agent-tree.ts';
import type { TestAgent } from './agent-tree.ts';
import type { CallCell } from './call-cell.ts';
import { CallRun } from './call-run.ts';
import { changeAgent, namesakes } from './change-agent.ts';
import { cellOperations, nothingVaried, Pairs } from './check-pairs.ts';
import type { DifferenceFound } from './check-pairs.ts';
import { compareObservations, firstDifference } from './observer.ts';
import type { ObservationComparison } from './observer.ts';
import { chooseRootGoal } from './plan.ts';
import type { Plan, PlannedEnding } from './plan.ts';
import { Rng } from './rng.ts';
import { caseSizes, groupOfSeed, seedsOfSize, sizeOfGroup } from './case-size.ts';
import type { Subject } from './subject.ts';

/** What differs from the first run: one cell, or all cells at one path of the tree and then their agent's definition as well. */
type Variation = {
  readonly salt: string;
  readonly path: string;
  readonly testAgent: TestAgent;
  /** Null: all cells at that path. */
  readonly place: string | null;
};

type CallPair = ObservationComparison & {
  /** The number of records of both runs: a measure of how long the case is. */
  readonly weight: number;
  readonly variation: Variation;
  readonly runs: readonly [CallRun, CallRun];
};

/** `isAlone`: the difference shows in the two runs on their own, whatever ran before. */
type FailingCase = { readonly seed: number; readonly pair: CallPair; readonly isAlone: boolean };

/** Seeds to try of each size. */
const triesPerSize = 96;

export class CallPairs extends Pairs<CallRun, CallPair> {
  readonly tree: AgentTree;
  readonly #recordsEvery: number;
  #group = -1;
  #plans = new Map<string, Plan>();
  #first: { readonly group: number; readonly run: CallRun } | null = null;

  /** `recordsEvery`: only every nth pair also compares records and events, which takes as long as the runs. */
  constructor(subject: Subject, recordsEvery = 1) {
    super(subject);
    this.#recordsEvery = recordsEvery;
    this.tree = new AgentTree(subject, this.handler);
  }

  protected override get testAgents(): readonly TestAgent[] {
    return this.tree.all;
  }

  /** Null if what the cell passes on is different. `fresh`: with a first run of its own, as if nothing had run before. */
  override async compare(seed: number, fresh = false): Promise<CallPair | null> {
    const group = groupOfSeed(seed);
    if (fresh || this.#first?.group !== group) this.#first = { group, run: await this.run(group, null) };
    const one = this.#first.run;
    const variation = drawVariation(one, seed);
    const compared = compareRuns([one, await this.run(group, variation)], variation, seed % this.#recordsEvery === 0);
    if (typeof compared !== 'string') return compared;
    this.obstacle = compared;
    return null;
  }

  /** Without a variation, this is the first run of a group. */
  async run(group: number, variation: Variation | null): Promise<CallRun> {
    const seed = `group ${group}`;
    const size = caseSizes[sizeOfGroup(group)]!;
    if (this.#group !== group) this.#plans = new Map();
    this.#group = group;
    const rng = new Rng(`${seed} ${variation?.salt ?? ''} world`);
    const run = new CallRun(this.tree, {
      ...this.world(this.#otherValues(variation)),
      seed,
      plans: this.#plans,
      size,
      root: this.#prepareRoot(variation, rng),
      goal: chooseRootGoal(this.subject, this.tree.root, { seed, validate: this.validate }),
      budget: this.tree.budgetFor(20 + new Rng(seed).below(30)),
      ids: rng.hex(),
      // Prompts may contain the date on which the run started.
      startMs: this.tree.usesDates ? 1_800_000_000_000 : rng.bits() * 500,
      saltOf: (place, path) => (variation !== null && isVariedAt(variation, { place, path }) ? variation.salt : ''),
      hasListeners: size.hasListeners,
    });
    this.current = run;
    await run.run();
    this.tree.forgetChanges();
    return run;
  }

  /** Only for an agent at a single place: values that all its sessions get, and no other agent. */
  #otherValues(variation: Variation | null) {
    return variation?.place === null && this.tree.countPlaces(variation.testAgent) <= 1 ? variation : null;
  }

  #prepareRoot(variation: Variation | null, rng: Rng): TestAgent {
    if (variation === null || variation.place !== null) return this.tree.root;
    const names = namesakes(this.tree.all.map(({ agent }) => agent));
    return this.tree.withChangeAt(variation.path, (options) => changeAgent(options, rng, names));
  }

  override async explain(found: CallPair, at: number): Promise<DifferenceFound> {
    const { pair, seed, isAlone } = await this.#shortestCase(found, at);
    return {
      ...pair.difference!,
      varied: (await this.#isReproducible(seed)) ? variedName(pair) : nothingVaried,
      shortest: describePair(pair),
      // A difference that shows only after other runs is reproduced by repeating all of them.
      seed: isAlone ? seed : null,
      isProof: true,
    };
  }

  /** Whether a group's first run gives the same result when it is repeated. */
  async #isReproducible(seed: number): Promise<boolean> {
    const group = groupOfSeed(seed);
    const [one, other] = [await this.run(group, null), await this.run(group, null)];
    const nobody = (): boolean => false;
    return firstDifference(one.observations(nobody, true), other.observations(nobody, true)) === null;
  }

  /** Looks for a shorter case: among the seeds of smaller sizes, the one with the fewest records. */
  async #shortestCase(found: CallPair, seed: number): Promise<FailingCase> {
    const first = (await this.#compareAlone(seed)) ?? { seed, pair: found, isAlone: false };
    const largest = sizeOfGroup(groupOfSeed(seed));
    for (let size = 0; size <= largest; size++) {
      const best = await this.#shortestOfSize(size, seed);
      if (best !== null) return first.isAlone && first.pair.weight <= best.pair.weight ? first : best;
    }
    return first;
  }

  async #shortestOfSize(size: number, near: number): Promise<FailingCase | null> {
    let best: FailingCase | null = null;
    for (const seed of seedsOfSize(size, near, triesPerSize)) {
      const pair = await this.compare(seed);
      if (pair === null || pair.difference === null) continue;
      if (best === null || pair.weight < best.pair.weight) best = (await this.#compareAlone(seed)) ?? best;
    }
    return best;
  }

  /** Repeats the pair on its own; null if it shows no difference then. */
  async #compareAlone(seed: number): Promise<FailingCase | null> {
    const pair = await this.compare(seed, true);
    return pair === null || pair.difference === null ? null : { seed, pair, isAlone: true };
  }
}

const isVariedAt = (variation: Variation, { place, path }: Pick<CallCell, 'place' | 'path'>): boolean =>
  variation.place === null ? variation.path === path : variation.place === place;

/** Returns the reason as text if the runs cannot be compared. */
const compareRuns = (runs: CallPair['runs'], variation: Variation, withRecords: boolean): CallPair | string => {
  const isVaried = (state: CallCell): boolean => isVariedAt(variation, state);
  const endings = runs.map((run) => collectEndings(run, isVaried));
  const unexpected = endings.find((ends) => typeof ends === 'string');
  if (unexpected !== undefined) return unexpected;
  if (JSON.stringify(endings[0]) !== JSON.stringify(endings[1]))
    return `"${variation.path}" ended differently in the two runs`;
  const [one, other] = runs;
  return {
    ...compareObservations(one.observations(isVaried, withRecords), other.observations(isVaried, withRecords)),
    weight: one.frames.length + other.frames.length,
    variation,
    runs,
  };
};

/** Picks any cell of the run, the root included. */
const drawVariation = (first: CallRun, seed: number): Variation => {
  const rng = new Rng(`pair ${seed}`);
  const { planned, path, place } = rng.pick(first.cells);
  return { salt: `salt ${seed}`, path, testAgent: planned.testAgent, place: rng.percent(15) ? null : place };
};

/** How the varied cells ended, without their output, which is compared where their callers see it. As text: why not as planned. */
const collectEndings = (run: CallRun, isVaried: (state: CallCell) => boolean): readonly string[] | string => {
  const ended: string[] = [];
  for (const state of run.cells) {
    if (!isVaried(state)) continue;
    const { status, failure = null, missing } = run.outcomeOf(state) ?? {};
    const code = failure?.code ?? null;
    if (!expectedCodes[state.plan.ending].includes(code)) return `"${state.place}" ended with ${code ?? 'an answer'}`;
    const limit = failure === null ? undefined : limitBehind(failure);
    ended.push(JSON.stringify([state.place, status, code, limit, missing]));
  }
  return ended.sort();
};

/** The codes that each ending may have. A cell stopped by anything else would return its latest text, which is private. */
const expectedCodes: Record<PlannedEnding, readonly (ErrorCode | null)[]> = {
  answer: [null, 'turns_used'],
  'cut answer': ['model_length', 'turns_used'],
  'last turn': [null, 'turns_used'],
  refused: ['model_request'],
  limit: ['agent_limit'],
  unlisted: ['tool_failed'],
  unfitting: ['answer_schema'],
  hang: ['agent_limit', 'model_timeout'],
  empty: ['model_empty'],
};

const variedName = ({ variation }: CallPair): string =>
  variation.place ?? `every "${variation.path.replaceAll('/', ' › ')}"`;

/** One line: the cells, and what the varied cell did in each run. */
const describePair = (pair: CallPair): string => {
  const { runs, variation } = pair;
  const [one, other] = runs.map(({ frames, cells }) =>
    cellOperations(
      frames,
      cells.filter((state) => isVariedAt(variation, state)),
    ),
  );
  const places = [...new Set(runs.flatMap(({ cells }) => cells.map(({ place }) => place)))];
  const how = variation.place === null ? ', with other instructions and settings' : '';
  return `${places.length} ${places.length === 1 ? 'cell' : 'cells'} (${places.join(', ')}); ${variedName(pair)}${how}: ${one} | ${other}`;
};
