// What each cell's model was shown with its newest request, by category, and what gave way before it.
import type { CellId } from '#base';
import type {
  Attempt,
  Birth,
  Category,
  CellWindow,
  Frame,
  FrameRecord,
  ToolResultValue,
  WindowChange,
  WindowPart,
} from '#contracts';
import { followAttempt, startWindow } from './window-states.ts';
import type { WindowState, VisibleSegment } from './window-states.ts';

/** `frames` is one run in the order of its log. Cells come in order of birth. */
export const windowReport = (frames: readonly Frame[]): readonly CellWindow[] => {
  const cells = new Map<CellId, Watched>();
  for (const frame of frames) watchFrame(cells, frame);
  return [...cells.values()].map(cellWindow);
};

type Watched = {
  readonly birth: Birth;
  readonly followed: WindowState;
  readonly happened: WindowChange[];
  /** The tools that are at work, by operation. */
  readonly tools: Map<number, string>;
  /** The attempts that have not settled, by operation. */
  readonly asked: Map<number, Attempt>;
  newest: Attempt | undefined;
  tokensPerByte: number;
};

/** Until a reply has reported what was used. */
const tokensPerByteDefault = 1 / 4;

const watchFrame = (cells: Map<CellId, Watched>, frame: Frame): void => {
  const { record } = frame;
  if (record.type === 'open') return bear(cells, record.birth);
  const cell = cells.get(frame.cell);
  if (record.type === 'begin') {
    if (record.birth !== undefined) bear(cells, record.birth);
    if (cell !== undefined) watchBegin(cells, cell, frame, record);
  }
  if (record.type === 'settle' && cell !== undefined) watchSettle(cell, frame, record);
};

const bear = (cells: Map<CellId, Watched>, birth: Birth): void => {
  if (cells.has(birth.cell)) return;
  cells.set(birth.cell, {
    birth,
    followed: startWindow(),
    happened: [],
    tools: new Map(),
    asked: new Map(),
    newest: undefined,
    tokensPerByte: tokensPerByteDefault,
  });
};

const watchBegin = (
  cells: ReadonlyMap<CellId, Watched>,
  cell: Watched,
  { at, attempt }: Frame,
  { op, name }: Extract<FrameRecord, { type: 'begin' }>,
): void => {
  if (name.startsWith('tool:')) cell.tools.set(op, name.slice('tool:'.length));
  if (attempt === undefined) return;
  const { parent } = cell.birth;
  const caller = parent === null ? undefined : cells.get(parent)?.followed;
  const { trims, clamp } = followAttempt(cell.followed, attempt, caller);
  const { turn } = attempt;
  if (clamp !== undefined) cell.happened.push({ at, op, turn, what: 'clamped', ...clamp });
  for (const { how, ...sizes } of trims) cell.happened.push({ at, op, turn, what: how, ...sizes });
  cell.asked.set(op, attempt);
  cell.newest = attempt;
};

const watchSettle = (
  cell: Watched,
  { at }: Frame,
  { op, ok, value, cost }: Extract<FrameRecord, { type: 'settle' }>,
): void => {
  const attempt = cell.asked.get(op);
  cell.asked.delete(op);
  const used = cost?.usage.inputTokens ?? 0;
  if (attempt !== undefined && used > 0 && attempt.bytes > 0) cell.tokensPerByte = used / attempt.bytes;

  const tool = cell.tools.get(op);
  cell.tools.delete(op);
  const output = tool === undefined || !ok ? undefined : (value as ToolResultValue | null | undefined)?.output;
  if (tool === undefined || output === undefined) return;
  const { name, bytes } = output;
  cell.happened.push({ at, op, turn: cell.newest?.turn ?? 0, what: 'offloaded', tool, output: name, bytes });
};

const cellWindow = ({ birth, followed, newest, happened, tokensPerByte }: Watched): CellWindow => {
  const of = (category: Category): WindowPart =>
    partOf(
      followed.view.filter((one) => one.category === category),
      tokensPerByte,
    );
  return {
    cell: birth.cell,
    parent: birth.parent,
    agent: birth.agent,
    model: newest?.model ?? null,
    limit: followed.limit ?? null,
    total: partOf(followed.view, tokensPerByte),
    categories: { SYSTEM: of('SYSTEM'), CONTEXT: of('CONTEXT'), DIALOG: of('DIALOG'), TOOLS: of('TOOLS') },
    happened,
  };
};

const partOf = (view: readonly VisibleSegment[], tokensPerByte: number): WindowPart => {
  const bytes = view.reduce((sum, one) => sum + one.bytes, 0);
  return { messages: view.length, bytes, tokens: Math.ceil(bytes * tokensPerByte) };
};
