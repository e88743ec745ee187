// Compares a pair: two runs with the same seed that differ in the private content of one cell.
//
//   pair-private-differs. All private content of that cell differs: replies, results, files, turns, usage, delays, failures,
//       and sometimes its agent's instructions and settings. What it passes on is the same: its children's goals, its answer,
//       how it ends.
//   pair-compares-every-byte. Every byte that reaches another cell's models, tools, files, environment and clients is
//       compared. Ids are compared by the place they stand for.
//   pair-by-seed. A pair depends only on its seed.
import { limitBehind } from '#base';
import type { ErrorCode } from '#base';
import { Rng } from './rng.ts';
import { groupOfSeed } from './case-size.ts';
import { compareObservations, firstDifference } from './observer.ts';
import type { ObservationComparison } from './observer.ts';
import type { PlannedEnding } from './plan.ts';
import type { ObservedRun } from './observed-run.ts';
import { isVariedAt } from './isolation-setup.ts';
import type { IsolationSetup, Variation } from './isolation-setup.ts';
import type { CellState } from './cell-state.ts';

export type PairResult = ObservationComparison & {
  /** The number of records of both runs: a measure of how long the case is. */
  readonly weight: number;
  readonly variation: Variation;
  readonly runs: readonly [ObservedRun, ObservedRun];
};

export class Pairs {
  readonly #setup: IsolationSetup;
  readonly #recordsEvery: number;
  #group = -1;
  /** Why the latest incomparable pair could not be compared. */
  obstacle = '';
  #first: ObservedRun | null = null;

  /** `recordsEvery`: only every nth pair also compares records and events, which takes as long as the runs. */
  constructor(scene: IsolationSetup, recordsEvery = 1) {
    this.#setup = scene;
    this.#recordsEvery = recordsEvery;
  }

  /**
   * Returns null if the runs cannot be compared because what the cell passes on is different. `fresh`: with a first run of its
   * own, as if nothing had run before.
   */
  async compare(seed: number, fresh = false): Promise<PairResult | null> {
    const group = groupOfSeed(seed);
    if (fresh || this.#first === null || this.#group !== group) this.#first = await this.#setup.run(group, null);
    this.#group = group;
    const one = this.#first;
    const variation = drawVariation(one, seed);
    const other = await this.#setup.run(group, variation);
    const compared = compareRuns(one, other, variation, seed % this.#recordsEvery === 0);
    if (typeof compared !== 'string') return compared;
    this.obstacle = compared;
    return null;
  }

  /** Whether a group's first run gives the same result when it is repeated. */
  async isReproducible(seed: number): Promise<boolean> {
    const group = groupOfSeed(seed);
    const [one, other] = [await this.#setup.run(group, null), await this.#setup.run(group, null)];
    const nobody = (): boolean => false;
    return firstDifference(one.observations(nobody, true), other.observations(nobody, true)) === null;
  }
}

/** Returns the reason as text if the runs cannot be compared. */
const compareRuns = (
  one: ObservedRun,
  other: ObservedRun,
  variation: Variation,
  withRecords: boolean,
): PairResult | string => {
  const isVaried = ({ planned, path }: CellState): boolean => isVariedAt(variation, planned.place, path);
  const endings = [one, other].map((run) => collectEndings(run, isVaried));
  const unexpected = endings.find((ends) => typeof ends === 'string');
  if (unexpected !== undefined) return unexpected;
  if (JSON.stringify(endings[0]) !== JSON.stringify(endings[1]))
    return `"${variation.path}" ended differently in the two runs`;
  return {
    ...compareObservations(one.observations(isVaried, withRecords), other.observations(isVaried, withRecords)),
    weight: one.run.frames.length + other.run.frames.length,
    variation,
    runs: [one, other],
  };
};

/** Picks any cell of the run, the root included. */
const drawVariation = (first: ObservedRun, seed: number): Variation => {
  const rng = new Rng(`pair ${seed}`);
  const { planned, path } = rng.pick(first.cells);
  return {
    salt: `salt ${seed}`,
    path,
    testAgent: planned.testAgent,
    place: rng.percent(15) ? null : planned.place,
  };
};

/** How the varied cells ended, without their output, which is compared where their callers see it. As text: why not as planned. */
const collectEndings = (run: ObservedRun, isVaried: (state: CellState) => boolean): readonly string[] | string => {
  const ended: string[] = [];
  for (const state of run.cells) {
    if (!isVaried(state)) continue;
    const { status, failure = null, missing } = run.outcomeOf(state) ?? {};
    const code = failure?.code ?? null;
    if (!expectedCodes[state.plan.ending].includes(code))
      return `"${state.planned.place}" ended with ${code ?? 'an answer'}`;
    const limit = failure === null ? undefined : limitBehind(failure);
    ended.push(JSON.stringify([state.planned.place, status, code, limit, missing]));
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
