// Where the boxes and lines of a small graph stand: boxes in columns, lines in the gaps between them.
//
//   graph-lines-clear. No line is drawn over a box that it does not belong to, and no two lines lie on each other, except those
//       of one bus. A line that spans several columns has a lane of its own in each column between.

export type GraphNode = { readonly id: string; readonly column: number };

/**
 * `bus`: the lines of one sender share one stem. Beyond the next column it runs above everything, so its sender must stand alone in its
 * column.
 */
export type GraphEdge = { readonly id: string; readonly from: string; readonly to: string; readonly bus?: boolean };

export type GraphSizes = {
  readonly width: number;
  readonly height: number;
  /** Between two boxes of one column. */
  readonly rowGap: number;
  /** For the label of a line, beside the box that it enters; 0: lines have none. */
  readonly label: number;
  readonly margin: number;
};

export type Point = readonly [x: number, y: number];

export type PlacedNode = GraphNode & {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
};

/** From a point inside the one box to a point inside the other. `label`: the right end of its baseline. */
export type PlacedEdge = GraphEdge & { readonly points: readonly Point[]; readonly label: Point };

export type GraphLayout = {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
};

/** How far a line reaches into its boxes. */
export const inside = 12;
const track = 12;
const laneHeight = 16;
const laneGap = 8;
const portGap = 20;
const busAbove = 22;

/** A box, or a lane of a line that passes its column. */
type Item = { readonly id: string; readonly isLane: boolean; column: number; y: number; height: number };

/** One piece of a line, from an item to an item of the next column. */
type Piece = { readonly edge: GraphEdge; readonly from: Item; readonly to: Item; out: number; in: number; x: number };

/** Edges that do not lead to a later column are left out. */
export const layOutGraph = (
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
  sizes: GraphSizes,
): GraphLayout => {
  const items = new Map(nodes.map(({ id, column }): [string, Item] => [id, newItem(id, column, sizes.height)]));
  const drawn = edges.filter(({ from, to }) => (items.get(from)?.column ?? 0) < (items.get(to)?.column ?? -1));
  const pieces = drawn.flatMap((edge) => (edge.bus === true ? [] : piecesOf(edge, items)));
  const buses = drawn
    .filter(({ bus }) => bus === true)
    .map((edge): Piece => newPiece(edge, items.get(edge.from)!, items.get(edge.to)!));
  fitHeights([...pieces, ...buses]);
  const columns = stackColumns([...items.values(), ...lanesOf(pieces)], pieces, sizes);
  const hasBus = buses.some(({ from, to }) => to.column > from.column + 1);
  const top = Math.min(...[...columns.values()].flat().map(({ y }) => y), 0);
  for (const item of [...columns.values()].flat()) item.y += sizes.margin + (hasBus ? busAbove : 0) - top;
  setPorts([...pieces, ...buses]);
  const lefts = placeColumns(columns, pieces, buses, sizes);
  const bottom = Math.max(0, ...[...columns.values()].flat().map(({ y, height }) => y + height));
  const last = Math.max(0, ...columns.keys());
  return {
    width: (lefts.get(last) ?? 0) + sizes.width + sizes.margin,
    height: bottom + sizes.margin,
    nodes: nodes.map((node) => {
      const { y, height } = items.get(node.id)!;
      return { ...node, x: lefts.get(node.column)!, y, width: sizes.width, height };
    }),
    edges: drawn.map((edge) => drawEdge(edge, [...pieces, ...buses], lefts, sizes)),
  };
};

const newItem = (id: string, column: number, height: number, isLane = false): Item => ({
  id,
  isLane,
  column,
  y: 0,
  height,
});

const newPiece = (edge: GraphEdge, from: Item, to: Item): Piece => ({ edge, from, to, out: 0, in: 0, x: 0 });

const piecesOf = (edge: GraphEdge, items: ReadonlyMap<string, Item>): readonly Piece[] => {
  const [from, to] = [items.get(edge.from)!, items.get(edge.to)!];
  const lanes = Array.from({ length: to.column - from.column - 1 }, (_, at) =>
    newItem(`${edge.id} ${at}`, from.column + 1 + at, laneHeight, true),
  );
  const stops = [from, ...lanes, to];
  return stops.slice(1).map((stop, at) => newPiece(edge, stops[at]!, stop));
};

