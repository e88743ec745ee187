// Where the boxes and lines of a graph of tasks stand, on a page that is as near to a screen's shape as the graph allows.
import { layersOf, linksOf } from './draw-layers.ts';
import type { DrawableTask, TaskEdge } from './draw-layers.ts';
import { neighboursOf, orderLayers } from './draw-order.ts';
import { assignCoordinates } from './draw-coordinates.ts';
import { routesOf } from './draw-routes.ts';
import type { Routes, EdgeSegment } from './draw-routes.ts';

export type Layout = {
  readonly width: number;
  readonly height: number;
  /** One for each task, in their order: its upper left corner, and its layer. */
  readonly boxes: readonly { readonly x: number; readonly y: number; readonly layer: number }[];
  /** One for each dependency. */
  readonly lines: readonly (TaskEdge & LayoutLine)[];
  /** What several lines share. */
  readonly stems: readonly LayoutLine[];
};

export type LayoutLine = {
  /** A curve from the first to the fourth point, drawn to the second and third; then straight on to a fifth. */
  readonly points: readonly Point[];
  /** It ends at a box. */
  readonly isHead: boolean;
};

export type Point = readonly [x: number, y: number];

export const boxSize = { width: 216, height: 74 };

export const layOutGraph = (tasks: readonly DrawableTask[]): Layout => {
  const links = linksOf(tasks);
  const layers = layersOf(tasks.length, links);
  const taskDepths: number[] = Array.from({ length: tasks.length }, () => 0);
  for (const [depth, layer] of layers.entries()) for (const place of layer) taskDepths[place] = depth;

  const routes = routesOf(links, taskDepths);
  const neighbours = neighboursOf(routes.depths.length, [...routes.stems, ...routes.ways]);
  const filled = layers.map((layer) => [...layer]);
  for (const [point, depth] of routes.depths.entries()) if (point >= tasks.length) filled[depth]?.push(point);
  const ordered = orderLayers(filled, neighbours);

  const isBend = (point: number): boolean => point >= tasks.length;
  const drawn = [false, true].map((isDown) => {
    const { width, height } = boxSize;
    const places = assignCoordinates(ordered, neighbours, { box: isDown ? width : height, isBend });
    return pageOf({ ...places, isDown, links, routes, layerCount: layers.length, taskCount: tasks.length });
  });
  return drawn.reduce((one, other) => (farness(other) < farness(one) ? other : one));
};

/** How far one must go from a screen to see it all. */
const farness = ({ width, height }: Layout): number => Math.max(width / 1.5, height);

type Placed = {
  readonly middles: readonly number[];
  readonly extent: number;
  readonly isDown: boolean;
  readonly links: readonly TaskEdge[];
  readonly routes: Routes;
  readonly layerCount: number;
  readonly taskCount: number;
};

const pageOf = (placed: Placed): Layout => {
  const { middles, isDown, links, routes, layerCount, taskCount } = placed;
  const deep = isDown ? boxSize.height : boxSize.width;
  const starts = startsOf(placed, deep);
  const length = layerCount === 0 ? 0 : starts.at(-1)! + deep;
  const turn = ([along, across]: Point): Point => (isDown ? [across, along] : [along, across]);
  const lineOf = ({ from, to }: EdgeSegment): LayoutLine => {
    const [begin, end] = [starts[routes.depths[from]!]! + deep, starts[routes.depths[to]!]!];
    const [here, there] = [middles[from]!, middles[to]!];
    const pull = Math.max(24, Math.abs(end - begin) / 2);
    const isHead = to < taskCount;
    const curve: readonly Point[] = [
      [begin, here],
      [begin + pull, here],
      [end - pull, there],
      [end, there],
    ];
    const straight: readonly Point[] = isHead ? [] : [[end + deep, there]];
    return { points: [...curve, ...straight].map((point) => turn(point)), isHead };
  };
  const [width, height] = turn([length, placed.extent]);
  return {
    width,
    height,
    boxes: Array.from({ length: taskCount }, (_, place) => {
      const layer = routes.depths[place]!;
      const [x, y] = turn([starts[layer]!, middles[place]! - (isDown ? boxSize.width : boxSize.height) / 2]);
      return { x, y, layer };
    }),
    lines: routes.ways.map((way, at) => ({ ...links[at]!, ...lineOf(way) })),
    stems: routes.stems.map((way) => lineOf(way)),
  };
};

const room = { least: 52, most: 220, base: 40, slope: 0.12 };

/** Where each layer begins: the steeper the lines between two of them, the more room there is. */
const startsOf = ({ middles, routes, layerCount }: Placed, deep: number): readonly number[] => {
  const steepest: number[] = Array.from({ length: layerCount }, () => 0);
  for (const { from, to, loose } of [...routes.stems, ...routes.ways]) {
    if (loose === true) continue;
    const depth = routes.depths[from]!;
    steepest[depth] = Math.max(steepest[depth]!, Math.abs(middles[from]! - middles[to]!));
  }
  let start = 0;
  return steepest.map((_, depth) => {
    if (depth === 0) return 0;
    const between = room.base + room.slope * steepest[depth - 1]!;
    start += deep + Math.min(room.most, Math.max(room.least, between));
    return start;
  });
};
