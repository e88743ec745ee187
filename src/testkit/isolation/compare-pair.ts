// A pair: two runs of one seed that differ in what one cell keeps to itself, and what all others were told in them.
//
//   N1. Everything private of that cell differs: replies, results, files, turns, usage, delays, failures, and at times what its
//       agent is told and how it is set up. What it passes on does not: the goals it gives, its answer, how it ends.
//   N2. Every byte that another cell's model, tools, files, environment and clients are told is compared, ids by their place.
//   N3. A pair follows from its seed alone.
import type { ErrorCode } from '#base';
import { Rng } from './rng.ts';
import { groupOf } from './case-size.ts';
import { firstDifference } from './observer.ts';
import type { Difference } from './observer.ts';
import type { PlannedEnding } from './plan.ts';
import type { ObservedRun } from './observed-run.ts';
import { isVariedAt } from './isolation-setup.ts';
import type { IsolationSetup, Variation } from './isolation-setup.ts';
import type { CellState } from './cell-state.ts';

export type PairResult = {
  readonly sights: number;
  readonly bytes: number;
  readonly difference: Difference | null;
  /** How many operations the two runs took: what makes a case long. */
  readonly weight: number;
  readonly variation: Variation;
  readonly runs: readonly [ObservedRun, ObservedRun];
};

export class Pairs {
  readonly #scene: IsolationSetup;
  readonly #recordsEvery: number;
  #group = -1;
  /** Why the newest pair that could not be compared could not be. */
  obstacle = '';
  #first: ObservedRun | null = null;

  /** `recordsEvery`: one pair in so many also compares what the log and its clients tell, which takes as long as the runs. */
  constructor(scene: IsolationSetup, recordsEvery = 1) {
    this.#scene = scene;
    this.#recordsEvery = recordsEvery;
  }

  /**
   * Null when the two runs cannot be compared: what the cell passes on came out differently. `anew`: with a first run of its
   * own, as if nothing had run before.
   */
  async compare(seed: number, anew = false): Promise<PairResult | null> {
    const group = groupOf(seed);
    if (anew || this.#first === null || this.#group !== group) this.#first = await this.#scene.play(group, null);
    this.#group = group;
    const one = this.#first;
    const variation = variationOf(one, seed);
    const other = await this.#scene.play(group, variation);
    const compared = compareRuns(one, other, variation, seed % this.#recordsEvery === 0);
    if (typeof compared !== 'string') return compared;
    this.obstacle = compared;
    return null;
  }

  /** Whether a group's first run shows the same when it is played again. */
  async isSteady(seed: number): Promise<boolean> {
    const group = groupOf(seed);
    const [one, other] = [await this.#scene.play(group, null), await this.#scene.play(group, null)];
    const nobody = (): boolean => false;
    return firstDifference(one.sights(nobody, true), other.sights(nobody, true)) === null;
  }
}

/** In words, when they cannot be compared: why. */
const compareRuns = (
  one: ObservedRun,
  other: ObservedRun,
  variation: Variation,
  withRecords: boolean,
): PairResult | string => {
  const isVaried = ({ born, path }: CellState): boolean => isVariedAt(variation, born.place, path);
  const passed = [one, other].map((played) => passedOn(played, isVaried));
  const unplanned = passed.find((ends) => typeof ends === 'string');
  if (unplanned !== undefined) return unplanned;
  if (JSON.stringify(passed[0]) !== JSON.stringify(passed[1])) return `"${variation.path}" ended in two ways`;
  const [first, second] = [one.sights(isVaried, withRecords), other.sights(isVaried, withRecords)];
  let [sights, bytes] = [0, 0];
  for (const seen of first.values()) {
    sights += seen.length;
    for (const { length } of seen) bytes += length;
  }
  return {
    sights,
    bytes,
    difference: firstDifference(first, second),
    weight: one.run.frames.length + other.run.frames.length,
    variation,
    runs: [one, other],
  };
};

/** Any cell that occurs, the root included. */
const variationOf = (first: ObservedRun, seed: number): Variation => {
  const chance = new Rng(`pair ${seed}`);
  const { born, path } = chance.pick(first.seats);
  return {
    salt: `salt ${seed}`,
    path,
    part: born.part,
    place: chance.percent(15) ? null : born.place,
  };
};

/** How those that keep something ended; their words are compared as their callers see them. In words: why not as planned. */
const passedOn = (played: ObservedRun, isVaried: (seat: CellState) => boolean): readonly string[] | string => {
  const ended: string[] = [];
  for (const seat of played.seats) {
    if (!isVaried(seat)) continue;
    const { status, failure = null, missing } = played.outcomeOf(seat) ?? {};
    const code = failure?.code ?? null;
    if (!planned[seat.plan.ending].includes(code)) return `"${seat.born.place}" ended with ${code ?? 'an answer'}`;
    ended.push(JSON.stringify([seat.born.place, status, code, missing]));
  }
  return ended.sort();
};

/** With what each ending may come. Stopped by anything else, its newest words would be its result. */
const planned: Record<PlannedEnding, readonly (ErrorCode | null)[]> = {
  answer: [null, 'turns_used'],
  'cut answer': [null, 'turns_used'],
  'last turn': [null, 'turns_used'],
  refused: ['model_request'],
  limit: ['agent_limit'],
  unlisted: ['tool_failed'],
  unfitting: ['answer_schema'],
  hang: ['agent_limit', 'model_timeout'],
  empty: ['model_empty'],
};