const lanesOf = (pieces: readonly Piece[]): readonly Item[] => pieces.flatMap(({ to }) => (to.isLane ? [to] : []));

/** A box is high enough for all of its doors. The lines of a bus leave by one. */
const fitHeights = (pieces: readonly Piece[]): void => {
  for (const side of ['from', 'to'] as const)
    for (const [item, at] of Map.groupBy(pieces, (piece) => piece[side])) {
      const shared = side === 'from' ? at.filter(({ edge }) => edge.bus === true).length : 0;
      const doors = at.length - shared + Math.min(1, shared);
      if (!item.isLane) item.height = Math.max(item.height, portGap * (doors + 1));
    }
};

const middle = ({ y, height }: Item): number => y + height / 2;

const average = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;

/** Orders each column by its neighbours, so that lines cross little, and puts everything as near to its neighbours as it fits. */
const stackColumns = (items: readonly Item[], pieces: readonly Piece[], { rowGap }: GraphSizes) => {
  const columns = new Map([...Map.groupBy(items, ({ column }) => column)].sort(([one], [other]) => one - other));
  const before = Map.groupBy(pieces, ({ to }) => to);
  const after = Map.groupBy(pieces, ({ from }) => from);
  const wished = (item: Item, isForward: boolean): number | null => {
    const near = isForward
      ? (before.get(item) ?? []).map(({ from }) => from)
      : (after.get(item) ?? []).map(({ to }) => to);
    return near.length === 0 ? null : average(near.map(middle));
  };
  for (const column of columns.values())
    stack(
      column,
      column.map(() => null),
      rowGap,
    );
  for (let sweep = 0; sweep < 6; sweep++) {
    const isForward = sweep % 2 === 0;
    const ordered = [...columns.values()];
    for (const column of isForward ? ordered : ordered.toReversed()) {
      const wishes = new Map(column.map((item) => [item, wished(item, isForward)]));
      column.sort((one, other) => (wishes.get(one) ?? middle(one)) - (wishes.get(other) ?? middle(other)));
      stack(
        column,
        column.map((item) => wishes.get(item) ?? null),
        rowGap,
      );
    }
  }
  return columns;
};

/** Each as near to what it wishes for as the one above it allows; then all together as near as they can be. */
const stack = (column: readonly Item[], wishes: readonly (number | null)[], rowGap: number): void => {
  let bottom = -Infinity;
  for (const [at, item] of column.entries()) {
    const wish = wishes[at];
    const previous = column[at - 1];
    const gap = previous?.isLane === true || item.isLane ? laneGap : rowGap;
    const lowest = bottom === -Infinity ? 0 : bottom + gap;
    item.y = wish == null ? lowest : Math.max(bottom === -Infinity ? -Infinity : lowest, wish - item.height / 2);
    bottom = item.y + item.height;
  }
  const off = column.flatMap((item, at) => (wishes[at] == null ? [] : [wishes[at] - middle(item)]));
  const first = column[0];
  if (first === undefined) return;
  const shift = off.length === 0 ? -(first.y + bottom) / 2 : average(off);
  for (const item of column) item.y = Math.round(item.y + shift);
};

/** Doors on the walls, in the order of what is behind them. */
const setPorts = (pieces: readonly Piece[]): void => {
  for (const [item, at] of Map.groupBy(pieces, ({ from }) => from)) {
    const doors = doorGroups(at, ({ to }) => middle(to));
    for (const [nth, group] of doors.entries()) for (const piece of group) piece.out = portAt(item, nth, doors.length);
  }
  for (const [item, at] of Map.groupBy(pieces, ({ to }) => to)) {
    const sorted = at.toSorted((one, other) => rank(one) - rank(other));
    for (const [nth, piece] of sorted.entries()) piece.in = portAt(item, nth, sorted.length);
  }
  keepApart(pieces);
};

/** Lines of a bus enter above the others. */
const rank = ({ edge, from }: Piece): number => (edge.bus === true ? -Infinity : middle(from));

