// Rooms in lanes and crossings in columns, without sizes: who stands where, and which shafts are cut.
//
//   rooms-cut. Where a shaft would meet a room that it does not enter, it stops before it and goes on behind it. Which rooms it meets
//       follows from lanes and columns alone, so it holds at every size.
import { packLanes } from './lanes.ts';
import type { Unit } from './lanes.ts';
import type { PlannedRoom, RoomsPlan } from './plan.ts';
import { nowhere, outside } from './stops.ts';
import type { Stop } from './stops.ts';

export type ArrangedUnit = Unit & {
  readonly room: PlannedRoom;
  /** Its walls stand in these gaps: its inside has the columns from `leftGap` up to, but not, `rightGap`. */
  leftGap: number;
  rightGap: number;
  /** The stops at its left and right wall; -1: none. */
  goal: number;
  result: number;
  /** Crossings that are counted here and not drawn. */
  counted: number;
};

export type Arrangement = {
  readonly plan: RoomsPlan;
  readonly lanes: number;
  readonly units: readonly ArrangedUnit[];
  readonly unitOf: Int32Array;
  readonly stops: readonly Stop[];
  readonly times: Float64Array;
  /** Whether a stop has a column. */
  readonly hasColumn: Uint8Array;
  readonly isCounted: Uint8Array;
  readonly tightGaps: ReadonlySet<number>;
  /** The units at the ends of each stop, or `outside`, or `nowhere`. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** The lanes of the first and the last foreign room on its way; -1: it is not cut. */
  readonly cutAfter: Int32Array;
  readonly cutBefore: Int32Array;
};

export const arrangeRooms = (plan: RoomsPlan, heap: number, isSameAgent: boolean): Arrangement => {
  const { units: packed, unitOf, count } = packLanes(plan, heap, isSameAgent);
  const laneOfRoom = (room: number): number => packed[unitOf[room]!]!.lane;
  // In a fan-out, the child in the lowest lane comes first.
  const stops = plan.stops.toSorted(
    (a, b) =>
      a.rank - b.rank || (a.child === b.child ? 0 : laneOfRoom(b.child) - laneOfRoom(a.child)) || a.order - b.order,
  );
  const placeOf = new Map(stops.map((stop, at) => [stop, at]));
  const rankStarts: number[] = [];
  stops.forEach(({ rank }, at) => (rankStarts[rank] ??= at));
  rankStarts.push(stops.length);
  const units = packed.map((unit) => placeUnit(plan, unit, placeOf, rankStarts));
  const end = (room: number): number => (room < 0 ? room : unitOf[room]!);
  const [from, to] = [Int32Array.from(stops, (stop) => end(stop.from)), Int32Array.from(stops, (stop) => end(stop.to))];
  const hasColumn = new Uint8Array(stops.length).fill(1);
  const isCounted = new Uint8Array(stops.length);
  stops.forEach((stop, at) => {
    const isInside = from[at] === to[at];
    const unit = units[isInside ? from[at]! : countedBy(stop, at, plan, units, unitOf)];
    if (unit !== undefined) {
      unit.counted++;
      isCounted[at] = 1;
    }
    const isAtRightWall = stop.crossing.refused !== null && units[from[at]!]?.result === at;
    if (unit !== undefined || isAtRightWall) hasColumn[at] = 0;
  });
  const tightGaps = new Set(
    units.filter(({ leftGap, rightGap }) => leftGap === rightGap).map(({ leftGap }) => leftGap),
  );
  const times = Float64Array.from(stops, ({ at }) => at);
  const placed = { plan, lanes: count, units, unitOf, stops, times, hasColumn, isCounted, tightGaps, from, to };
  return { ...placed, ...findCuts(placed) };
};

const placeUnit = (
  { rooms }: RoomsPlan,
  unit: Unit,
  placeOf: ReadonlyMap<Stop, number>,
  rankStarts: readonly number[],
): ArrangedUnit => {
  const room = rooms[unit.rooms[0]!]!;
  const placed: ArrangedUnit = { ...unit, room, leftGap: Infinity, rightGap: -1, goal: -1, result: -1, counted: 0 };
  for (const index of unit.rooms) {
    const { goal, result, startPos, endPos } = rooms[index]!;
    const [opening, closing] = [goal === null ? -1 : placeOf.get(goal)!, result === null ? -1 : placeOf.get(result)!];
    const left = goal === null ? rankStarts[startPos >> 1]! : opening + 1;
    const right = result === null ? rankStarts[endPos >> 1]! : closing;
    if (left < placed.leftGap) Object.assign(placed, { leftGap: left, goal: opening });
    if (right > placed.rightGap) Object.assign(placed, { rightGap: right, result: closing });
  }
  return placed;
};

