// A run's log, grouped by cell: resume and replay read it instead of calling the outside world.
import { CloisterError, unknownKind } from '#base';
import type { CellId, Failure } from '#base';
import type { Birth, Frame, RecordOf } from '#contracts';

/** Why, when and in which frame a cell was stopped. */
export type Halt = { readonly failure: Failure; readonly at: number; readonly frame: number };

export type RecordedCell = {
  readonly birth: Birth;
  readonly createdAt: number;
  /** The number of the frame that created the cell. */
  readonly createdInFrame: number;
  /** The frame in which each operation began. */
  readonly begins: Map<number, Frame & { readonly record: RecordOf<'begin' | 'post'> }>;
  /** The settling frames; their numbers give the recorded order. */
  readonly settles: Map<number, Frame & { readonly record: RecordOf<'settle' | 'post'> }>;
  /** What is left of operations whose frames were released. */
  readonly released: Map<number, { readonly began: number; readonly settled: number }>;
  /** Where the log first shows that the whole cell was stopped. */
  halted: Halt | null;
  readonly ids: CellId[];
};

export type RecordedRun = {
  readonly root: RecordedCell;
  readonly cells: ReadonlyMap<CellId, RecordedCell>;
  readonly first: Frame;
  /** Empty once they were released. */
  frames: readonly Frame[];
  /** The frame in which the run ended, if it has. */
  readonly closed: Frame | undefined;
  /** The frame in which the run was cancelled. */
  readonly cancelled: { readonly no: number; readonly at: number } | null;
};

export const readRecordedRun = (frames: readonly Frame[]): RecordedRun => {
  const cells = new Map<CellId, RecordedCell>();
  let root: RecordedCell | undefined;
  let cancelled: RecordedRun['cancelled'] = null;
  for (const frame of frames) {
    const { record } = frame;
    if (record.type === 'open') root = addCell(cells, record.birth, frame);
    const cell = cells.get(frame.cell);
    if (cell === undefined)
      throw new CloisterError('store_damaged', `Frame ${frame.no} belongs to a cell that was never created.`);
    switch (record.type) {
      case 'begin':
        if (record.birth !== undefined) addCell(cells, record.birth, frame);
        cell.begins.set(record.op, frame as Frame & { record: typeof record });
        break;
      case 'post':
        cell.begins.set(record.op, frame as Frame & { record: typeof record });
        settle(cell, frame, record);
        break;
      case 'settle':
        settle(cell, frame, record);
        break;
      case 'cancel':
        cancelled ??= { no: frame.no, at: frame.at };
        break;
      case 'open':
      case 'held':
      case 'again':
      case 'resume':
      case 'fork':
      case 'give':
      case 'mail':
      case 'delivered':
      case 'ruling':
      case 'close':
        break;
      default:
        unknownKind(record, undefined);
    }
    if (frame.ids !== undefined) cell.ids.push(...frame.ids);
  }
  if (root === undefined) throw new CloisterError('store_damaged', 'The log has no opening record.');
  const last = frames.at(-1);
  const closed = last?.record.type === 'close' ? last : undefined;
  return { root, cells, first: frames[0]!, frames, closed, cancelled };
};

/**
 * A run that continues calls this when it has read its frames, so that its memory does not depend on the length of its log. What cells that have
 * not ended still have to follow is kept.
 */
export const releaseFrames = (recorded: RecordedRun): void => {
  for (const { record } of recorded.frames) {
    const ended =
      record.type === 'settle' && record.ended !== undefined ? recorded.cells.get(record.ended.cell) : undefined;
    ended?.begins.clear();
    ended?.settles.clear();
  }
  recorded.frames = [];
};

/** Releases the frames of an operation that has settled and was followed. */
export const releaseOperation = ({ begins, settles, released }: RecordedCell, op: number): void => {
  released.set(op, { began: begins.get(op)!.no, settled: settles.get(op)!.no });
  begins.delete(op);
  settles.delete(op);
};

/** The numbers of the frames in which an operation began and settled, if they are in the log. */
export const beganIn = (cell: RecordedCell | undefined, op: number): number | undefined =>
  cell?.begins.get(op)?.no ?? cell?.released.get(op)?.began;

export const settledIn = (cell: RecordedCell | undefined, op: number): number | undefined =>
  cell?.settles.get(op)?.no ?? cell?.released.get(op)?.settled;

const settle = (cell: RecordedCell, frame: Frame, record: RecordOf<'settle' | 'post'>): void => {
  cell.settles.set(record.op, frame as Frame & { record: typeof record });
  if (record.halted !== undefined) cell.halted ??= { frame: frame.no, ...record.halted };
};

const addCell = (cells: Map<CellId, RecordedCell>, birth: Birth, { at, no }: Frame): RecordedCell => {
  const cell: RecordedCell = {
    birth,
    createdAt: at,
    createdInFrame: no,
    begins: new Map(),
    settles: new Map(),
    released: new Map(),
    halted: null,
    ids: [],
  };
  cells.set(birth.cell, cell);
  return cell;
};
