// What is written in and above rooms, and on the axis.
import { axisTicks } from './axis.ts';
import type { Tick } from './axis.ts';
import { roomInside } from './inside.ts';
import type { RoomInside } from './inside.ts';
import { roomLabels } from './labels.ts';
import type { CrossingLabel } from './labels.ts';
import type { RoomsLayout, RoomShape } from './layout.ts';
import type { Measure } from './texts.ts';

/** What is inside and above rooms, made when they first come into sight. */
export type Details = {
  inside(room: RoomShape): RoomInside;
  labels(room: RoomShape): readonly CrossingLabel[];
  readonly ticks: readonly Tick[];
};

export const detailsOf = (layout: RoomsLayout, measure: Measure): Details => {
  const insides = new Map<RoomShape, RoomInside>();
  const labels = new Map<RoomShape, readonly CrossingLabel[]>();
  const once = <T>(known: Map<RoomShape, T>, room: RoomShape, make: () => T): T => {
    const found = known.get(room) ?? make();
    known.set(room, found);
    return found;
  };
  return {
    inside: (room) => once(insides, room, () => roomInside(layout, room, measure)),
    labels: (room) => once(labels, room, () => roomLabels(layout, room, measure)),
    ticks: axisTicks(layout, measure),
  };
};
