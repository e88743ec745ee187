// What stands inside a room: its name, its requests as bars, its tools as pins, waits, questions, cuts of its window.
import { compactNumber, count, formatBytes, formatDuration, plural } from '#headends/run-view';
import type { CellView, WindowCutView } from '#headends/run-view';
import type { RoomsLayout, RoomShape } from './layout.ts';
import { textRow } from './text-row.ts';
import type { TextRow } from './text-row.ts';
import { cutText, toolText } from './texts.ts';
import type { Ink, Measure, PlacedText } from './texts.ts';

/** `work`: a request. `wait`: before a retry. `question`: for a person. `tool`: how long a call took. */
export type Bar = {
  readonly what: 'work' | 'wait' | 'question' | 'tool';
  readonly op: number;
  readonly left: number;
  readonly right: number;
  /** It has not ended. */
  readonly isOpen: boolean;
};

export type Pin = { readonly x: number; readonly op: number; readonly ink: Ink };

export type RoomInside = {
  readonly texts: readonly PlacedText[];
  readonly bars: readonly Bar[];
  readonly barTop: number;
  readonly barBottom: number;
  /** Where pins end. */
  readonly pinY: number;
  readonly pins: readonly Pin[];
  /** Where an attempt failed and was retried. */
  readonly retries: readonly number[];
  /** Where the window was cut, in the lower wall. */
  readonly notches: readonly number[];
  /** Where it failed. */
  readonly diamond: number | null;
};

export const roomInside = (layout: RoomsLayout, room: RoomShape, measure: Measure): RoomInside => {
  const height = room.bottom - room.top;
  const isTall = height >= 66;
  const barTop = room.top + (isTall ? 26 + (height - 72) * 0.23 : 25);
  const barBottom = barTop + (isTall ? 20 + (height - 72) * 0.23 : Math.max(5, Math.min(20, height - 35)));
  const pinY = isTall ? barBottom + 12 : barBottom + 2;
  const rows = { barTop, barBottom, pinY };
  const none = { ...rows, bars: [], pins: [], retries: [], notches: [], diamond: null };
  if (layout.detail === 'walls') return { ...none, texts: [] };
  const name = placeName(layout, room, measure);
  if (layout.detail === 'name' || room.unit.rooms.length > 1) return { ...none, texts: name };
  const { cell } = room.unit.room;
  const x = insideX(layout, room);
  const marks = {
    ...rows,
    bars: placeBars(layout, cell, x),
    pins: cell.calls.map(({ op, startedAt, ok }): Pin => ({
      x: x(startedAt),
      op,
      ink: ok === false ? 'stop' : 'tool',
    })),
    retries: cell.requests.filter(isRetried).map(({ endedAt, startedAt }) => x(endedAt ?? startedAt)),
    notches: cell.cuts.map(({ at }) => x(at)),
    diamond: hasFailed(cell) ? x(cell.endedAt!) - 6 : null,
  };
  const figures = textRow(room, (barTop + barBottom) / 2, measure);
  if (barBottom - barTop >= 12) placeFigures(layout, room, marks, figures, measure);
  const hanging = textRow(room, pinY, measure);
  for (const { x: door } of layout.bottomDoors.get(room.unit.index) ?? []) hanging.block(door - 5, door + 5);
  if (isTall) placeHanging(cell, marks, hanging);
  return { ...marks, texts: [...name, ...figures.texts, ...hanging.texts] };
};

/** Times of a cell, kept within the walls of its room. */
const insideX = ({ scale }: RoomsLayout, { left, right, wall }: RoomShape): ((at: number) => number) => {
  const from = left + wall + 2;
  const to = Math.max(from, right - wall - 2);
  return (at) => Math.min(to, Math.max(from, scale.x(at)));
};

/** After the last attempt there is none. */
const isRetried = (request: CellView['requests'][number], at: number, all: CellView['requests']): boolean =>
  request.ok === false && at + 1 < all.length;

const hasFailed = ({ status, endedAt }: CellView): boolean =>
  endedAt !== null && status !== null && !['completed', 'partial', 'cancelled'].includes(status);

const placeName = (layout: RoomsLayout, room: RoomShape, measure: Measure): readonly PlacedText[] => {
  const { unit, left, right } = room;
  const x = left + (unit.goal >= 0 ? 19 : 12);
  const end = right - (unit.result >= 0 ? 26 : 10);
  if (end - x < 30) return [];
  const y = room.top + layout.doorHeight;
  const font = room.bottom - room.top < 20 ? 'figure' : 'name';
  const text = cutText(unit.rooms.length > 1 ? unit.room.cell.agent : unit.room.name, font, end - x, measure);
  if (text === '') return [];
  const width = measure(text, font);
  const name: PlacedText = { text, font, ink: 'ink', x, y, width };
  if (font === 'figure') return [name];
  const second = secondText(layout, room);
  const wide = measure(second.text, 'second');
  const isShown = right - left >= (second.isState ? 90 : 230);
  if (!isShown || x + width + 12 + wide > end) return [name];
  const { text: words, ink } = second;
  return [name, { text: words, ink, font: 'second', x: x + width + 12, y, width: wide }];
};

