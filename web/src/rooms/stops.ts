// The order of crossings from left to right.
import type { CellId } from '#base';
import type { CrossingView } from '#headends/run-view';

export const outside = -1;
/** A cell that never started: its goal was refused, or the run was cut. */
export const nowhere = -2;

const fanOutMs = 20;

/** One crossing in its column. */
export type Stop = {
  readonly crossing: CrossingView;
  /** The rooms at its ends, or `outside`, or `nowhere`. */
  readonly from: number;
  readonly to: number;
  at: number;
  /** Its place. Those of one fan-out share a rank, and stand in it by the lanes of their children. */
  rank: number;
  /** In a fan-out, the child that it belongs to; -1: it stands alone. */
  child: number;
  order: number;
};

type Family = { readonly parent: number };

/** What comes to a room before its goal stands behind the goal, and what leaves it just after its result stands before it. */
export const orderStops = (
  crossings: readonly CrossingView[],
  rooms: readonly Family[],
  roomOf: ReadonlyMap<CellId, number>,
): Stop[] => {
  let newest = -Infinity;
  const place = (end: CrossingView['from']): number => (end === 'outside' ? outside : (roomOf.get(end) ?? nowhere));
  const goals = new Map<number, Stop>();
  const results = new Map<number, Stop>();
  const stops = crossings.map((crossing, order): Stop => {
    newest = Math.max(newest, crossing.at);
    const [from, to] = [place(crossing.from), place(crossing.to)];
    const stop: Stop = { crossing, from, to, at: newest, rank: -1, child: -1, order };
    if (crossing.kind === 'goal' && crossing.refused === null && !goals.has(to)) goals.set(to, stop);
    if (crossing.kind === 'result') results.set(from, stop);
    return stop;
  });
  for (const stop of stops) {
    const goal = goals.get(stop.to);
    if (goal !== undefined && stop.order < goal.order) {
      stop.at = goal.at;
      stop.order = goal.order + stop.order / 1e9;
      continue;
    }
    const result = results.get(stop.from);
    if (result !== undefined && stop.order > result.order && stop.at - result.at <= fanOutMs) {
      stop.at = result.at;
      stop.order = result.order - 1 + stop.order / 1e9;
    }
  }
  stops.sort((a, b) => a.at - b.at || a.order - b.order);
  rankFanOuts(stops, rooms, goals);
  return stops.sort((a, b) => a.rank - b.rank || a.order - b.order);
};

/** Children of one parent that are born within 20 ms, with nothing else that touches the parent between them, are one fan-out. */
const rankFanOuts = (stops: readonly Stop[], rooms: readonly Family[], goals: ReadonlyMap<number, Stop>): void => {
  const fanOuts = new Map<number, Stop>();
  const bornAt = new Map([...goals].map(([room, { at }]) => [room, at]));
  let ranks = 0;
  for (const stop of stops) {
    const { from, to } = stop;
    const goal = goals.get(to);
    const parent = rooms[to]?.parent ?? outside;
    const isBirth =
      parent >= 0 && goal?.from === parent && stop.at === bornAt.get(to) && (from === parent || from === outside);
    if (isBirth) stop.child = to;
    else [from, to].forEach((room) => fanOuts.delete(room));
    const first = isBirth && goal !== stop ? goal : isBirth ? fanOuts.get(parent) : undefined;
    if (first !== undefined && first.rank >= 0 && stop.at - first.at <= fanOutMs) {
      stop.rank = first.rank;
      stop.at = first.at;
      continue;
    }
    stop.rank = ranks++;
    if (isBirth && goal === stop) fanOuts.set(parent, stop);
  }
};
