// The way of one crossing: through a door, along its column, through another door. Refused ones end at the wall.
import type { Arrangement } from './arrangement.ts';
import type { LaneMetrics, RoomShape } from './layout.ts';
import { nowhere, outside } from './stops.ts';
import type { Stop } from './stops.ts';
import { halfLine } from './texts.ts';
import type { TimeScale } from './time-scale.ts';

export type Side = 'left' | 'right' | 'top' | 'bottom';

/** Where a wall is open: its outer edge there. Null unit: the line of the person, or nothing. */
export type Door = { readonly unit: number; readonly side: Side; readonly x: number; readonly y: number };

/** x and y of each corner, in turn. */
export type Line = readonly number[];

export type Shaft = {
  readonly stop: Stop;
  readonly x: number;
  readonly from: Door;
  readonly to: Door;
  /** From the dot on; up to the arrowhead if it is not cut. */
  readonly line: Line;
  /** What comes behind the last foreign room, up to the arrowhead; null: it is not cut. */
  readonly rest: Line | null;
  /** It ends in the open: the cell never started. */
  readonly isLost: boolean;
};

/** A refused crossing: a bar at the wall, a dot and a stub inside. */
export type Mark = { readonly stop: Stop; readonly x: number; readonly door: Door; readonly dot: Line };

type Base = LaneMetrics & {
  readonly personY: number;
  readonly arrangement: Arrangement;
  readonly rooms: readonly RoomShape[];
  readonly scale: TimeScale;
};

/** How far inside a room dots and arrowheads stand: clear of the name. */
const depthOf = (side: Side, { left, right, top, bottom }: RoomShape): number => {
  const height = bottom - top;
  const name = Math.min(16, height / 2);
  if (side === 'top') return Math.max(1, Math.min(5, name - halfLine - 1));
  if (side === 'bottom') return Math.max(1, Math.min(9, height - name - halfLine - 4));
  return Math.min(12 * Math.min(1, Math.max(0.4, height / 40)), (right - left) / 2);
};

export const makeShaft = (base: Base, at: number): Shaft | Mark => {
  const { arrangement, rooms, scale } = base;
  const stop = arrangement.stops[at]!;
  const [from, to] = [arrangement.from[at]!, arrangement.to[at]!];
  const x = (scale.gapRight[at]! + scale.gapLeft[at + 1]!) / 2;
  const [source, target] = [rooms[from], rooms[to]];
  const isDown = laneOf(target, to) > laneOf(source, from);
  if (stop.crossing.refused !== null) {
    const isIn = from === nowhere;
    const [room, unit] = isIn ? [target, to] : [source, from];
    const isAtRight = !isIn && room?.unit.result === at;
    return refusedMark(base, stop, x, { room, unit, side: isAtRight ? 'right' : isDown !== isIn ? 'bottom' : 'top' });
  }
  const leaves = doorOf(base, x, {
    room: source,
    unit: from,
    side: source?.unit.result === at ? 'right' : isDown ? 'bottom' : 'top',
  });
  if (to === nowhere) {
    const line = [x, inside(leaves, source)[1]!, x, leaves.y + Math.min(12, base.gap / 2)];
    return {
      stop,
      x,
      from: leaves,
      to: { unit: nowhere, side: 'top', x, y: line[3]! },
      line,
      rest: null,
      isLost: true,
    };
  }
  const enters = doorOf(base, x, {
    room: target,
    unit: to,
    side: target?.unit.goal === at ? 'left' : isDown ? 'top' : 'bottom',
  });
  const start = leaves.side === 'right' ? [...inside(leaves, source), x, leaves.y] : inside(leaves, source);
  const end = enters.side === 'left' ? [x, enters.y, ...inside(enters, target)] : inside(enters, target);
  const [after, before] = [arrangement.cutAfter[at]!, arrangement.cutBefore[at]!];
  const whole = { stop, x, from: leaves, to: enters, isLost: false };
  if (after < 0) return { ...whole, line: [...start, ...end], rest: null };
  const space = Math.min(6, base.gap / 2 - 1);
  const [near, far] = isDown
    ? [base.tops[after]! - space, base.tops[before]! + base.heights[before]! + space]
    : [base.tops[after]! + base.heights[after]! + space, base.tops[before]! - space];
  return { ...whole, line: [...start, x, near], rest: [x, far, ...end] };
};

const laneOf = (room: RoomShape | undefined, unit: number): number =>
  room?.unit.lane ?? (unit === outside ? -1 : Infinity);

type End = { readonly room: RoomShape | undefined; readonly unit: number; readonly side: Side };

const doorOf = ({ personY, doorHeight }: Base, x: number, { room, unit, side }: End): Door => {
  if (room === undefined) return { unit, side, x, y: personY };
  switch (side) {
    case 'left':
      return { unit, side, x: room.left, y: room.top + doorHeight };
    case 'right':
      return { unit, side, x: room.right, y: room.top + doorHeight };
    case 'top':
      return { unit, side, x, y: room.top };
    case 'bottom':
      return { unit, side, x, y: room.bottom };
  }
};

/** Where the dot or the arrowhead stands. */
const inside = ({ side, x, y }: Door, room: RoomShape | undefined): Line => {
  if (room === undefined) return [x, y];
  const depth = depthOf(side, room);
  switch (side) {
    case 'left':
      return [x + depth, y];
    case 'right':
      return [x - depth, y];
    case 'top':
      return [x, y + depth];
    case 'bottom':
      return [x, y - depth];
  }
};

const refusedMark = (base: Base, stop: Stop, x: number, end: End): Mark => {
  const door = doorOf(base, x, end);
  const dot = inside(door, end.room);
  const length = end.side === 'right' ? Math.min(20, ((end.room?.right ?? 0) - (end.room?.left ?? 0)) / 2) : 0;
  return { stop, x: door.x, door, dot: length > 0 ? [door.x - length, dot[1]!] : dot };
};
