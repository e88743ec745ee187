// Compares the pairs of one kind until one differs, and counts what was compared.
import type { VerifyDifference } from '#contracts';
import type { ObservationComparison } from './observer.ts';

export type PairCheckOptions = {
  readonly seed: number;
  readonly pairs: number;
  readonly signal?: AbortSignal | undefined;
  readonly progress: (pairs: number) => void;
  /** The call or command that runs these pairs again. */
  readonly again: (seed: number, pairs: number) => string;
};

export type PairCheckReport = {
  readonly pairs: number;
  readonly sights: number;
  readonly bytes: number;
  readonly differences: readonly VerifyDifference[];
  readonly notes: readonly string[];
};

/** What a difference means: the shortest case that shows it, and what was varied. */
export type DifferenceFound = Omit<VerifyDifference, 'again'> & {
  /** The seed with which the case shows on its own; null if only all pairs so far show it. */
  readonly seed: number | null;
  /** Whether it shows only when something is varied. Otherwise it proves nothing, and the search goes on. */
  readonly isProof: boolean;
};

type PairSource<Pair extends ObservationComparison> = {
  /** Why the latest incomparable pair could not be compared. */
  readonly obstacle: string;
  /** Null: this pair cannot be compared. */
  compare(seed: number): Promise<Pair | null>;
};

type PairView<Pair> = {
  readonly explain: (pair: Pair, seed: number) => Promise<DifferenceFound>;
  readonly tally?: (pair: Pair) => void;
  /** What the pairs are called in the report. */
  readonly noun: string;
};

export const checkPairs = async <Pair extends ObservationComparison>(
  source: PairSource<Pair>,
  { seed, pairs: wanted, signal, progress, again }: PairCheckOptions,
  { explain, tally, noun }: PairView<Pair>,
): Promise<PairCheckReport> => {
  const seen = { pairs: 0, sights: 0, bytes: 0 };
  let found: VerifyDifference | null = null;
  let isProven = false;
  // Some pairs cannot be compared; the next seed replaces them.
  for (let at = seed; seen.pairs < wanted && at < seed + 4 * wanted + 64 && !isProven; at++) {
    if (signal?.aborted === true) break;
    const compared = await source.compare(at);
    if (compared === null) continue;
    seen.pairs++;
    seen.sights += compared.observations;
    seen.bytes += compared.bytes;
    tally?.(compared);
    progress(seen.pairs);
    if (compared.difference === null) continue;
    const { seed: alone, isProof, ...difference } = await explain(compared, at);
    isProven = isProof;
    if (found === null || isProof)
      found = { ...difference, again: alone === null ? again(seed, seen.pairs) : again(alone, 1) };
  }
  const isShort = seen.pairs < wanted && found === null;
  const because = source.obstacle === '' ? '' : `; one could not be: ${source.obstacle}`;
  return {
    ...seen,
    differences: found === null ? [] : [found],
    notes: isShort ? [`Only ${seen.pairs} of ${wanted} ${noun} were compared${because}.`] : [],
  };
};

/** For a difference that a repeated run shows too. */
export const nothingVaried = 'nothing (the same run gives a different result when repeated)';
