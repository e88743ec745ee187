// The geometry of rooms: rectangles, shafts and doors in pixels. No canvas is needed for it.
import { arrangeRooms } from './arrangement.ts';
import type { ArrangedUnit, Arrangement } from './arrangement.ts';
import type { RoomsPlan } from './plan.ts';
import { makeShaft } from './shafts.ts';
import type { Mark, Shaft } from './shafts.ts';
import { countWhile } from './search.ts';
import { scaleTime } from './time-scale.ts';
import type { TimeScale } from './time-scale.ts';

/** What there is room for, by the height of a lane. */
export type Detail = 'all' | 'bars' | 'name' | 'walls';

export type RoomShape = {
  readonly unit: ArrangedUnit;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly wall: number;
};

export type RoomsLayout = {
  readonly arrangement: Arrangement;
  readonly scale: TimeScale;
  readonly width: number;
  readonly height: number;
  readonly detail: Detail;
  /** Of a door, below the corner. */
  readonly doorHeight: number;
  readonly gap: number;
  readonly personY: number;
  readonly axisY: number;
  readonly laneTops: readonly number[];
  /** By unit. */
  readonly rooms: readonly RoomShape[];
  /** The rooms of each lane, from left to right. */
  readonly lanes: readonly (readonly RoomShape[])[];
  /** From left to right. */
  readonly shafts: readonly Shaft[];
  readonly marks: readonly Mark[];
  /** By the id of the crossing's event. */
  readonly shaftOf: ReadonlyMap<string, Shaft | Mark>;
  /** By unit: what uses its upper and its lower wall, from left to right. */
  readonly topDoors: ReadonlyMap<number, readonly (Shaft | Mark)[]>;
  readonly bottomDoors: ReadonlyMap<number, readonly (Shaft | Mark)[]>;
};

export type RoomsSize = {
  /** Of what is in sight. */
  readonly width: number;
  readonly height: number;
  /** 1: all of it is in sight. */
  readonly zoom?: number;
};

const personTop = 22;
const axisHeight = 26;
const lowestLane = 12;
const mergedLane = 32;
/** A name in small letters. */
const lowestName = 14;
/** A lane in which everything can be read. */
const readableLane = 98;

export const layoutRooms = (plan: RoomsPlan, { width, height, zoom = 1 }: RoomsSize): RoomsLayout => {
  const space = spaceIn(height) * zoom;
  const arrangement = arrangeToFit(plan, space);
  const metrics = laneMetrics(arrangement, space);
  const isNarrow = width <= 520;
  const asks = [...plan.view.questions.values()].some(({ state }) => state === null);
  const { times, hasColumn, tightGaps } = arrangement;
  const scale = scaleTime({
    times,
    hasColumn,
    tightGaps,
    idles: plan.idles,
    startedAt: plan.startedAt,
    endsAt: plan.endsAt,
    width: width * zoom,
    margin: isNarrow ? 10 : 16,
    column: isNarrow ? 14 : width >= 1000 ? 30 : 20,
    idle: isNarrow ? 36 : 60,
    lastIdle: asks ? Math.max(190, width * 0.28) : isNarrow ? 36 : 60,
  });
  const personY = personTop;
  const rooms = arrangement.units.map((unit) => roomShape(unit, scale, metrics));
  const lanes: RoomShape[][] = metrics.tops.map(() => []);
  for (const room of rooms.toSorted((a, b) => a.left - b.left)) lanes[room.unit.lane]!.push(room);
  const shafts: Shaft[] = [];
  const marks: Mark[] = [];
  const shaftOf = new Map<string, Shaft | Mark>();
  const topDoors = new Map<number, (Shaft | Mark)[]>();
  const bottomDoors = new Map<number, (Shaft | Mark)[]>();
  const base = { ...metrics, personY, arrangement, rooms, scale };
  arrangement.stops.forEach(({ crossing }, at) => {
    if (arrangement.isCounted[at] === 1) return;
    const made = makeShaft(base, at);
    if ('line' in made) shafts.push(made);
    else marks.push(made);
    shaftOf.set(crossing.id, made);
    for (const { unit, side } of 'line' in made ? [made.from, made.to] : [made.door])
      if (unit >= 0 && (side === 'top' || side === 'bottom'))
        addTo(side === 'top' ? topDoors : bottomDoors, unit, made);
  });
  const axisY = metrics.bottom + 8;
  return {
    arrangement,
    scale,
    width: Math.max(width, scale.width),
    height: axisY + axisHeight,
    detail: metrics.detail,
    doorHeight: metrics.doorHeight,
    gap: metrics.gap,
    personY,
    axisY,
    laneTops: metrics.tops,
    rooms,
    lanes,
    shafts,
    marks,
    shaftOf,
    topDoors,
    bottomDoors,
  };
};

const addTo = <T>(map: Map<number, T[]>, key: number, value: T): void => {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
};

