// Compares two runs: which cells did the same, and where the others diverge.
//
//   diff-reads-frames-only. An incomplete log is compared as far as it goes.
//   diff-is-symmetric. A run equals itself, and swapping the two runs swaps the sides and nothing else.
import { isSameJson } from '#base';
import type { CellId, Json, RunId } from '#base';
import { budgetOfRoot } from '#contracts';
import type { Budget, CellDiff, CellSide, Frame, LedgerEntry, RunDiff } from '#contracts';
import { outcomeFingerprint, compareCells } from './compare-cells.ts';
import { readFrame, startRecords } from './records.ts';
import type { CellRecords } from './records.ts';
import { toSpent, sumTally } from './tally.ts';

type Pause = (() => Promise<void> | undefined) | undefined;

/** One run in log order, and another one. `pause`: called again and again; the comparison waits for what it returns. */
export const diffRuns = async (one: readonly Frame[], other: readonly Frame[], pause?: Pause): Promise<RunDiff> => {
  const [left, right] = [await readRun(one, pause), await readRun(other, pause)];
  const cells: CellDiff[] = [];
  for (const pair of pairCells(left.root, right.root)) {
    cells.push(diffCells(pair, left, right));
    const paused = pause?.();
    if (paused !== undefined) await paused;
  }
  return {
    one: left.run,
    other: right.run,
    fork: findFork(other, one) ?? findFork(one, other),
    sameFrames: await sameFrames(one, other, pause),
    same: cells.every(({ same }) => same),
    cells,
  };
};

type RunView = {
  readonly run: RunId;
  readonly root: CellRecords | undefined;
  /** The time of its newest frame. */
  readonly now: number;
  readonly names: ReadonlyMap<CellId, string>;
  readonly ledgers: ReadonlyMap<CellId, readonly LedgerEntry[]>;
};

const readRun = async (frames: readonly Frame[], pause: Pause): Promise<RunView> => {
  const records = startRecords();
  const ledgers = new Map<CellId, LedgerEntry[]>();
  for (const frame of frames) {
    readFrame(records, frame);
    for (const { cell, entries } of frame.links ?? []) {
      const ledger = ledgers.get(cell) ?? [];
      ledgers.set(cell, ledger);
      ledger.push(...entries);
    }
    const paused = pause?.();
    if (paused !== undefined) await paused;
  }
  const { root } = records;
  return { run: frames[0]?.run ?? ('' as RunId), root, now: frames.at(-1)?.at ?? 0, names: cellNames(root), ledgers };
};

/** A fork of a fork has a record for each fork, naming different runs. */
const findFork = (frames: readonly Frame[], origin: readonly Frame[]): RunDiff['fork'] => {
  const [before, budget] = [readBudget(origin[0]), readBudget(frames[0])];
  for (const { run, record } of frames)
    if (record.type === 'fork' && record.from.run === origin[0]?.run)
      return {
        run,
        from: record.from,
        amendment: record.amendment,
        ...(isSameJson(before, budget) ? {} : { budget }),
      };
  return null;
};

const readBudget = (open: Frame | undefined): Budget =>
  open?.record.type === 'open' ? budgetOfRoot(open.at, open.record.birth) : {};

const sameFrames = async (one: readonly Frame[], other: readonly Frame[], pause: Pause): Promise<number> => {
  for (const [index, frame] of one.entries()) {
    if (other[index] === undefined || !isSameJson({ ...frame, run: '' }, { ...other[index], run: '' })) return index;
    const paused = pause?.();
    if (paused !== undefined) await paused;
  }
  return one.length;
};

const diffCells = ({ place, one, other }: CellPair, left: RunView, right: RunView): CellDiff => {
  const sides = { one: cellSide(one, left), other: cellSide(other, right) };
  if (one === undefined || other === undefined) return { place, ...sides, same: false, parts: null };
  const parts = compareCells(one, other);
  const same = parts === null && isSameJson(cellFingerprint(one, left), cellFingerprint(other, right));
  return { place, ...sides, same, parts };
};