/** The lines of a bus leave by one door. */
const doorGroups = (pieces: readonly Piece[], place: (piece: Piece) => number): readonly (readonly Piece[])[] => {
  const buses = pieces.filter(({ edge, from, to }) => edge.bus === true && to.column === from.column + 1);
  const others = pieces.filter(({ edge }) => edge.bus !== true).map((piece) => [piece]);
  const groups = buses.length === 0 ? others : [...others, buses];
  return groups.toSorted((one, other) => average(one.map(place)) - average(other.map(place)));
};

const portAt = ({ y, height }: Item, nth: number, of: number): number =>
  Math.round(y + (height * (nth + 1)) / (of + 1));

/** In one gap, where one line leaves and where another enters must differ in height, or they would lie on each other. */
const keepApart = (pieces: readonly Piece[]): void => {
  const gaps = [...Map.groupBy(pieces, ({ to }) => to.column)].sort(([one], [other]) => one - other);
  for (const [, gap] of gaps)
    for (const piece of gap) {
      const { y, height, isLane } = piece.to;
      const room = isLane ? 2 : 8;
      const wished = piece.in;
      const meets = (): boolean => gap.some((one) => one !== piece && !isOneBus(one, piece) && near(one, piece));
      for (let nth = 1; meets() && nth < 2 * height; nth++) {
        const moved = wished + (nth % 2 === 0 ? -1 : 1) * Math.ceil(nth / 2) * 3;
        if (moved >= y + room && moved <= y + height - room) piece.in = moved;
      }
      const next = isLane ? pieces.find(({ from }) => from === piece.to) : undefined;
      if (next !== undefined) next.out = piece.in;
    }
};

const isOneBus = (one: Piece, other: Piece): boolean =>
  one.edge.bus === true && other.edge.bus === true && one.from === other.from;

const near = (one: Piece, other: Piece): boolean =>
  (one.to.column === one.from.column + 1 && Math.abs(one.out - other.in) < 3) || Math.abs(one.in - other.in) < 3;

/** Gives each line an upright track in its gap; a gap is as wide as its tracks need. Returns the left edge of each column. */
const placeColumns = (
  columns: ReadonlyMap<number, readonly Item[]>,
  pieces: readonly Piece[],
  buses: readonly Piece[],
  { width, label, margin }: GraphSizes,
): ReadonlyMap<number, number> => {
  const lefts = new Map<number, number>();
  const last = Math.max(0, ...columns.keys());
  let x = margin;
  for (let column = 0; column <= last; column++) {
    if (column > 0) {
      const gap = pieces.filter(({ to }) => to.column === column);
      const bent = gap.filter((piece) => piece.out !== piece.in);
      const up = bent.filter((piece) => piece.in < piece.out).sort((one, other) => one.out - other.out);
      const down = bent.filter((piece) => piece.in > piece.out).sort((one, other) => other.out - one.out);
      const ofBus = Map.groupBy(
        buses.filter(({ to }) => to.column === column),
        ({ from }) => from,
      );
      const lines: (readonly Piece[])[] = [...[...up, ...down].map((piece) => [piece]), ...ofBus.values()];
      for (const [nth, group] of lines.entries()) for (const piece of group) piece.x = x + 18 + nth * track;
      x += 24 + lines.length * track + Math.max(12, label);
    }
    lefts.set(column, x);
    x += width;
  }
  return lefts;
};

const drawEdge = (
  edge: GraphEdge,
  pieces: readonly Piece[],
  lefts: ReadonlyMap<number, number>,
  { width, margin }: GraphSizes,
): PlacedEdge => {
  const own = pieces.filter((piece) => piece.edge === edge);
  const [first, end] = [own[0]!, own.at(-1)!];
  const isOverhead = edge.bus === true && first.to.column > first.from.column + 1;
  const right = lefts.get(first.from.column)! + width;
  const start: readonly Point[] = isOverhead
    ? [
        [right - 24, first.from.y + inside],
        [right - 24, margin],
        [first.x, margin],
      ]
    : [[right - inside, first.out]];
  const rest = own.flatMap((piece): readonly Point[] =>
    isOverhead
      ? [[piece.x, piece.in]]
      : piece.out === piece.in
        ? []
        : [
            [piece.x, piece.out],
            [piece.x, piece.in],
          ],
  );
  const left = lefts.get(end.to.column)!;
  return { ...edge, points: [...start, ...rest, [left + inside, end.in]], label: [left - 6, end.in - 6] };
};
