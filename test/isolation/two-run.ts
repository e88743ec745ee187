// The two-run comparison: the same workflow is run twice, with different private content in one cell, and every byte that the
// other cells could observe is compared. It does not use vitest, because a plain process runs it in planted copies.
import fc from 'fast-check';
import { childState, ending, watchParent } from './child-varies.ts';
import type { Cloister } from './fake-world.ts';
import { firstDifference } from './observer.ts';
import type { Difference, Observation } from './observer.ts';
import { parentState, watchChild, watchedGoal } from './parent-varies.ts';
import { repeatCommand } from '../test-seed.ts';

export type Direction = 'down' | 'up';
export type Pairs = { readonly pairs: number; readonly seed?: number; readonly path?: string };
export type Report = {
  readonly direction: Direction;
  readonly pairs: number;
  readonly sights: number;
  readonly bytes: number;
  readonly difference: (Difference & { readonly seed: number; readonly path: string }) | null;
};

/** `down`: the parent's privacy from the child. `up`: the child's from its parent and sibling. Stops at the first difference. */
export const comparePairs = async (cloister: Cloister, direction: Direction, options: Pairs): Promise<Report> => {
  const seen = { pairs: 0, sights: 0, bytes: 0 };
  let difference: Difference | null = null;
  const compare = (one: readonly Observation[], other: readonly Observation[]): boolean => {
    seen.pairs++;
    seen.sights += one.length;
    for (const { bytes } of one) seen.bytes += bytes.length;
    difference = firstDifference(one, other);
    return difference === null;
  };
  const { seed, path, pairs: numRuns } = options;
  const parameters = {
    numRuns,
    endOnFailure: true,
    ...(seed !== undefined && { seed }),
    ...(path !== undefined && { path }),
  };
  const details =
    direction === 'down'
      ? await fc.check(down(cloister, compare), parameters)
      : await fc.check(up(cloister, compare), parameters);
  const at = { seed: details.seed, path: details.counterexamplePath ?? '' };
  if (difference === null && details.failed)
    throw new Error(`A run failed. ${repeatHint(at)}`, { cause: details.errorInstance });
  return { direction, ...seen, difference: difference === null ? null : { ...(difference as Difference), ...at } };
};

type Compare = (one: readonly Observation[], other: readonly Observation[]) => boolean;

/** One in this many pairs also compares what people are shown of the child. */
const recordsEvery = 16;

const down = (cloister: Cloister, compare: Compare) => {
  let pair = 0;
  return fc.asyncProperty(watchedGoal, parentState, parentState, async (goal, one, other) => {
    const records = pair++ % recordsEvery === 0;
    return compare(await watchChild(cloister, goal, one, records), await watchChild(cloister, goal, other, records));
  });
};

const up = (cloister: Cloister, compare: Compare) =>
  fc.asyncProperty(fc.record({ ending, viaGather: fc.boolean() }), childState, childState, async (fixed, one, other) =>
    compare(await watchParent(cloister, fixed, one), await watchParent(cloister, fixed, other)),
  );

/** The message of a failing comparison. */
export const differenceText = ({ direction, difference }: Report): string =>
  difference === null
    ? 'no difference'
    : [
        `${direction}: the two runs differ in "${difference.sink}" at character ${difference.offset}`,
        `  one:   …${JSON.stringify(difference.one)}`,
        `  other: …${JSON.stringify(difference.other)}`,
        repeatHint(difference),
      ].join('\n');

const repeatHint = (at: { readonly seed: number; readonly path: string }): string =>
  `Repeat: ${repeatCommand({ ...at, file: 'test/isolation/two-run.test.ts' })}`;