/** How it stands, if that is more than what it did. */
const secondText = ({ arrangement: { plan } }: RoomsLayout, { unit }: RoomShape) => {
  const { cell } = unit.room;
  const state = (text: string, ink: Ink) => ({ text, ink, isState: true });
  if (unit.rooms.length > 1) {
    const isAlike = unit.rooms.every((one) => plan.rooms[one]!.cell.agent === cell.agent);
    return state(`${count(unit.rooms.length)} rooms${isAlike ? ' like this' : ''}`, 'muted');
  }
  if (hasFailed(cell)) return state(cell.error?.code ?? cell.status ?? '', 'stop');
  if (cell.status === 'cancelled') return state(plan.view.cancelledAt === null ? 'Stopped' : 'Stopped by you', 'muted');
  const missing = cell.children.filter(({ ok }) => ok === false).length;
  if (cell.status === 'partial')
    return state(`Partial${missing > 0 ? `, ${plural(missing, 'child', 'children')} missing` : ''}`, 'tool');
  const [requests, calls, children] = [cell.requests.length, cell.calls.length, cell.children.length];
  const did = requests === 0 && children > 0 ? plural(children, 'agent') : plural(requests, 'request');
  return { text: calls > 0 ? `${did}, ${plural(calls, 'tool call')}` : did, ink: 'muted' as const, isState: false };
};

const placeBars = ({ arrangement: { plan } }: RoomsLayout, cell: CellView, x: (at: number) => number): Bar[] => {
  const until = cell.endedAt ?? plan.endsAt;
  const bar = (what: Bar['what'], op: number, from: number, to: number | null): Bar => {
    const left = x(from);
    return { what, op, left, right: Math.max(left + 2, x(to ?? until)), isOpen: to === null && cell.endedAt === null };
  };
  return [
    ...cell.calls.map((one) => bar('tool', one.op, one.startedAt, one.endedAt)),
    ...cell.waits
      .filter((one) => one.for === 'retry')
      .map((one) => bar('wait', one.op, one.startedAt, one.endedAt ?? Math.min(until, one.startedAt + one.ms))),
    ...cell.requests.map((one) => bar('work', one.op, one.startedAt, one.endedAt)),
    ...(plan.questionsOf.get(cell.cell) ?? []).map((one) => bar('question', one.asked.op, one.askedAt, one.endedAt)),
  ];
};

type Marks = Omit<RoomInside, 'texts'>;

const placeFigures = (
  layout: RoomsLayout,
  { unit }: RoomShape,
  { bars, diamond }: Marks,
  row: TextRow,
  measure: Measure,
): void => {
  const { cell } = unit.room;
  const requests = new Map(cell.requests.map((one) => [one.op, one]));
  const waits = new Map(cell.waits.map((one) => [one.op, one]));
  const questions = new Map(
    (layout.arrangement.plan.questionsOf.get(cell.cell) ?? []).map(({ asked }) => [asked.op, asked]),
  );
  if (diamond !== null) row.block(diamond - 6, diamond + 6);
  for (const { what, op, left, right, isOpen } of bars) {
    const limits = { at: () => [left + 6], from: left, to: right - 4 };
    const center = (width: number) => [(left + right - width) / 2];
    const request = requests.get(op);
    if (what === 'work' && request !== undefined) {
      const figures = `${count(request.inputTokens)} → ${count(request.outputTokens)}`;
      if (isOpen || request.ok === true) row.place([isOpen ? '…' : figures], { ...limits, ink: 'ink' });
    } else if (what === 'wait')
      row.place([formatDuration(waits.get(op)?.ms ?? 0), 'wait'], { ...limits, at: center, ink: 'tool' });
    else if (what === 'question') {
      const tool = toolText(questions.get(op)?.tool ?? '');
      const words = isOpen ? [`waits for you: ${tool}`, 'waits for you'] : ['asked you'];
      const cut = cutText(words[0]!, 'label', right - left - 12, measure);
      row.place([...words, cut], { ...limits, ink: 'tool', font: 'label' });
    }
  }
  if (unit.lane !== 0) return;
  for (const { what, left, right } of bars) if (what !== 'tool') row.block(left, right);
  const { questionsOf, endsAt, idles } = layout.arrangement.plan;
  for (const [index, { left, right, ms }] of layout.scale.idles.entries()) {
    // While a person is asked, the clock stands still.
    if (idles[index]!.to === endsAt && questionsOf.size > 0) continue;
    const at = (width: number) => [(left + right - width) / 2];
    row.place([`idle ${formatDuration(ms)}`, formatDuration(ms)], { at, ink: 'muted' });
  }
};

const placeHanging = (cell: CellView, { pins, notches }: Marks, row: TextRow): void => {
  for (const { x } of pins) row.block(x - 4, x + 4);
  for (const x of notches) row.block(x - 5, x + 5);
  cell.calls.forEach(({ tool, bytesOut, endedAt }, index) => {
    const { x, ink } = pins[index]!;
    const size = endedAt === null ? '' : formatBytes(bytesOut);
    const texts = [`${toolText(tool)} ${size}`.trim(), ...(size === '' ? [] : [size])];
    row.place(texts, { at: (width) => [x + 8, x - 8 - width], ink });
  });
  cell.cuts.forEach((cut, index) => {
    const x = notches[index]!;
    row.place(cutWords(cut), { at: (width) => [x + 9, x - 9 - width], ink: 'tool' });
  });
};

/** From the longest to the shortest. */
const cutWords = (cut: WindowCutView): readonly string[] => {
  if (cut.how !== 'clamped') {
    const kilobytes = `${inKilobytes(cut.bytesBefore)} → ${inKilobytes(cut.bytesAfter)} KB`;
    return [`${plural(cut.messages, 'message')}, ${kilobytes}`, kilobytes];
  }
  const now = compactNumber(cut.tokens);
  const sizes = cut.was === null ? now : `${compactNumber(cut.was)} → ${now}`;
  return [`window ${sizes}`, sizes];
};

const inKilobytes = (bytes: number): string => String(Math.round(bytes / 100) / 10);
