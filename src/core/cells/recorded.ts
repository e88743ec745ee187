// A run's log, sorted by cell: what resume and replay read instead of the world.
import { CloisterError } from '#base';
import type { CellId, Failure, Hash } from '#base';
import type { Birth, CrossedContent, Frame, FrameRecord } from '#contracts';

type Begin = Extract<FrameRecord, { type: 'begin' }>;
type Settle = Extract<FrameRecord, { type: 'settle' }>;

export type RecordedCell = {
  readonly birth: Birth;
  readonly bornAt: number;
  readonly begins: Map<number, Begin>;
  /** `order` is the frame's number: the recorded order of settlements. */
  readonly settles: Map<number, { readonly settle: Settle; readonly order: number; readonly at: number }>;
  /** The hash of the prompt of each attempt. */
  readonly prompts: Map<number, Hash>;
  /** The first settlement that came of stopping the whole cell. */
  halted: { readonly order: number; readonly at: number; readonly failure: Failure } | null;
  readonly ids: CellId[];
  readonly contents: CrossedContent[];
};

export type RecordedRun = {
  readonly root: RecordedCell;
  readonly cells: ReadonlyMap<CellId, RecordedCell>;
  readonly frames: readonly Frame[];
  /** The frame in which it was cancelled. */
  readonly cancelled: { readonly no: number; readonly at: number } | null;
};

export const readRecords = (frames: readonly Frame[]): RecordedRun => {
  const cells = new Map<CellId, RecordedCell>();
  let root: RecordedCell | undefined;
  let cancelled: RecordedRun['cancelled'] = null;
  for (const frame of frames) {
    const { record } = frame;
    if (record.type === 'open') root = bear(cells, record.birth, frame.at);
    if (record.type === 'begin' && record.birth !== undefined) bear(cells, record.birth, frame.at);
    if (record.type === 'cancel') cancelled ??= { no: frame.no, at: frame.at };
    const cell = cells.get(frame.cell);
    if (cell === undefined)
      throw new CloisterError('store_damaged', `Frame ${frame.no} is of a cell that was never born.`);
    if (record.type === 'begin') cell.begins.set(record.op, record);
    if (record.type === 'begin' && frame.attempt !== undefined) cell.prompts.set(record.op, frame.attempt.prompt);
    if (record.type === 'settle') cell.settles.set(record.op, { settle: record, order: frame.no, at: frame.at });
    if (record.type === 'settle' && record.halted === true)
      cell.halted ??= { order: frame.no, at: frame.at, failure: record.failure ?? { code: 'cancelled' } };
    cell.ids.push(...(frame.ids ?? []));
    for (const content of frame.contents ?? []) cells.get(content.cell)?.contents.push(content);
  }
  if (root === undefined) throw new CloisterError('store_damaged', 'The log has no beginning.');
  return { root, cells, frames, cancelled };
};

const bear = (cells: Map<CellId, RecordedCell>, birth: Birth, bornAt: number): RecordedCell => {
  const cell: RecordedCell = {
    birth,
    bornAt,
    begins: new Map(),
    settles: new Map(),
    prompts: new Map(),
    halted: null,
    ids: [],
    contents: [],
  };
  cells.set(birth.cell, cell);
  return cell;
};
