// One row of texts in a room, none of which meets another or what stands in the row.
import type { RoomShape } from './layout.ts';
import { countWhile } from './search.ts';
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
  const taken = takenPieces();
  const [start, end] = [room.left + room.wall + 3, room.right - room.wall - 3];
  const isInside = y - halfLine >= room.top && y + halfLine <= room.bottom - room.wall + 2;
  return {
    texts,
    block: taken.add,
    place: (wanted, { at, ink, font = 'figure', from = start, to = end }) => {
      for (const text of wanted) {
        const width = measure(text, font);
        const x = at(width).find(
          (left) =>
            left >= Math.max(start, from) &&
            left + width <= Math.min(end, to) &&
            taken.isFree(left - 3, left + width + 3),
        );
        if (x === undefined || !isInside) continue;
        taken.add(x, x + width);
        texts.push({ text, font, ink, x, y, width });
        return;
      }
    },
  };
};

type Piece = { readonly left: number; readonly right: number };

/** Pieces of a line, from left to right; those that meet are one. A room of thousands of calls has few of them, or adds them at the end. */
const takenPieces = () => {
  const pieces: Piece[] = [];
  /** The index of the first piece that ends at `x` or after it. */
  const firstAt = (x: number): number => countWhile(pieces.length, (at) => pieces[at]!.right < x);
  return {
    add: (left: number, right: number): void => {
      const from = firstAt(left);
      let to = from;
      while (to < pieces.length && pieces[to]!.left <= right) to++;
      const met = pieces.slice(from, to);
      pieces.splice(from, to - from, {
        left: Math.min(left, met[0]?.left ?? left),
        right: Math.max(right, met.at(-1)?.right ?? right),
      });
    },
    isFree: (left: number, right: number): boolean => (pieces[firstAt(left)]?.left ?? Infinity) > right,
  };
};
