// Rooms on one canvas: only what is in sight, found by binary search.
import type { Details } from './details.ts';
import { drawInside, drawRoom, drawText } from './draw-room.ts';
import type { RoomLook } from './draw-room.ts';
import { drawMarks, drawShafts } from './draw-shafts.ts';
import { roomsBetween, shaftsBetween } from './layout.ts';
import type { RoomsLayout, RoomShape } from './layout.ts';
import type { PlacedText } from './texts.ts';
import type { Theme } from './theme.ts';

export type Sight = { readonly left: number; readonly top: number; readonly width: number; readonly height: number };

export type Scene = {
  readonly layout: RoomsLayout;
  readonly details: Details;
  readonly theme: Theme;
  readonly sight: Sight;
  /** Pixels of the screen for one of the page. */
  readonly ratio: number;
  readonly selection: Selection;
  /** Null: nothing is dimmed. */
  readonly lit: Lit | null;
};

export type Selection = { readonly cell: string | null; readonly op: number | null; readonly crossing: string | null };

/** What stays as it is while all else is dimmed. */
export type Lit = { room(unit: number): boolean; crossing(id: string): boolean };

const dimmedTo = 0.3;
const narrowestBreak = 14;

export const drawScene = (context: CanvasRenderingContext2D, scene: Scene): void => {
  const { theme, sight, ratio, lit, layout } = scene;
  const { left, top, width, height } = sight;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = theme.bg;
  context.fillRect(0, 0, width, height);
  context.translate(-left, -top);
  const rooms = roomsIn(layout, sight);
  drawPerson(context, scene);
  drawPart(context, scene, rooms, null);
  if (lit !== null) {
    context.globalAlpha = 1 - dimmedTo;
    context.fillStyle = theme.bg;
    context.fillRect(left, top, width, height);
    context.globalAlpha = 1;
    drawPart(context, scene, rooms, lit);
  }
  drawAxis(context, scene);
};

const roomsIn = ({ lanes, laneTops }: RoomsLayout, { left, top, width, height }: Sight): readonly RoomShape[] => {
  const found: RoomShape[] = [];
  for (const [at, lane] of lanes.entries()) {
    if (lane.length === 0 || lane[0]!.bottom < top - 40 || laneTops[at]! > top + height + 40) continue;
    let pixel = -1;
    for (const room of roomsBetween(lane, left - 4, left + width + 4)) {
      // Rooms that share a pixel are drawn once, unless one of them says something.
      const at2 = Math.round(room.right);
      if (room.right - room.left < 1 && at2 === pixel && room.unit.room.isPlain) continue;
      pixel = at2;
      found.push(room);
    }
  }
  return found;
};

const drawPart = (
  context: CanvasRenderingContext2D,
  { layout, details, theme, sight, selection }: Scene,
  rooms: readonly RoomShape[],
  lit: Lit | null,
): void => {
  const { arrangement, scale } = layout;
  const { plan, unitOf } = arrangement;
  const selected = selection.cell === null ? undefined : plan.roomOf.get(selection.cell as never);
  const unit = selected === undefined ? -1 : unitOf[selected]!;
  for (const room of rooms) {
    if (lit !== null && !lit.room(room.unit.index)) continue;
    const isSelected = room.unit.index === unit;
    const breaks = scale.idles
      .filter((one) => one.left >= room.left && one.right <= room.right && one.right - one.left >= narrowestBreak)
      .map((one) => (one.left + one.right) / 2);
    const look: RoomLook = { isSelected, op: isSelected ? selection.op : null, breaks, bg: theme.bg };
    drawRoom(context, theme, room, look);
    if (layout.detail === 'walls') continue;
    const inside = details.inside(room);
    drawInside(context, theme, room, inside, look);
    const [name] = inside.texts;
    if (name !== undefined && room.left < sight.left) drawStrayName(context, theme, room, name, sight.left + 10);
  }
  const wanted = (id: string): boolean => lit === null || lit.crossing(id);
  const [from, to] = [sight.left - 20, sight.left + sight.width + 20];
  const shafts = shaftsBetween(layout.shafts, from, to).filter((one) => inSight(one.line, one.rest, sight));
  const shown = lit === null ? shafts : shafts.filter(({ stop }) => wanted(stop.crossing.id));
  drawShafts(context, theme, layout, shown, selection.crossing);
  const marks = layout.marks.filter((one) => one.x >= from && one.x <= to && wanted(one.stop.crossing.id));
  drawMarks(context, theme, layout, marks, selection.crossing);
  for (const room of rooms)
    for (const label of details.labels(room)) if (wanted(label.crossing)) drawText(context, theme, label);
};

/** The name of a room that begins far to the left stands at the edge of what is in sight. */
const drawStrayName = (
  context: CanvasRenderingContext2D,
  theme: Theme,
  { right }: RoomShape,
  name: PlacedText,
  x: number,
): void => {
  // Beside the name there may be a few words.
  const isGone = name.x + name.width + 180 < x;
  if (isGone && x + name.width < right - 30) drawText(context, theme, { ...name, x });
};

const inSight = (line: readonly number[], rest: readonly number[] | null, { top, height }: Sight): boolean => {
  const [a, b] = [line[1]!, (rest ?? line).at(-1)!];
  return Math.max(a, b) >= top - 20 && Math.min(a, b) <= top + height + 20;
};

/** The person is a dotted line on top, without walls. */
const drawPerson = (context: CanvasRenderingContext2D, { layout, theme, sight }: Scene): void => {
  const { personY: y, shafts, scale, width } = layout;
  if (y < sight.top - 20 || layout.rooms.length === 0) return;
  context.strokeStyle = theme.muted;
  context.lineWidth = 1.5;
  context.setLineDash([2, 4]);
  context.beginPath();
  const from = Math.max(6, sight.left - (sight.left % 6));
  context.moveTo(from, y);
  context.lineTo(Math.min(width - 6, from + sight.width + 12), y);
  context.stroke();
  context.setLineDash([]);
  const wide = theme.measure('you', 'name');
  const left = scale.gapLeft[1] ?? 30;
  const x = left + Math.min(8, scale.column / 3);
  const isFree = !shaftsBetween(shafts, x - 4, x + wide + 4).some(
    ({ from: a, to: b }) => a.unit === -1 || b.unit === -1,
  );
  if (isFree) {
    context.fillStyle = theme.bg;
    context.fillRect(x - 4, y - 8, wide + 8, 16);
  }
  drawText(context, theme, {
    text: 'you',
    font: 'name',
    ink: 'ink',
    x: isFree ? x : 8,
    y: isFree ? y : y - 12,
    width: wide,
  });
};

/** Below the rooms, or at the lower edge while they are scrolled. */
const drawAxis = (context: CanvasRenderingContext2D, { layout, details, theme, sight }: Scene): void => {
  const bottom = sight.top + sight.height - 24;
  const isFloating = layout.axisY > bottom;
  const y = Math.min(layout.axisY, bottom);
  if (isFloating) {
    context.fillStyle = theme.bg;
    context.fillRect(sight.left, y - 2, sight.width, 26);
  }
  for (const { x, text, width, isNow } of details.ticks) {
    if (x < sight.left - 40 || x > sight.left + sight.width + 40) continue;
    context.fillStyle = theme.muted;
    context.fillRect(x - 0.5, y, 1, 4);
    const font = isNow ? 'name' : 'figure';
    drawText(context, theme, { text, font, ink: isNow ? 'ink' : 'muted', x: x - width / 2, y: y + 13, width });
  }
};