/** The height at which all lanes can be read, and the zoom at which everything has its full size. */
export const naturalSize = (
  plan: RoomsPlan,
  { width, height }: RoomsSize,
): { readonly height: number; readonly zoom: number } => {
  const all = arrangeOnce(plan, 1, true);
  const { lanes } = all;
  const wanted = laneMetrics(all, lanes * readableLane).bottom;
  const columns = (plan.stops.length * (width <= 520 ? 14 : 20)) / 0.62;
  const zoom = Math.max(1, (lanes * 80) / spaceIn(height), columns / Math.max(1, width));
  return { height: wanted + 8 + axisHeight, zoom: zoom < 1.3 ? 1 : zoom };
};

const spaceIn = (height: number): number => Math.max(40, height - personTop - axisHeight - 26);

const arrangements = new WeakMap<RoomsPlan, Map<string, Arrangement>>();

/** Sizes change more often than runs. */
const arrangeOnce = (plan: RoomsPlan, heap: number, isSameAgent: boolean): Arrangement => {
  const known = arrangements.get(plan) ?? new Map<string, Arrangement>();
  arrangements.set(plan, known);
  const key = `${heap} ${isSameAgent}`;
  const found = known.get(key) ?? arrangeRooms(plan, heap, isSameAgent);
  known.set(key, found);
  return found;
};

/** Merges lanes until those that are left can be read; what cannot be merged is scrolled through. */
const arrangeToFit = (plan: RoomsPlan, space: number): Arrangement => {
  const all = arrangeOnce(plan, 1, true);
  if (space / all.lanes >= lowestLane) return all;
  const fitting = Math.max(4, space / mergedLane);
  let heap = Math.ceil(all.lanes / fitting);
  let merged = all;
  for (let tries = 0; tries < 5 && merged.lanes > fitting * 1.25; tries++, heap *= 2)
    merged = arrangeOnce(plan, heap + 1, tries < 2);
  return merged;
};

export type LaneMetrics = {
  readonly tops: readonly number[];
  readonly heights: readonly number[];
  readonly gap: number;
  readonly wall: number;
  readonly doorHeight: number;
  readonly detail: Detail;
  readonly bottom: number;
};

const highestRoom = 98;

/** Lanes without tool calls are lower where pins would hang. */
const laneMetrics = ({ units, lanes }: Arrangement, space: number): LaneMetrics => {
  const isMerged = units.some(({ rooms }) => rooms.length > 1);
  // Merged rooms say how many they are, so they can be read.
  const each = Math.max(isMerged ? mergedLane : lowestLane, space / Math.max(1, lanes));
  const gap = each >= 60 ? Math.min(44, Math.max(26, each - highestRoom)) : each >= 40 ? 22 : Math.max(4, each * 0.28);
  const height = Math.min(highestRoom, each - gap);
  const detail = height >= 66 ? 'all' : height >= 40 ? 'bars' : height >= lowestName ? 'name' : 'walls';
  const hasPins = new Set<number>();
  for (const { lane, room } of units) if (room.cell.calls.length > 0 || room.cell.cuts.length > 0) hasPins.add(lane);
  const tops: number[] = [];
  const heights: number[] = [];
  let top = personTop + gap + (each >= 40 ? 9 : 4);
  for (let lane = 0; lane < Math.max(1, lanes); lane++) {
    const own = detail === 'all' && !hasPins.has(lane) ? Math.max(54, height * 0.8) : height;
    tops.push(top);
    heights.push(own);
    top += own + gap + (lane === 0 && each >= 60 ? 8 : 0);
  }
  const wall = height >= 96 ? 5 : height >= 40 ? 4 : height >= 20 ? 3 : 2;
  const doorHeight = Math.min(16, height / 2);
  return { tops, heights, gap, wall, doorHeight, detail, bottom: top - gap };
};

const thinnestRoom = 12;

const roomShape = (unit: ArrangedUnit, scale: TimeScale, { tops, heights, wall }: LaneMetrics): RoomShape => {
  const { leftGap, rightGap, goal, result, room, lane } = unit;
  const { gapLeft, gapRight } = scale;
  let left = goal >= 0 ? gapLeft[leftGap]! : scale.x(room.cell.startedAt, leftGap);
  let right = result >= 0 ? gapRight[rightGap]! : scale.x(room.cell.endedAt ?? Infinity, rightGap);
  if (leftGap === rightGap && right - left < thinnestRoom) {
    const middle = (left + right) / 2;
    right = Math.min(gapRight[rightGap]!, Math.max(middle, gapLeft[leftGap]!) + thinnestRoom / 2);
    left = Math.max(gapLeft[leftGap]!, right - thinnestRoom);
    right = Math.min(gapRight[rightGap]!, Math.max(right, left + thinnestRoom));
  }
  const top = tops[lane]!;
  return { unit, left, right: Math.max(left, right), top, bottom: top + heights[lane]!, wall };
};

/** Of sorted rooms or shafts, those that may be seen between two x. */
export const roomsBetween = (rooms: readonly RoomShape[], left: number, right: number): readonly RoomShape[] =>
  rooms.slice(
    countWhile(rooms.length, (at) => rooms[at]!.right < left),
    countWhile(rooms.length, (at) => rooms[at]!.left <= right),
  );

export const shaftsBetween = (shafts: readonly Shaft[], left: number, right: number): readonly Shaft[] =>
  shafts.slice(
    countWhile(shafts.length, (at) => shafts[at]!.x < left),
    countWhile(shafts.length, (at) => shafts[at]!.x <= right),
  );