/** Of merged rooms, the first goal and the last result are drawn for all. -1: it is drawn. */
const countedBy = (
  stop: Stop,
  at: number,
  { rooms }: RoomsPlan,
  units: readonly ArrangedUnit[],
  unitOf: Int32Array,
): number => {
  for (const room of [stop.from, stop.to]) {
    if (room < 0) continue;
    const unit = units[unitOf[room]!]!;
    const isDoor = rooms[room]!.goal === stop || rooms[room]!.result === stop;
    if (unit.rooms.length > 1 && isDoor && unit.goal !== at && unit.result !== at) return unit.index;
  }
  return -1;
};

type Placed = Pick<Arrangement, 'lanes' | 'units' | 'stops' | 'hasColumn' | 'from' | 'to'>;

/** Goes through the columns from left to right, and knows in which lanes there is a room. */
const findCuts = ({ lanes, units, stops, hasColumn, from, to }: Placed) => {
  const starts = units.toSorted((a, b) => a.leftGap - b.leftGap);
  const ends = units.toSorted((a, b) => a.rightGap - b.rightGap);
  const occupied = new LaneSet(lanes);
  const cutAfter = new Int32Array(stops.length).fill(-1);
  const cutBefore = new Int32Array(stops.length).fill(-1);
  let [started, ended] = [0, 0];
  const laneOf = (unit: number): number => (unit === outside ? -1 : units[unit]!.lane);
  for (let at = 0; at < stops.length; at++) {
    // A room without a column inside ends in the gap in which it starts.
    for (; ended < ends.length && ends[ended]!.rightGap <= at; ended++)
      if (ends[ended]!.leftGap < ends[ended]!.rightGap) occupied.remove(ends[ended]!.lane);
    for (; started < starts.length && starts[started]!.leftGap <= at; started++)
      if (starts[started]!.rightGap > at) occupied.add(starts[started]!.lane);
    if (hasColumn[at] === 0 || from[at] === nowhere || to[at] === nowhere || stops[at]!.crossing.refused !== null)
      continue;
    const [source, target] = [laneOf(from[at]!), laneOf(to[at]!)];
    const [high, low] = [Math.min(source, target), Math.max(source, target)];
    const [first, last] = [occupied.next(high + 1, low), occupied.previous(low - 1, high)];
    cutAfter[at] = source < target ? first : last;
    cutBefore[at] = source < target ? last : first;
  }
  return { cutAfter, cutBefore };
};

/** Lanes as bits. */
class LaneSet {
  readonly #words: Uint32Array;

  constructor(lanes: number) {
    this.#words = new Uint32Array((lanes >> 5) + 1);
  }

  add(lane: number): void {
    this.#words[lane >> 5]! |= 1 << (lane & 31);
  }

  remove(lane: number): void {
    this.#words[lane >> 5]! &= ~(1 << (lane & 31));
  }

  /** The first from `lane` on that is before `limit`; -1: none. */
  next(lane: number, limit: number): number {
    for (let at = lane; at < limit; at = (at | 31) + 1) {
      const word = (this.#words[at >> 5]! >>> (at & 31)) << (at & 31);
      if (word === 0) continue;
      const found = (at & ~31) + 31 - Math.clz32(word & -word);
      return found < limit ? found : -1;
    }
    return -1;
  }

  /** The first from `lane` down that is after `limit`; -1: none. */
  previous(lane: number, limit: number): number {
    for (let at = lane; at > limit; at = (at & ~31) - 1) {
      const word = (this.#words[at >> 5]! << (31 - (at & 31))) >>> (31 - (at & 31));
      if (word === 0) continue;
      const found = (at & ~31) + 31 - Math.clz32(word);
      return found > limit ? found : -1;
    }
    return -1;
  }
}
