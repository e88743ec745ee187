// A run's log, sorted by cell: what resume and replay read instead of the world.
import { CloisterError } from '#base';
import type { CellId, Failure } from '#base';
import type { Birth, CrossingContent, Frame, FrameRecord } from '#contracts';
import type { Arrival } from './received-crossings.ts';

type Begin = Extract<FrameRecord, { type: 'begin' }>;
type Settle = Extract<FrameRecord, { type: 'settle' }>;
type Post = Extract<FrameRecord, { type: 'post' }>;

export type RecordedCell = {
  readonly birth: Birth;
  readonly bornAt: number;
  /** The number of the frame of its birth. */
  readonly bornIn: number;
  /** The frame in which each operation began. */
  readonly begins: Map<number, Frame & { readonly record: Begin | Post }>;
  /** The frame's number is the recorded order of settlements. */
  readonly settles: Map<number, Frame & { readonly record: Settle | Post }>;
  /** The first settlement after the whole cell was stopped. */
  halted: { readonly order: number; readonly at: number; readonly failure: Failure } | null;
  readonly ids: CellId[];
  /** What crossed into it, by the number of its entry. */
  readonly contents: Map<number, Arrival>;
};

export type RecordedRun = {
  readonly root: RecordedCell;
  readonly cells: ReadonlyMap<CellId, RecordedCell>;
  readonly frames: readonly Frame[];
  /** The frame in which it ended, if it has. */
  readonly closed: Frame | undefined;
  /** The frame in which it was cancelled. */
  readonly cancelled: { readonly no: number; readonly at: number } | null;
};

export const readRecordedRun = (frames: readonly Frame[]): RecordedRun => {
  const cells = new Map<CellId, RecordedCell>();
  let root: RecordedCell | undefined;
  let cancelled: RecordedRun['cancelled'] = null;
  for (const frame of frames) {
    const { record } = frame;
    if (record.type === 'open') root = bear(cells, record.birth, frame);
    if (record.type === 'begin' && record.birth !== undefined) bear(cells, record.birth, frame);
    if (record.type === 'cancel') cancelled ??= { no: frame.no, at: frame.at };
    const cell = cells.get(frame.cell);
    if (cell === undefined)
      throw new CloisterError('store_damaged', `Frame ${frame.no} is of a cell that was never born.`);
    if (isBegin(frame) || isPost(frame)) cell.begins.set(frame.record.op, frame);
    if (isSettle(frame) || isPost(frame)) {
      cell.settles.set(frame.record.op, frame);
      const { halted } = frame.record;
      if (halted !== undefined) cell.halted ??= { order: frame.no, ...halted };
    }
    if (frame.ids !== undefined) cell.ids.push(...frame.ids);
    if (frame.contents !== undefined)
      for (const content of frame.contents)
        cells
          .get(content.cell)
          ?.contents.set(content.seq, { ...content, frame: frame.no, mailed: isMail(frame, content) });
  }
  if (root === undefined) throw new CloisterError('store_damaged', 'The log has no beginning.');
  const last = frames.at(-1);
  const closed = last?.record.type === 'close' ? last : undefined;
  return { root, cells, frames, closed, cancelled };
};

const isBegin = (frame: Frame): frame is Frame & { record: Begin } => frame.record.type === 'begin';
const isPost = (frame: Frame): frame is Frame & { record: Post } => frame.record.type === 'post';

/** What is given is shown at once, mail when it is received. */
const isMail = ({ record }: Frame, { kind, cell }: CrossingContent): boolean =>
  (kind === 'message' || kind === 'broadcast') &&
  record.type !== 'give' &&
  !(record.type === 'begin' && record.birth?.cell === cell);

const isSettle = (frame: Frame): frame is Frame & { record: Settle } => frame.record.type === 'settle';

const bear = (cells: Map<CellId, RecordedCell>, birth: Birth, { at, no }: Frame): RecordedCell => {
  const cell: RecordedCell = {
    birth,
    bornAt: at,
    bornIn: no,
    begins: new Map(),
    settles: new Map(),
    halted: null,
    ids: [],
    contents: new Map(),
  };
  cells.set(birth.cell, cell);
  return cell;
};
