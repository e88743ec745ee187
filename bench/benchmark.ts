/** One measurement of a benchmark, and its target. */
export type Line = {
  readonly what: string;
  readonly unit: string;
  /** The baseline; null when there is none. */
  readonly raw: number | null;
  readonly cloister: number;
  /** The value the target applies to: a ratio, a percentage, or the measured value itself. */
  readonly figure: number;
  readonly figureUnit: string;
  /** Null when the line is for comparison only. */
  readonly target: { readonly atMost: number } | { readonly atLeast: number } | null;
  readonly note?: string;
};

export type Benchmark = { readonly name: string; readonly about: string; run(): Promise<readonly Line[]> };

/** Null when there is no target. */
export const isMet = ({ figure, target }: Line): boolean | null =>
  target === null ? null : 'atMost' in target ? figure <= target.atMost : figure >= target.atLeast;
