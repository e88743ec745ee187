// What is drawn of a run, before anything has a size: its rooms, and its crossings in the order in which they stand from left to right.
//
//   rooms-columns. Every crossing has a column of its own, in which no room has a wall, so no two shafts share an x.
//   rooms-doors. A goal comes in by the left wall if nothing touched the room before it; a result leaves by the right wall if nothing
//       touches the room after it. Everything else goes through the upper or the lower wall.
import type { CellId } from '#base';
import type { CellView, QuestionView, RunView } from '#headends/run-view';
import { countBefore } from './search.ts';
import { orderStops } from './stops.ts';
import type { Stop } from './stops.ts';
import { findIdles, idleMs } from './time-scale.ts';
import type { Interval } from './time-scale.ts';

export type PlannedRoom = {
  readonly index: number;
  readonly cell: CellView;
  readonly name: string;
  readonly parent: number;
  readonly children: number[];
  /** The crossings by its left and by its right wall; null: none. */
  goal: Stop | null;
  result: Stop | null;
  /** Where it begins and ends among the ranks of stops: `2r + 1` at the column of rank r, `2r` in the gap before it. */
  startPos: number;
  endPos: number;
  /** Whether it may be merged with others: nothing was refused, failed, or waits for a person. */
  isPlain: boolean;
};

export type RoomsPlan = {
  readonly view: RunView;
  readonly rooms: readonly PlannedRoom[];
  readonly roomOf: ReadonlyMap<CellId, number>;
  /** Ordered by rank. Times never go back, even if the clock did. */
  readonly stops: readonly Stop[];
  readonly ranks: number;
  readonly startedAt: number;
  /** The newest moment: the end of the run, or now. */
  readonly endsAt: number;
  readonly isLive: boolean;
  /** Times in which nothing was done anywhere, between crossings. */
  readonly idles: readonly Interval[];
  readonly questionsOf: ReadonlyMap<CellId, readonly QuestionView[]>;
};

/** `now`: for a run under way; what has not ended is drawn up to it. */
export const planRooms = (view: RunView, now: number | null = null): RoomsPlan => {
  const { rooms, roomOf } = listRooms(view);
  const startedAt = rooms[0]?.cell.startedAt ?? 0;
  const asks = [...view.questions.values()].some(({ state }) => state === null);
  // While a person is asked, the clock stands still: it is shown as idle time, however long that is.
  const endsAt = Math.max(startedAt, (view.lastAt ?? 0) + (asks ? idleMs + 1 : 0), now ?? 0);
  const stops = orderStops(view.crossings, rooms, roomOf);
  const rankTimes: number[] = [];
  for (const { rank, at } of stops) rankTimes[rank] = at;
  placeRooms(rooms, stops, rankTimes);
  markPlain(view, rooms, roomOf);
  return {
    view,
    rooms,
    roomOf,
    stops,
    ranks: rankTimes.length,
    startedAt,
    endsAt,
    isLive: rooms.some(({ cell }) => cell.status === null),
    idles: findIdles(rooms, rankTimes, startedAt, endsAt),
    questionsOf: Map.groupBy(view.questions.values(), ({ cell }) => cell),
  };
};

const listRooms = (view: RunView) => {
  const roomOf = new Map<CellId, number>();
  const rooms: PlannedRoom[] = [];
  const counts = new Map<string, number>();
  for (const cell of view.cells.values()) {
    const index = rooms.length;
    const parent = cell.parent === null ? -1 : (roomOf.get(cell.parent) ?? -1);
    const nth = (counts.get(cell.agent) ?? 0) + 1;
    counts.set(cell.agent, nth);
    const name = nth === 1 ? cell.agent : `${cell.agent}#${nth}`;
    const unknown = { goal: null, result: null, startPos: 0, endPos: 0, isPlain: true };
    rooms.push({ index, cell, name, parent, children: [], ...unknown });
    roomOf.set(cell.cell, index);
    rooms[parent]?.children.push(index);
  }
  return { rooms, roomOf };
};

/** A result that is followed by more work, or by a long time, does not end its room. */
const closingMs = 1_000;

const isClosing = ({ cell }: PlannedRoom, { crossing }: Stop): boolean =>
  crossing.kind === 'result' &&
  cell.endedAt !== null &&
  cell.endedAt - crossing.at <= closingMs &&
  (cell.requests.at(-1)?.startedAt ?? 0) <= crossing.at &&
  (cell.calls.at(-1)?.startedAt ?? 0) <= crossing.at;

const placeRooms = (rooms: readonly PlannedRoom[], stops: readonly Stop[], rankTimes: readonly number[]): void => {
  const first: Stop[] = [];
  const last: Stop[] = [];
  for (const stop of stops)
    for (const room of [stop.from, stop.to]) {
      if (room < 0) continue;
      first[room] ??= stop;
      last[room] = stop;
    }
  for (const room of rooms) {
    const [opening, closing] = [first[room.index], last[room.index]];
    if (opening?.crossing.kind === 'goal' && opening.crossing.refused === null && opening.to === room.index)
      room.goal = opening;
    if (closing !== undefined && closing !== room.goal && closing.from === room.index && isClosing(room, closing))
      room.result = closing;
    const { startedAt, endedAt } = room.cell;
    room.startPos =
      room.goal === null
        ? 2 * Math.min(countBefore(rankTimes, startedAt), opening?.rank ?? Infinity)
        : 2 * room.goal.rank + 1;
    const endGap = endedAt === null ? rankTimes.length : countBefore(rankTimes, endedAt + 0.5);
    room.endPos = room.result === null ? 2 * Math.max(endGap, (closing?.rank ?? -1) + 1) : 2 * room.result.rank + 1;
    room.endPos = Math.max(room.endPos, room.startPos);
  }
};

const markPlain = (
  { questions, crossings }: RunView,
  rooms: readonly PlannedRoom[],
  roomOf: ReadonlyMap<CellId, number>,
): void => {
  const mark = (cell: string): void => {
    const room = rooms[roomOf.get(cell as CellId) ?? -1];
    if (room !== undefined) room.isPlain = false;
  };
  for (const { state, cell } of questions.values()) if (state === null) mark(cell);
  for (const { refused, from, to } of crossings) if (refused !== null) [from, to].forEach(mark);
  for (const room of rooms) if (room.cell.status !== null && room.cell.status !== 'completed') room.isPlain = false;
};
