// Compares two cuts. Cells are matched by id: a run that continues from a cut keeps its cell ids.
import type { Checkpoint, CheckpointDiff, Frame } from '#contracts';
import { checkpointFiles, readCells } from './checkpoint-view.ts';
import type { CheckpointCell } from './checkpoint-view.ts';

type Cut = { readonly checkpoint: Checkpoint; readonly frames: readonly Frame[] };

export const diffCheckpoints = async (one: Cut, other: Cut): Promise<CheckpointDiff> => {
  const [before, after] = [await readCells(one.frames), await readCells(other.frames)];
  const [left, right] = [cellsById(before), cellsById(after)];
  return {
    one: one.checkpoint,
    other: other.checkpoint,
    cells: {
      added: [...right.keys()].filter((cell) => !left.has(cell)),
      removed: [...left.keys()].filter((cell) => !right.has(cell)),
      changed: before.flatMap((cell) => changedCell(cell, right.get(cell.cell))),
    },
    files: diffFiles(one.frames, other.frames),
    tokens: [tokensOf(before), tokensOf(after)],
    crossings: [crossingsOf(before), crossingsOf(after)],
  };
};

const cellsById = (cells: readonly CheckpointCell[]): ReadonlyMap<string, CheckpointCell> =>
  new Map(cells.map((cell) => [cell.cell, cell]));

const changedCell = (one: CheckpointCell, other: CheckpointCell | undefined): CheckpointDiff['cells']['changed'] => {
  if (other === undefined) return [];
  const same = one.window.prompt === other.window.prompt && one.steps === other.steps && one.status === other.status;
  if (same) return [];
  return [
    {
      cell: one.cell,
      agent: one.agent,
      windowBytes: [one.window.bytes, other.window.bytes],
      steps: [one.steps, other.steps],
      status: [one.status, other.status],
    },
  ];
};

const diffFiles = (one: readonly Frame[], other: readonly Frame[]): CheckpointDiff['files'] => {
  const [left, right] = [hashesOf(one), hashesOf(other)];
  return {
    added: [...right.keys()].filter((path) => !left.has(path)),
    removed: [...left.keys()].filter((path) => !right.has(path)),
    changed: [...left].flatMap(([path, hash]) => (right.has(path) && right.get(path) !== hash ? [path] : [])),
  };
};

const hashesOf = (frames: readonly Frame[]): ReadonlyMap<string, string> =>
  new Map(checkpointFiles(frames).map(({ cell, path, sha256 }) => [`${cell}/${path}`, sha256]));

const tokensOf = (cells: readonly CheckpointCell[]): number =>
  cells.reduce((sum, { budget }) => sum + budget.tokens, 0);

/** A crossing has a ledger entry in each cell that it connects. */
const crossingsOf = (cells: readonly CheckpointCell[]): number =>
  cells.reduce((sum, { ledger }) => sum + ledger.entries, 0);
