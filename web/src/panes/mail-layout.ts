// Where mail is drawn: rooms are columns, time runs down, and each message has a hall between two rows of room pieces.
//
//   mail-halls. A line runs in its hall, and enters pieces only of its sender (above the hall) and of those it reached (below it).
//       A message that nobody will read ends in the hall.
import type { MailColumn, MailMessage } from './mail-messages.ts';

export const rowHeight = 70;
export const headHeight = 64;
/** From the top of a row: the line of the hall, and the room pieces below it. */
export const hallY = 27;
export const pieceTop = 42;
/** How far a line reaches into a piece. */
const inside = 12;

export type MailFrame = {
  readonly width: number;
  /** The middle of each column, and how wide a room is. */
  readonly middles: readonly number[];
  readonly roomWidth: number;
  readonly hasTimes: boolean;
};

export type MailPiece = {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly column: number;
  /** `lit`: it sends or receives here. */
  readonly isLit: boolean;
  readonly doorAbove: boolean;
  readonly doorBelow: boolean;
};

export type MailSegment = { readonly x1: number; readonly y1: number; readonly x2: number; readonly y2: number };

export type MailRow = {
  /** The columns between which the message goes; -1: its sender has none. */
  readonly sender: number;
  readonly reached: readonly number[];
  /** Columns at which it ends in the hall: dead, or waiting in the mailbox. */
  readonly stopped: readonly { readonly column: number; readonly isDead: boolean }[];
};

export const mailFrame = (columns: readonly MailColumn[], available: number, isNarrow: boolean): MailFrame => {
  const hasPerson = columns[0]?.id === 'outside';
  const rooms = columns.length - (hasPerson ? 1 : 0);
  const [gutter, personWidth, least, apart] = isNarrow ? [4, 76, 72, 8] : [64, 130, 112, rooms > 8 ? 12 : 33];
  const left = gutter + (hasPerson ? personWidth : 24);
  const step = Math.min(240, Math.max(rooms > 8 ? 72 : least, Math.floor((available - left - 8) / Math.max(1, rooms))));
  const roomMiddles = Array.from({ length: rooms }, (_, at) => left + at * step + Math.floor(step / 2));
  return {
    width: Math.max(available, left + rooms * step + 8),
    middles: hasPerson ? [gutter + Math.floor(personWidth / 2), ...roomMiddles] : roomMiddles,
    roomWidth: step - apart,
    hasTimes: !isNarrow,
  };
};

export const mailRow = (message: MailMessage, columns: readonly MailColumn[]): MailRow => {
  const at = (end: string | null): number => columns.findIndex(({ id }) => id === end);
  const known = message.readers.map(({ to, state }) => ({ column: at(to), state })).filter(({ column }) => column >= 0);
  const stops = known.filter(({ state }) => state === 'dead' || state === 'queued');
  return {
    sender: at(message.from),
    reached: known.filter(({ state }) => state === 'delivered' || state === 'read').map(({ column }) => column),
    stopped: stops.map(({ column, state }) => ({ column, isDead: state === 'dead' })),
  };
};

/** The top of a row; row -1 is the head with the names. */
const topOf = (row: number): number => headHeight + row * rowHeight;

/** The room pieces below the hall of message `at`; -1: the heads. Rooms that do not live then have none. */
export const piecesAfter = (
  at: number,
  messages: readonly MailMessage[],
  columns: readonly MailColumn[],
  frame: MailFrame,
): readonly MailPiece[] => {
  const [message, next] = [messages[at], messages[at + 1]];
  const reached = new Set(message === undefined ? [] : mailRow(message, columns).reached);
  const sender = next === undefined ? -1 : mailRow(next, columns).sender;
  const [y, height] = at < 0 ? [12, headHeight - 20] : [topOf(at) + pieceTop, rowHeight - pieceTop];
  return columns.flatMap(({ cell }, column) => {
    if (cell === null) return [];
    const [doorAbove, doorBelow] = [reached.has(column), sender === column];
    const begins = message?.at ?? -Infinity;
    const lives = cell.startedAt <= (next?.at ?? Infinity) && (cell.endedAt === null || cell.endedAt >= begins);
    if (at >= 0 && !lives && !doorAbove && !doorBelow) return [];
    const x = frame.middles[column]! - frame.roomWidth / 2;
    const isLit = at < 0 || doorAbove || doorBelow;
    return [{ x, y, width: frame.roomWidth, height, column, isLit, doorAbove, doorBelow }];
  });
};

/** The lines of message `at`, from the whole drawing's upper left corner. */
export const linesOf = (
  at: number,
  { sender, reached, stopped }: MailRow,
  { middles }: MailFrame,
): readonly MailSegment[] => {
  const y = topOf(at) + hallY;
  const ends = [...reached, ...stopped.map(({ column }) => column)];
  const all = [...(sender < 0 ? [] : [sender]), ...ends].map((column) => middles[column]!);
  // The head ends above its row; a piece ends where its row does.
  const stemTop = topOf(at) - (at === 0 ? 8 : 0) - inside;
  const stem = sender < 0 ? [] : [{ x1: middles[sender]!, y1: stemTop, x2: middles[sender]!, y2: y }];
  const hall = all.length < 2 ? [] : [{ x1: Math.min(...all), y1: y, x2: Math.max(...all), y2: y }];
  const drops = reached.map((column) => {
    const x = middles[column]!;
    return { x1: x, y1: y, x2: x, y2: topOf(at) + pieceTop + inside };
  });
  return [...stem, ...hall, ...drops];
};

/** On which side of its stem a message's text stands, and how wide it may be. */
export const labelPlace = (sender: number, { middles, width }: MailFrame) => {
  const x = sender < 0 ? 64 : middles[sender]!;
  const [left, right] = [x - 84, width - x - 24];
  return right >= 260 || right >= left
    ? { side: 'right' as const, x, most: right }
    : { side: 'left' as const, x, most: left };
};