/** Everything that is compared besides the operations: the definition, the crossings and the outcome. */
const cellFingerprint = ({ birth, end }: CellRecords, run: RunView): Json => ({
  definition: birth.digest,
  end: outcomeFingerprint(end?.outcome),
  // Sorted, because simultaneous crossings may be recorded in any order.
  crossings: cellLedger(birth.cell, run)
    .map((entry) => `${describeCrossing(entry, run)} ${entry.grant ?? ''} ${entry.sha256} ${entry.labels.join(' ')}`)
    .sort(),
});

const cellSide = (cell: CellRecords | undefined, run: RunView): CellSide | null => {
  if (cell === undefined) return null;
  const { birth, startedAt, end, operations } = cell;
  return {
    cell: birth.cell,
    status: end?.outcome.status ?? null,
    output: end?.outcome.output ?? '',
    spent: toSpent(sumTally(cell), end?.outcome.spent.ms ?? run.now - startedAt),
    models: [...new Set([...operations.values()].flatMap(({ attempt }) => attempt?.model ?? []))],
    crossings: cellLedger(birth.cell, run).map((entry) => describeCrossing(entry, run)),
  };
};

const cellLedger = (cell: CellId, { ledgers }: RunView): readonly LedgerEntry[] => ledgers.get(cell) ?? [];

/** `goal from lead`, `result to lead refused: no-grant`. A refused goal points to a cell that was never created. */
const describeCrossing = ({ way, kind, other, verdict }: LedgerEntry, { names }: RunView): string => {
  const end = other === 'outside' ? other : (names.get(other) ?? 'nobody');
  return `${kind} ${way === 'in' ? 'from' : 'to'} ${end}${verdict === 'granted' ? '' : ` refused: ${verdict}`}`;
};

// Matches the cells of two runs by their position in the tree.
//
//   pairs-by-position. A position consists of agent names and call order, never of ids or times.
//   pairs-keep-order. Swapping the runs swaps the sides and nothing else: the order of the pairs stays.

type CellPair = {
  /** Agents from the root down with the number of the call: `lead › researcher #2`. */
  readonly place: string;
  readonly one: CellRecords | undefined;
  readonly other: CellRecords | undefined;
};

/** Parents before their children. */
const pairCells = (one: CellRecords | undefined, other: CellRecords | undefined): readonly CellPair[] =>
  pairLevels('', nameRoot(one), nameRoot(other));

/** The name of each cell among its siblings; the root has just its agent's name. */
const cellNames = (root: CellRecords | undefined): ReadonlyMap<CellId, string> => {
  const names = new Map<CellId, string>();
  const walk = (cells: NamedCells): void => {
    for (const [name, cell] of cells) {
      names.set(cell.birth.cell, name);
      walk(nameSiblings(cell.children));
    }
  };
  walk(nameRoot(root));
  return names;
};

/** In order of creation. */
type NamedCells = ReadonlyMap<string, CellRecords>;

const nameRoot = (root: CellRecords | undefined): NamedCells =>
  new Map(root === undefined ? [] : [[root.birth.agent, root] as const]);

const nameSiblings = (siblings: readonly CellRecords[]): NamedCells => {
  const calls = new Map<string, number>();
  return new Map(
    siblings.map((cell) => {
      const { agent } = cell.birth;
      const call = (calls.get(agent) ?? 0) + 1;
      calls.set(agent, call);
      return [`${agent} #${call}`, cell] as const;
    }),
  );
};

const pairLevels = (stem: string, one: NamedCells, other: NamedCells): readonly CellPair[] =>
  orderedNames(one, other).flatMap((name) => {
    const [left, right] = [one.get(name), other.get(name)];
    const place = `${stem}${name}`;
    return [
      { place, one: left, other: right },
      ...pairLevels(`${place} › `, nameSiblings(left?.children ?? []), nameSiblings(right?.children ?? [])),
    ];
  });

/** Ordered by the earlier position in the two runs, then by name, so that the order does not depend on which run is first. */
const orderedNames = (one: NamedCells, other: NamedCells): readonly string[] => {
  const earliest = new Map<string, number>();
  for (const side of [one, other])
    for (const [index, name] of [...side.keys()].entries())
      earliest.set(name, Math.min(index, earliest.get(name) ?? Infinity));
  return [...earliest.keys()].sort(
    (left, right) => earliest.get(left)! - earliest.get(right)! || (left < right ? -1 : 1),
  );
};
