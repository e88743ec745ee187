// Lays out the boxes and lines of a task graph, on a page as close to a screen's shape as the graph allows.
import { listEdges, graphLayers } from '#base';
import type { GraphEdge } from '#base';
import type { DrawableTask, TaskSpec } from '#contracts';
import { listNeighbours, orderLayers } from './draw-order.ts';
import { assignCoordinates } from './draw-coordinates.ts';
import { routeEdges } from './draw-routes.ts';
import type { Routes, EdgeSegment } from './draw-routes.ts';

export type Layout = {
  readonly width: number;
  readonly height: number;
  /** One per task, in their order: its upper left corner and its layer. */
  readonly boxes: readonly { readonly x: number; readonly y: number; readonly layer: number }[];
  /** One per dependency. */
  readonly lines: readonly (GraphEdge & LayoutLine)[];
  /** Parts that several lines share. */
  readonly stems: readonly LayoutLine[];
};

export type LayoutLine = {
  /** A curve from the first to the fourth point, with the second and third as control points; then a straight line to the fifth, if any. */
  readonly points: readonly Point[];
  /** The line ends at a box. */
  readonly isHead: boolean;
};

type Point = readonly [x: number, y: number];

export const boxSize = { width: 216, height: 74 };

export const layOutGraph = (tasks: readonly DrawableTask[]): Layout => {
  const edges = listEdges(tasks);
  const layers = assignLayers(tasks.length, edges);
  const taskDepths: number[] = Array.from({ length: tasks.length }, () => 0);
  for (const [depth, layer] of layers.entries()) for (const index of layer) taskDepths[index] = depth;

  const routes = routeEdges(edges, taskDepths);
  const neighbours = listNeighbours(routes.depths.length, [...routes.stems, ...routes.segments]);
  const filled = layers.map((layer) => [...layer]);
  for (const [point, depth] of routes.depths.entries()) if (point >= tasks.length) filled[depth]?.push(point);
  const ordered = orderLayers(filled, neighbours);

  const isBend = (point: number): boolean => point >= tasks.length;
  const drawn = [false, true].map((isDown) => {
    const { width, height } = boxSize;
    const coordinates = assignCoordinates(ordered, neighbours, { box: isDown ? width : height, isBend });
    return buildLayout({ ...coordinates, isDown, edges, routes, layerCount: layers.length, taskCount: tasks.length });
  });
  return drawn.reduce((one, other) => (viewingDistance(other) < viewingDistance(one) ? other : one));
};

/** How far to zoom out to see the whole layout on a screen. */
const viewingDistance = ({ width, height }: Layout): number => Math.max(width / 1.5, height);

type PlacedGraph = {
  readonly middles: readonly number[];
  readonly extent: number;
  readonly isDown: boolean;
  readonly edges: readonly GraphEdge[];
  readonly routes: Routes;
  readonly layerCount: number;
  readonly taskCount: number;
};

const buildLayout = (placed: PlacedGraph): Layout => {
  const { middles, isDown, edges, routes, layerCount, taskCount } = placed;
  const deep = isDown ? boxSize.height : boxSize.width;
  const starts = layerStarts(placed, deep);
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
    boxes: Array.from({ length: taskCount }, (_, index) => {
      const layer = routes.depths[index]!;
      const [x, y] = turn([starts[layer]!, middles[index]! - (isDown ? boxSize.width : boxSize.height) / 2]);
      return { x, y, layer };
    }),
    lines: routes.segments.map((segment, at) => ({ ...edges[at]!, ...lineOf(segment) })),
    stems: routes.stems.map((segment) => lineOf(segment)),
  };
};

const room = { least: 52, most: 220, base: 40, slope: 0.12 };

/** Where each layer starts: the steeper the lines between two layers, the more room there is between them. */
const layerStarts = ({ middles, routes, layerCount }: PlacedGraph, deep: number): readonly number[] => {
  const steepest: number[] = Array.from({ length: layerCount }, () => 0);
  for (const { from, to, loose } of [...routes.stems, ...routes.segments]) {
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

// Assigns tasks to layers: each task is one layer after the last of its dependencies.

/** A task as specified, or with its current status. */
export type DrawableInput = Pick<TaskSpec, 'title'> & Partial<Omit<DrawableTask, 'title'>>;

export const toDrawable = (tasks: readonly DrawableInput[]): readonly DrawableTask[] =>
  tasks.map(({ id, title, assignee = null, dependsOn = [], status = 'pending', reason = null }, index) => ({
    id: id ?? `task ${index}`,
    title,
    assignee,
    dependsOn,
    status,
    reason,
  }));

/** Layers of task indexes. A layer that is too long to read is split into several. */
const assignLayers = (count: number, edges: readonly GraphEdge[]): readonly (readonly number[])[] => {
  const longest = Math.max(longestMin, Math.ceil(2 * Math.sqrt(count)));
  return graphLayers(count, edges).flatMap((layer) => evenParts(layer, Math.ceil(layer.length / longest)));
};

const longestMin = 16;

const evenParts = <T>(list: readonly T[], parts: number): readonly (readonly T[])[] => {
  const size = Math.ceil(list.length / parts);
  return Array.from({ length: parts }, (_, part) => list.slice(part * size, (part + 1) * size)).filter(
    (part) => part.length > 0,
  );
};
