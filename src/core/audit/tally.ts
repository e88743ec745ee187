// What a cell used, counted from its frames. Money is whole nano-dollars here, so that sums add up exactly.
import type { Amounts, FrameRecord, Spent } from '#contracts';

export type BeginFrameRecord = Extract<FrameRecord, { type: 'begin' }>;
export type SettleFrameRecord = Extract<FrameRecord, { type: 'settle' }>;

export type Tally = {
  inputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  /** Null as soon as one price was not known. */
  nanoUsd: number | null;
  steps: number;
  spawns: number;
  uncertain: number;
};

export const noTally = (): Tally => ({
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
  tally.nanoUsd = plus(tally.nanoUsd, cost.nanoUsd);
};

export const addUncertain = (tally: Tally, uncertain: Amounts): void => {
  if (uncertain.nanoUsd === undefined && (uncertain.tokens ?? 0) > 0) tally.nanoUsd = null;
  tally.uncertain += uncertain.tokens ?? 0;
};

type Tallied = { readonly own: Tally; readonly children: readonly Tallied[] };

/** A cell's own and its children's; `known` gives a child's total where it is already fixed. */
export const totalOf = <T extends Tallied & { readonly children: readonly T[] }>(
  cell: T,
  known: (child: T) => Tally | undefined = () => undefined,
): Tally => {
  const total = { ...cell.own };
  for (const child of cell.children) {
    const below = known(child) ?? totalOf(child, known);
    total.inputTokens += below.inputTokens;
    total.cacheReadTokens += below.cacheReadTokens;
    total.cacheWriteTokens += below.cacheWriteTokens;
    total.outputTokens += below.outputTokens;
    total.nanoUsd = plus(total.nanoUsd, below.nanoUsd);
    total.steps += below.steps;
    total.spawns += below.spawns;
    total.uncertain += below.uncertain;
  }
  return total;
};

export const spentOf = (tally: Tally, ms: number): Spent => ({
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

export const plus = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one + other;
