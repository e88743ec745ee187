// Two runs side by side: which cells did the same, and where the others part.
//
//   R1. Reads frames only; a log that lacks something is told as far as it goes.
//   R2. A run is the same as itself, and swapping the two runs swaps the sides and nothing else.
import { canonicalJson } from '#base';
import type { CellId, RunId } from '#base';
import type { CellDiff, CellSide, Frame, LedgerEntry, RunDiff } from '#contracts';
import { namesOf, pairCells } from './pair-cells.ts';
import type { Pair } from './pair-cells.ts';
import { outcomeFingerprint, compareCells } from './compare-cells.ts';
import { readFrame, startRecords } from './records.ts';
import type { CellRecords } from './records.ts';
import { spentOf, totalOf } from './tally.ts';

/** Each is one run in the order of its log. */
export const diffRuns = (one: readonly Frame[], other: readonly Frame[]): RunDiff => {
  const [left, right] = [readRun(one), readRun(other)];
  const cells = pairCells(left.root, right.root).map((pair) => diffCells(pair, left, right));
  return {
    one: left.run,
    other: right.run,
    fork: forkIn(other, left.run) ?? forkIn(one, right.run),
    sameFrames: sameFrames(one, other),
    same: cells.every(({ same }) => same),
    cells,
  };
};

type ReadRun = {
  readonly run: RunId;
  readonly root: CellRecords | undefined;
  /** The time of its newest frame. */
  readonly now: number;
  readonly names: ReadonlyMap<CellId, string>;
  readonly ledgers: ReadonlyMap<CellId, readonly LedgerEntry[]>;
};

const readRun = (frames: readonly Frame[]): ReadRun => {
  const records = startRecords();
  const ledgers = new Map<CellId, LedgerEntry[]>();
  for (const frame of frames) {
    readFrame(records, frame);
    for (const { cell, entries } of frame.links ?? []) {
      const ledger = ledgers.get(cell) ?? [];
      ledgers.set(cell, ledger);
      ledger.push(...entries);
    }
  }
  const { root } = records;
  return { run: frames[0]?.run ?? ('' as RunId), root, now: frames.at(-1)?.at ?? 0, names: namesOf(root), ledgers };
};

/** A fork of a fork has a record for each, from different runs. */
const forkIn = (frames: readonly Frame[], origin: RunId): RunDiff['fork'] => {
  for (const { run, record } of frames)
    if (record.type === 'fork' && record.from.run === origin)
      return { run, from: record.from, amendment: record.amendment };
  return null;
};

const sameFrames = (one: readonly Frame[], other: readonly Frame[]): number => {
  const parting = one.findIndex((frame, index) => frameText(frame) !== frameText(other[index]));
  return parting === -1 ? one.length : parting;
};

const frameText = (frame: Frame | undefined): string =>
  canonicalJson(frame === undefined ? null : { ...frame, run: '' });

const diffCells = ({ place, one, other }: Pair, left: ReadRun, right: ReadRun): CellDiff => {
  const sides = { one: sideOf(one, left), other: sideOf(other, right) };
  if (one === undefined || other === undefined) return { place, ...sides, same: false, parts: null };
  const parts = compareCells(one, other);
  const same = parts === null && endPrint(one, left) === endPrint(other, right);
  return { place, ...sides, same, parts };
};

/** All that is compared besides the operations: what it is, what crossed, how it ended. */
const endPrint = ({ birth, end }: CellRecords, run: ReadRun): string =>
  canonicalJson({
    definition: birth.digest,
    end: outcomeFingerprint(end?.outcome),
    // In no order: what crosses at the same time may come in either.
    crossings: ledgerOf(birth.cell, run)
      .map((entry) => `${crossingWords(entry, run)} ${entry.grant ?? ''} ${entry.sha256} ${entry.labels.join(' ')}`)
      .sort(),
  });

const sideOf = (cell: CellRecords | undefined, run: ReadRun): CellSide | null => {
  if (cell === undefined) return null;
  const { birth, startedAt, end, operations } = cell;
  return {
    cell: birth.cell,
    status: end?.outcome.status ?? null,
    output: end?.outcome.output ?? '',
    spent: spentOf(totalOf(cell), (end?.at ?? run.now) - startedAt),
    models: [...new Set([...operations.values()].flatMap(({ attempt }) => attempt?.model ?? []))],
    crossings: ledgerOf(birth.cell, run).map((entry) => crossingWords(entry, run)),
  };
};

const ledgerOf = (cell: CellId, { ledgers }: ReadRun): readonly LedgerEntry[] => ledgers.get(cell) ?? [];

/** `goal from lead`, `result to lead refused: no-grant`. A goal that was refused leads to a cell that never was. */
const crossingWords = ({ way, kind, other, verdict }: LedgerEntry, { names }: ReadRun): string => {
  const end = other === 'outside' ? other : (names.get(other) ?? 'nobody');
  return `${kind} ${way === 'in' ? 'from' : 'to'} ${end}${verdict === 'granted' ? '' : ` refused: ${verdict}`}`;
};
