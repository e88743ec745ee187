// Counts what a cell used, from its frames. Money is in whole nano-dollars, so that sums are exact.
import type { Amounts, RecordOf, Spent } from '#contracts';

export type BeginFrameRecord = RecordOf<'begin'>;
export type SettleFrameRecord = RecordOf<'settle'>;

export type Tally = {
  inputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  /** Null once one price is unknown. */
  nanoUsd: number | null;
  steps: number;
  spawns: number;
  uncertain: number;
};

export const emptyTally = (): Tally => ({
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  nanoUsd: 0,
  steps: 0,
  spawns: 0,
  uncertain: 0,
});

export const addBegin = (tally: Tally, begin: BeginFrameRecord): void => {
  if (typeof begin.about?.['step'] === 'number') tally.steps++;
  if (begin.birth !== undefined) tally.spawns++;
};

export const addSettle = (tally: Tally, { cost, uncertain }: SettleFrameRecord): void => {
  if (uncertain !== undefined) addUncertain(tally, uncertain);
  if (cost === undefined) return;
  tally.inputTokens += cost.usage.inputTokens;
  tally.cacheReadTokens += cost.usage.cacheReadTokens;
  tally.cacheWriteTokens += cost.usage.cacheWriteTokens;
  tally.outputTokens += cost.usage.outputTokens;
  tally.nanoUsd = addOrNull(tally.nanoUsd, cost.nanoUsd);
};

export const addUncertain = (tally: Tally, uncertain: Amounts): void => {
  if (uncertain.nanoUsd === undefined && (uncertain.tokens ?? 0) > 0) tally.nanoUsd = null;
  tally.uncertain += uncertain.tokens ?? 0;
};

/** `below`: what children used that are not listed any more. */
type TallyTree = { readonly own: Tally; readonly below?: Tally | undefined; readonly children: readonly TallyTree[] };

export const addTally = (total: Tally, more: Tally): void => {
  total.inputTokens += more.inputTokens;
  total.cacheReadTokens += more.cacheReadTokens;
  total.cacheWriteTokens += more.cacheWriteTokens;
  total.outputTokens += more.outputTokens;
  total.nanoUsd = addOrNull(total.nanoUsd, more.nanoUsd);
  total.steps += more.steps;
  total.spawns += more.spawns;
  total.uncertain += more.uncertain;
};

/** The cell's own tally plus its children's. `knownTotal` returns a child's total if it is already final. */
export const sumTally = <T extends TallyTree & { readonly children: readonly T[] }>(
  cell: T,
  knownTotal: (child: T) => Tally | undefined = () => undefined,
): Tally => {
  const total = { ...cell.own };
  if (cell.below !== undefined) addTally(total, cell.below);
  for (const child of cell.children) addTally(total, knownTotal(child) ?? sumTally(child, knownTotal));
  return total;
};

export const toSpent = (tally: Tally, ms: number): Spent => ({
  inputTokens: tally.inputTokens,
  cacheReadTokens: tally.cacheReadTokens,
  cacheWriteTokens: tally.cacheWriteTokens,
  outputTokens: tally.outputTokens,
  usd: tally.nanoUsd === null ? null : tally.nanoUsd / 1e9,
  ms,
  steps: tally.steps,
  spawns: tally.spawns,
  uncertain: tally.uncertain,
});

const addOrNull = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one + other;
