// Arrows and refused crossings on the canvas.
import { dot } from './draw-room.ts';
import type { RoomsLayout } from './layout.ts';
import type { Door, Line, Mark, Shaft } from './shafts.ts';
import { crossingInk } from './texts.ts';
import type { Ink } from './texts.ts';
import type { Theme } from './theme.ts';

type Layout = Pick<RoomsLayout, 'rooms' | 'scale' | 'personY' | 'gap'>;

/** Below this, arrows are lines. */
const narrowColumn = 4;

export const drawShafts = (
  context: CanvasRenderingContext2D,
  theme: Theme,
  layout: Layout,
  shafts: readonly Shaft[],
  selected: string | null,
): void => {
  const { column } = layout.scale;
  const isNarrow = column < narrowColumn;
  if (!isNarrow)
    for (const { from, to } of shafts) [from, to].forEach((door) => openDoor(context, theme, layout, door));
  const byInk = Map.groupBy(isNarrow ? onePerPixel(shafts) : shafts, ({ stop }) => crossingInk(stop.crossing));
  for (const [ink, some] of byInk) {
    context.strokeStyle = theme[ink];
    context.lineWidth = isNarrow ? 1 : 2;
    context.beginPath();
    for (const { line, rest } of some) {
      trace(context, line);
      if (rest !== null) trace(context, rest);
      if (isNarrow) continue;
      if (rest !== null) [line.slice(-2), rest].forEach(([x, y]) => cap(context, x!, y!));
    }
    context.stroke();
    if (!isNarrow) drawEnds(context, theme[ink], some, column);
  }
  const picked = shafts.find(({ stop }) => stop.crossing.id === selected);
  if (picked === undefined) return;
  context.lineWidth = 4;
  context.strokeStyle = theme[crossingInk(picked.stop.crossing)];
  context.beginPath();
  [picked.line, picked.rest ?? []].forEach((line) => trace(context, line));
  context.stroke();
};

/** Shafts on the same pixel as a longer one are not drawn again. */
const onePerPixel = (shafts: readonly Shaft[]): readonly Shaft[] => {
  const drawn = new Map<number, { low: number; high: number; ink: Ink }>();
  return shafts.filter(({ x, line, rest, stop }) => {
    const [a, b] = [line[1]!, (rest ?? line).at(-1)!];
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    const known = drawn.get(Math.round(x));
    if (known !== undefined && known.low <= low && known.high >= high) return false;
    drawn.set(Math.round(x), { low, high, ink: crossingInk(stop.crossing) });
    return true;
  });
};

const trace = (context: CanvasRenderingContext2D, line: Line): void => {
  for (let at = 0; at + 1 < line.length; at += 2)
    if (at === 0) context.moveTo(line[0]!, line[1]!);
    else context.lineTo(line[at]!, line[at + 1]!);
};

const cap = (context: CanvasRenderingContext2D, x: number, y: number): void => {
  context.moveTo(x - 4, y);
  context.lineTo(x + 4, y);
};

const drawEnds = (context: CanvasRenderingContext2D, ink: string, shafts: readonly Shaft[], column: number): void => {
  const size = Math.min(1, column / 12);
  context.fillStyle = ink;
  for (const { line, rest, to, isLost } of shafts) {
    dot(context, line[0]!, line[1]!, 4 * size);
    const end = rest ?? line;
    const [x, y] = [end.at(-2)!, end.at(-1)!];
    if (isLost) context.fillRect(x - 4, y - 1, 8, 2);
    else head(context, x, y, to.side, size);
  }
};

/** Its tip is where the line ends. */
const head = (context: CanvasRenderingContext2D, x: number, y: number, side: Door['side'], size: number): void => {
  const [length, half] = [9 * size, 5 * size];
  const [dx, dy] = side === 'left' ? [-1, 0] : side === 'top' ? [0, -1] : [0, 1];
  context.beginPath();
  context.moveTo(x - dx * 2, y - dy * 2);
  context.lineTo(x + dx * length - dy * half, y + dy * length - dx * half);
  context.lineTo(x + dx * length + dy * half, y + dy * length + dx * half);
  context.fill();
};

/** 12 pixels of the wall are open. */
const openDoor = (
  context: CanvasRenderingContext2D,
  theme: Theme,
  { rooms, scale }: Layout,
  { unit, side, x, y }: Door,
): void => {
  const room = rooms[unit];
  if (room === undefined) return;
  const wall = room.wall;
  const upright = side === 'left' || side === 'right';
  const size = upright ? Math.min(12, (room.bottom - room.top) / 2) : Math.min(12, scale.column - 2);
  context.fillStyle = theme.surface;
  if (upright) context.fillRect(side === 'left' ? x : x - wall, y - size / 2, wall, size);
  else context.fillRect(x - size / 2, side === 'top' ? y : y - wall, size, wall);
};

/** The wall stays closed: a red bar at it, a dot and a stub inside, nothing outside. */
export const drawMarks = (
  context: CanvasRenderingContext2D,
  theme: Theme,
  { rooms, scale }: Layout,
  marks: readonly Mark[],
  selected: string | null,
): void => {
  context.fillStyle = theme.stop;
  context.strokeStyle = theme.stop;
  context.lineWidth = 2;
  for (const { door, dot: at, stop } of marks) {
    const room = rooms[door.unit];
    const isPicked = stop.crossing.id === selected;
    const [x, y] = [at[0]!, at[1]!];
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(door.x, door.y);
    context.stroke();
    const isLow = room !== undefined && room.bottom - room.top < 40;
    dot(context, x, y, (isLow ? 2 : Math.min(4, Math.max(2, scale.column / 3))) + (isPicked ? 1.5 : 0));
    const thick = (isLow ? room.wall + 2 : 7) + (isPicked ? 2 : 0);
    context.beginPath();
    if (door.side === 'right') {
      const long = Math.min(26, room === undefined ? 26 : room.bottom - room.top - 2);
      context.roundRect(door.x - thick + 2, door.y - long / 2, thick, long, 1);
    } else {
      const long = Math.min(26, Math.max(5, scale.column - 2));
      const wall = room?.wall ?? 0;
      const middle = door.side === 'top' ? door.y + wall / 2 : door.y - wall / 2;
      context.roundRect(door.x - long / 2, middle - thick / 2, long, thick, 1);
    }
    context.fill();
  }
};
