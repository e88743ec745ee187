// Explains why a cell's model saw what it saw: each segment of its prompts, rebuilt, with the trail to its origin.
//
//   explain-linear. What an explanation contains, and the work on it, grows with the requests and what was new in each, never with
//       the length of the prompts: a segment is listed once, with the first and the last request that showed it.
import { CloisterError, OrderedItems } from '#base';
import type { CellId, RunId } from '#base';
import type { Attempt, Explanation, ExplainedSegment, FrameSource, ViewChange } from '#contracts';
import { partText } from '#core/rules';
import { applyAttempt, cellSources, startPrompt } from './rebuild-prompt.ts';
import type { PromptState } from './rebuild-prompt.ts';
import { readFrame, startRecords } from './records.ts';
import type { CellRecords, RunRecords } from './records.ts';
import { segmentTrails } from './segment-trails.ts';

type ExplainOptions = {
  /** A text to search for in each segment. */
  readonly find?: string | undefined;
  /** Awaited before each frame and each segment, so that other work can be done in between; undefined: no need. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
};

/** `frames`: one run in log order, read once. */
export const explainCell = async (
  frames: FrameSource,
  cell: CellId,
  { find, pause }: ExplainOptions = {},
): Promise<Explanation> => {
  const records = startRecords();
  const history = startHistory();
  let run: RunId | undefined;
  for await (const frame of frames) {
    run ??= frame.run;
    const paused = pause?.();
    if (paused !== undefined) await paused;
    readFrame(records, frame);
    const cellRecords = records.cells.get(cell);
    const { attempt, record } = frame;
    if (attempt === undefined || record.type !== 'begin' || frame.cell !== cell || cellRecords === undefined) continue;
    addAttempt(history, { op: record.op, attempt }, { cell: cellRecords, records });
  }
  const cellRecords = records.cells.get(cell);
  if (cellRecords === undefined || run === undefined) throw new CloisterError('cell_unknown', `"${cell}".`);
  const { prompt, attempts } = history;
  const trailOf = segmentTrails({ prompt, cell: cellRecords, records });
  const segments: ExplainedSegment[] = [];
  for (const shown of history.order) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    const { record, part } = prompt.segments.get(shown.id)!;
    const text = part === undefined ? '' : partText(part);
    segments.push({
      id: record.id,
      origin: record.origin,
      bytes: record.bytes,
      shownIn: shownIn(shown, attempts),
      text,
      found: find === undefined || find === '' ? [] : findOffsets(find, text),
      trail: trailOf(record.id),
    });
  }
  return { run, cell, agent: cellRecords.birth.agent, find: find ?? null, attempts, segments };
};

/** When a segment was in view: from request `first` to request `last`. */
type ShownSegment = { readonly id: number; first: number | undefined; last: number | undefined };

type PromptHistory = {
  readonly prompt: PromptState;
  readonly attempts: Explanation['attempts'][number][];
  /** Every segment there was. What replaced others comes after them, so each prompt is a part of this order. */
  readonly order: OrderedItems<ShownSegment>;
};

const startHistory = (): PromptHistory => ({ prompt: startPrompt(), attempts: [], order: new OrderedItems() });

const addAttempt = (
  { prompt, attempts, order }: PromptHistory,
  { op, attempt }: { readonly op: number; readonly attempt: Attempt },
  { cell, records }: { readonly cell: CellRecords; readonly records: RunRecords },
): void => {
  const { added, removed } = applyAttempt(prompt, attempt, cellSources(records, cell));
  for (const change of attempt.changes) addToOrder(order, change);
  for (const id of removed) {
    const shown = order.get(id);
    if (shown?.first !== undefined) shown.last ??= attempts.at(-1)?.op;
  }
  for (const { record } of added) {
    const shown = order.get(record.id);
    // What was added and taken back before the request was sent was never shown.
    if (shown !== undefined && prompt.view.get(record.id) !== undefined) shown.first ??= op;
  }
  const { turn, model, bytes } = attempt;
  attempts.push({ op, turn, model, bytes });
};

const addToOrder = (order: OrderedItems<ShownSegment>, change: ViewChange): void => {
  const start = (id: number): ShownSegment => ({ id, first: undefined, last: undefined });
  if ('add' in change) for (const { id } of change.add) order.add(id, start(id));
  else if ('replace' in change) order.add(change.by.id, start(change.by.id), change.replace[1]);
};

const shownIn = ({ first, last }: ShownSegment, attempts: PromptHistory['attempts']): ExplainedSegment['shownIn'] =>
  first === undefined ? null : { first, last: last ?? attempts.at(-1)?.op ?? first };

const findOffsets = (find: string, text: string): readonly number[] => {
  const offsets: number[] = [];
  for (let at = text.indexOf(find); at >= 0; at = text.indexOf(find, at + find.length)) offsets.push(at);
  return offsets;
};
