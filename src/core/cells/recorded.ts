// A run's log, sorted by cell: what resume and replay read instead of the world.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { Birth, CrossedContent, Frame, FrameRecord } from '#contracts';

type Begin = Extract<FrameRecord, { type: 'begin' }>;
type Settle = Extract<FrameRecord, { type: 'settle' }>;

export type RecordedCell = {
  readonly birth: Birth;
  readonly bornAt: number;
  readonly begins: Map<number, Begin>;
  /** `order` is the frame's number: the recorded order of settlements. */
  readonly settles: Map<number, { readonly settle: Settle; readonly order: number; readonly at: number }>;
  readonly ids: CellId[];
  readonly contents: CrossedContent[];
};

export type RecordedRun = {
  readonly root: RecordedCell;
  readonly cells: ReadonlyMap<CellId, RecordedCell>;
  readonly frames: readonly Frame[];
  /** The number of the frame in which it was cancelled. */
  readonly cancelledAt: number | null;
};

export const readRecords = (frames: readonly Frame[]): RecordedRun => {
  const cells = new Map<CellId, RecordedCell>();
  let root: RecordedCell | undefined;
  let cancelledAt: number | null = null;
  for (const frame of frames) {
    const { record } = frame;
    if (record.type === 'open') root = bear(cells, record.birth, frame.at);
    if (record.type === 'begin' && record.birth !== undefined) bear(cells, record.birth, frame.at);
    if (record.type === 'cancel') cancelledAt ??= frame.no;
    const cell = cells.get(frame.cell);
    if (cell === undefined)
      throw new CloisterError('store_damaged', `Frame ${frame.no} is of a cell that was never born.`);
    if (record.type === 'begin') cell.begins.set(record.op, record);
    if (record.type === 'settle') cell.settles.set(record.op, { settle: record, order: frame.no, at: frame.at });
    cell.ids.push(...(frame.ids ?? []));
    for (const content of frame.contents ?? []) cells.get(content.cell)?.contents.push(content);
  }
  if (root === undefined) throw new CloisterError('store_damaged', 'The log has no beginning.');
  return { root, cells, frames, cancelledAt };
};

const bear = (cells: Map<CellId, RecordedCell>, birth: Birth, bornAt: number): RecordedCell => {
  const cell: RecordedCell = { birth, bornAt, begins: new Map(), settles: new Map(), ids: [], contents: [] };
  cells.set(birth.cell, cell);
  return cell;
};
