// What is under a pointer, and what comes next with a key: by arithmetic, without asking the canvas.
import type { Details } from './details.ts';
import { roomsBetween, shaftsBetween } from './layout.ts';
import type { RoomsLayout, RoomShape } from './layout.ts';
import type { Line } from './shafts.ts';
import { halfLine } from './texts.ts';

export type Hit = { readonly room: RoomShape | null; readonly op: number | null; readonly crossing: string | null };

const nothing: Hit = { room: null, op: null, crossing: null };

/** `reach`: how far beside an arrow a pointer still means it. */
export const hitAt = (layout: RoomsLayout, details: Details, x: number, y: number, reach: number): Hit => {
  const room = roomAt(layout, x, y);
  const crossing = crossingAt(layout, x, y, reach) ?? (room === null ? labelAt(layout, details, x, y) : null);
  if (crossing !== null) return { ...nothing, crossing };
  if (room === null) return nothing;
  const { bars, barTop, pins, pinY } = details.inside(room);
  if (layout.detail !== 'all' && layout.detail !== 'bars') return { ...nothing, room };
  const pin = pins.find((one) => Math.abs(one.x - x) <= 6 && Math.abs(pinY - y) <= 8);
  const bar =
    y < barTop ? undefined : bars.findLast(({ left, right, what }) => what !== 'tool' && x >= left && x <= right);
  return { ...nothing, room, op: pin?.op ?? (y <= pinY ? bar?.op : undefined) ?? null };
};

const roomAt = ({ lanes, laneTops }: RoomsLayout, x: number, y: number): RoomShape | null => {
  const lane = lanes[laneTops.findLastIndex((top) => top <= y)] ?? [];
  const room = roomsBetween(lane, x, x)[0];
  return room !== undefined && y <= room.bottom ? room : null;
};

const crossingAt = ({ shafts, marks }: RoomsLayout, x: number, y: number, reach: number): string | null => {
  const mark = marks.find(
    ({ door, dot }) => Math.hypot(door.x - x, door.y - y) <= reach + 6 || Math.hypot(dot[0]! - x, dot[1]! - y) <= reach,
  );
  if (mark !== undefined) return mark.stop.crossing.id;
  let [best, found] = [reach, null as string | null];
  for (const { line, rest, stop } of shaftsBetween(shafts, x - reach - 12, x + reach + 12))
    for (const piece of rest === null ? [line] : [line, rest]) {
      const away = distance(piece, x, y);
      if (away < best) [best, found] = [away, stop.crossing.id];
    }
  return found;
};

const distance = (line: Line, x: number, y: number): number => {
  let nearest = Infinity;
  for (let at = 0; at + 3 < line.length; at += 2) {
    const [x1, y1, x2, y2] = [line[at]!, line[at + 1]!, line[at + 2]!, line[at + 3]!];
    const dx = Math.max(Math.min(x1, x2) - x, 0, x - Math.max(x1, x2));
    const dy = Math.max(Math.min(y1, y2) - y, 0, y - Math.max(y1, y2));
    nearest = Math.min(nearest, Math.hypot(dx, dy));
  }
  return nearest;
};

/** A label belongs to the room below it. */
const labelAt = (layout: RoomsLayout, details: Details, x: number, y: number): string | null => {
  const lane = layout.lanes[layout.laneTops.findIndex((top) => top > y)] ?? [];
  const labels = roomsBetween(lane, x, x).flatMap((room) => details.labels(room));
  const found = labels.find((one) => x >= one.x && x <= one.x + one.width && Math.abs(one.y - y) <= halfLine + 1);
  return found?.crossing ?? null;
};

export type Place = {
  readonly cell?: string | undefined;
  readonly op?: number | undefined;
  readonly crossing?: string | undefined;
};

/** The room above or below, in the order of lanes. */
export const nextRoom = ({ lanes, arrangement }: RoomsLayout, { cell, crossing }: Place, by: 1 | -1): Place | null => {
  const all = lanes.flat();
  const { plan, unitOf } = arrangement;
  const owner = cell ?? plan.view.crossings.find(({ id }) => id === crossing)?.to;
  const room = plan.roomOf.get(owner as never);
  const at = room === undefined ? -1 : all.findIndex(({ unit }) => unit.index === unitOf[room]);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  return next === undefined ? null : { cell: next.unit.room.cell.cell };
};

/** The request or crossing of the room before or after; of no room, the crossing. */
export const nextInRoom = ({ arrangement: { plan } }: RoomsLayout, place: Place, by: 1 | -1): Place | null => {
  const { cells, crossings } = plan.view;
  const cell = place.cell === undefined ? undefined : cells.get(place.cell as never);
  const own =
    cell === undefined ? crossings : crossings.filter(({ from, to }) => from === cell.cell || to === cell.cell);
  const items = [
    ...own.map(({ at, id }) => ({ at, place: { cell: place.cell, crossing: id } as Place })),
    ...(cell?.requests ?? []).map(({ startedAt, op }) => ({ at: startedAt, place: { cell: place.cell, op } as Place })),
  ].sort((a, b) => a.at - b.at);
  const now = items.findIndex(({ place: one }) =>
    place.crossing === undefined ? place.op !== undefined && one.op === place.op : one.crossing === place.crossing,
  );
  const next = items[now < 0 ? (by > 0 ? 0 : items.length - 1) : now + by];
  return next?.place ?? null;
};
