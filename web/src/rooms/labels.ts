// What stands above a room: what its arrows carry.
//
//   rooms-labels. No text meets a text or an arrow: what does not fit is shown on hover, and is in the table below.
import type { RoomsLayout, RoomShape } from './layout.ts';
import { shaftsBetween } from './layout.ts';
import type { Line, Mark, Shaft } from './shafts.ts';
import { crossingInk, crossingTexts, halfLine } from './texts.ts';
import type { Measure, PlacedText } from './texts.ts';

export type CrossingLabel = PlacedText & { readonly crossing: string };

const lowestGap = 20;
const narrowestColumn = 12;
const mostShafts = 200;

export const roomLabels = (layout: RoomsLayout, room: RoomShape, measure: Measure): readonly CrossingLabel[] => {
  const { gap, scale, arrangement } = layout;
  if (gap < lowestGap || scale.column < narrowestColumn || room.unit.rooms.length > 1) return [];
  const labels: CrossingLabel[] = [];
  const y = room.top - 12;
  const width = room.right - room.left;
  const free = (x: number, wide: number): boolean =>
    x >= room.left - 1 &&
    x + wide <= room.right + 1 &&
    labels.every((one) => x > one.x + one.width + 6 || x + wide < one.x - 6) &&
    !meetsShaft(layout, { left: x - 2, right: x + wide + 2, top: y - halfLine, bottom: y + halfLine });
  const place = (made: Shaft | Mark | undefined, xOf: (wide: number) => number, isShort: boolean): void => {
    if (made === undefined) return;
    const { crossing } = made.stop;
    for (const text of crossingTexts(crossing).slice(isShort ? 1 : 0)) {
      const wide = measure(text, 'label');
      const x = xOf(wide);
      if (!free(x, wide)) continue;
      labels.push({ text, font: 'label', ink: crossingInk(crossing), x, y, width: wide, crossing: crossing.id });
      return;
    }
  };
  const made = (stop: number) => (stop < 0 ? undefined : layout.shaftOf.get(arrangement.stops[stop]!.crossing.id));
  const [goal, result] = [made(room.unit.goal), made(room.unit.result)];
  const isShort = width < (result?.stop.crossing.refused == null ? 150 : 190);
  if (width >= 74) {
    place(result, (wide) => room.right - wide, isShort);
    place(goal, () => room.left + 1, isShort);
  }
  for (const one of layout.topDoors.get(room.unit.index) ?? []) place(one, () => one.x + 6, false);
  return labels;
};

type Box = { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };

const meetsShaft = ({ shafts }: RoomsLayout, box: Box): boolean => {
  const near = shaftsBetween(shafts, box.left, box.right);
  return (
    near.length > mostShafts || near.some(({ line, rest }) => meets(line, box) || (rest !== null && meets(rest, box)))
  );
};

/** Whether a piece of the line lies in the box. */
export const meets = (line: Line, { left, right, top, bottom }: Box): boolean => {
  for (let at = 0; at + 3 < line.length; at += 2) {
    const [x1, y1, x2, y2] = [line[at]!, line[at + 1]!, line[at + 2]!, line[at + 3]!];
    if (Math.max(x1, x2) > left && Math.min(x1, x2) < right && Math.max(y1, y2) > top && Math.min(y1, y2) < bottom)
      return true;
  }
  return false;
};
