/** One figure of a benchmark, and what it should be. */
export type Line = {
  readonly what: string;
  readonly unit: string;
  /** The side compared with; null when there is none. */
  readonly raw: number | null;
  readonly cloister: number;
  /** What the target is about: a ratio, a share, or the measured value itself. */
  readonly figure: number;
  readonly figureUnit: string;
  /** Null: for comparison only. */
  readonly target: { readonly atMost: number } | { readonly atLeast: number } | null;
  readonly note?: string;
};

export type Benchmark = { readonly name: string; readonly about: string; run(): Promise<readonly Line[]> };

/** Null when nothing was promised. */
export const isMet = ({ figure, target }: Line): boolean | null =>
  target === null ? null : 'atMost' in target ? figure <= target.atMost : figure >= target.atLeast;
