// Reports what each cell's model was shown in its newest request, by category, and how its window was reduced before.
import { unknownKind } from '#base';
import type { CellId } from '#base';
import type {
  Attempt,
  Birth,
  Category,
  CellWindow,
  Frame,
  RecordOf,
  ToolResultValue,
  WindowChange,
  WindowPart,
} from '#contracts';
import { followAttempt, startWindow } from './window-states.ts';
import type { WindowState, VisibleSegment } from './window-states.ts';

/** `frames`: one run in log order. Cells are in order of creation. `pause`: as for `reportRun`. */
export const windowReport = async (
  frames: readonly Frame[],
  pause?: () => Promise<void> | undefined,
): Promise<readonly CellWindow[]> => {
  const cells = new Map<CellId, CellWindowState>();
  for (const frame of frames) {
    watchFrame(cells, frame);
    const paused = pause?.();
    if (paused !== undefined) await paused;
  }
  return [...cells.values()].map(cellWindow);
};

type CellWindowState = {
  readonly birth: Birth;
  readonly window: WindowState;
  readonly happened: WindowChange[];
  /** Tool calls in flight, by operation. */
  readonly tools: Map<number, string>;
  /** Attempts in flight, by operation. */
  readonly pendingAttempts: Map<number, Attempt>;
  newest: Attempt | undefined;
  tokensPerByte: number;
};

/** Used until a reply has reported its usage. */
const tokensPerByteDefault = 1 / 4;

const watchFrame = (cells: Map<CellId, CellWindowState>, frame: Frame): void => {
  const { record } = frame;
  const cell = cells.get(frame.cell);
  switch (record.type) {
    case 'open':
      return addCell(cells, record.birth);
    case 'begin':
      if (record.birth !== undefined) addCell(cells, record.birth);
      return cell && watchBegin(cells, cell, frame, record);
    case 'settle':
      return cell && watchSettle(cell, frame, record);
    case 'post':
    case 'mail':
    case 'give':
    case 'held':
    case 'again':
    case 'resume':
    case 'fork':
    case 'delivered':
    case 'ruling':
    case 'cancel':
    case 'close':
      return;
    default:
      return unknownKind(record, undefined);
  }
};

const addCell = (cells: Map<CellId, CellWindowState>, birth: Birth): void => {
  if (cells.has(birth.cell)) return;
  cells.set(birth.cell, {
    birth,
    window: startWindow(),
    happened: [],
    tools: new Map(),
    pendingAttempts: new Map(),
    newest: undefined,
    tokensPerByte: tokensPerByteDefault,
  });
};

const watchBegin = (
  cells: ReadonlyMap<CellId, CellWindowState>,
  cell: CellWindowState,
  { at, attempt }: Frame,
  { op, name }: RecordOf<'begin'>,
): void => {
  if (name.startsWith('tool:')) cell.tools.set(op, name.slice('tool:'.length));
  if (attempt === undefined) return;
  const { parent } = cell.birth;
  const caller = parent === null ? undefined : cells.get(parent)?.window;
  const { trims, clamp } = followAttempt(cell.window, attempt, caller);
  const { turn } = attempt;
  if (clamp !== undefined) cell.happened.push({ at, op, turn, what: 'clamped', ...clamp });
  for (const { how, ...sizes } of trims) cell.happened.push({ at, op, turn, what: how, ...sizes });
  cell.pendingAttempts.set(op, attempt);
  cell.newest = attempt;
};

const watchSettle = (cell: CellWindowState, { at }: Frame, { op, ok, value, cost }: RecordOf<'settle'>): void => {
  const attempt = cell.pendingAttempts.get(op);
  cell.pendingAttempts.delete(op);
  const used = cost?.usage.inputTokens ?? 0;
  if (attempt !== undefined && used > 0 && attempt.bytes > 0) cell.tokensPerByte = used / attempt.bytes;

  const tool = cell.tools.get(op);
  cell.tools.delete(op);
  const output = tool === undefined || !ok ? undefined : (value as ToolResultValue | null | undefined)?.output;
  if (tool === undefined || output === undefined) return;
  const { name, bytes } = output;
  cell.happened.push({ at, op, turn: cell.newest?.turn ?? 0, what: 'offloaded', tool, output: name, bytes });
};

const cellWindow = ({ birth, window, newest, happened, tokensPerByte }: CellWindowState): CellWindow => {
  const view = [...window.view];
  const of = (category: Category): WindowPart =>
    windowPart(
      view.filter((one) => one.category === category),
      tokensPerByte,
    );
  return {
    cell: birth.cell,
    parent: birth.parent,
    agent: birth.agent,
    model: newest?.model ?? null,
    limit: window.limit ?? null,
    total: windowPart(view, tokensPerByte),
    categories: { SYSTEM: of('SYSTEM'), CONTEXT: of('CONTEXT'), DIALOG: of('DIALOG'), TOOLS: of('TOOLS') },
    happened,
  };
};

const windowPart = (view: readonly VisibleSegment[], tokensPerByte: number): WindowPart => {
  const bytes = view.reduce((sum, one) => sum + one.bytes, 0);
  return { messages: view.length, bytes, tokens: Math.ceil(bytes * tokensPerByte) };
};
