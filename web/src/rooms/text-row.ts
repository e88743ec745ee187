// One row of texts in a room, none of which meets another or what stands in the row.
import type { RoomShape } from './layout.ts';
import { halfLine } from './texts.ts';
import type { Ink, Measure, PlacedText, TextFont } from './texts.ts';

export type TextRow = {
  readonly texts: readonly PlacedText[];
  /** Nothing is written here. */
  block(left: number, right: number): void;
  /** Writes the first of `texts` that fits at one of the places, which depend on its width, between the limits. */
  place(texts: readonly string[], options: RowOptions): void;
};

type RowOptions = {
  readonly at: (width: number) => readonly number[];
  readonly ink: Ink;
  readonly font?: TextFont;
  readonly from?: number;
  readonly to?: number;
};

export const textRow = (room: RoomShape, y: number, measure: Measure): TextRow => {
  const texts: PlacedText[] = [];
  const taken: { readonly left: number; readonly right: number }[] = [];
  const [start, end] = [room.left + room.wall + 3, room.right - room.wall - 3];
  const isInside = y - halfLine >= room.top && y + halfLine <= room.bottom - room.wall + 2;
  return {
    texts,
    block: (left, right) => void taken.push({ left, right }),
    place: (wanted, { at, ink, font = 'figure', from = start, to = end }) => {
      for (const text of wanted) {
        const width = measure(text, font);
        const x = at(width).find(
          (left) =>
            left >= Math.max(start, from) &&
            left + width <= Math.min(end, to) &&
            taken.every((one) => left > one.right + 3 || left + width < one.left - 3),
        );
        if (x === undefined || !isInside) continue;
        taken.push({ left: x, right: x + width });
        texts.push({ text, font, ink, x, y, width });
        return;
      }
    },
  };
};
