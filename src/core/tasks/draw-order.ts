// Orders the points within each layer. Sweeps move each point towards its neighbours, so that few lines cross.
import type { EdgeSegment } from './draw-routes.ts';

export type Neighbours = { readonly before: readonly number[]; readonly after: readonly number[] };

/** The neighbours of each point in the layers before and after its own. */
export const listNeighbours = (count: number, segments: readonly EdgeSegment[]): readonly Neighbours[] => {
  const neighbours = Array.from({ length: count }, () => ({ before: [] as number[], after: [] as number[] }));
  for (const { from, to, loose } of segments) {
    if (loose === true) continue;
    neighbours[from]?.after.push(to);
    neighbours[to]?.before.push(from);
  }
  return neighbours;
};

const sweeps = 10;

/** The same layers, in the best order found. */
export const orderLayers = (
  layers: readonly (readonly number[])[],
  neighbours: readonly Neighbours[],
): readonly (readonly number[])[] => {
  const positions: number[] = Array.from({ length: neighbours.length }, () => 0);
  const settle = (layer: readonly number[]): readonly number[] => {
    for (const [at, point] of layer.entries()) positions[point] = at - (layer.length - 1) / 2;
    return layer;
  };
  const moved = (layer: readonly number[], side: keyof Neighbours): readonly number[] => {
    const wish = new Map(
      layer.map((point) => [point, mean(neighbours[point]?.[side] ?? [], positions) ?? positions[point]!]),
    );
    return settle([...layer].sort((one, other) => wish.get(one)! - wish.get(other)!));
  };

  let current = layers.map((layer) => settle(layer));
  let best = { layers: current, crossings: countCrossings(current, neighbours, positions) };
  for (let sweep = 0; sweep < sweeps && best.crossings > 0; sweep++) {
    const down = sweep % 2 === 0;
    const next = [...current];
    for (let step = 0; step < next.length; step++) {
      const at = down ? step : next.length - 1 - step;
      next[at] = moved(next[at]!, down ? 'before' : 'after');
    }
    current = next;
    const crossings = countCrossings(current, neighbours, positions);
    if (crossings < best.crossings) best = { layers: current, crossings };
  }
  return best.layers;
};

const mean = (points: readonly number[], positions: readonly number[]): number | null =>
  points.length === 0 ? null : points.reduce((sum, point) => sum + (positions[point] ?? 0), 0) / points.length;

/** The number of pairs of lines that cross: for each line, the earlier lines that end after it. */
const countCrossings = (
  layers: readonly (readonly number[])[],
  neighbours: readonly Neighbours[],
  positions: readonly number[],
): number => {
  let crossings = 0;
  for (const [depth, layer] of layers.slice(0, -1).entries()) {
    const size = layers[depth + 1]!.length;
    const rank = (point: number): number => Math.round((positions[point] ?? 0) + (size - 1) / 2);
    const seen = createTally(size);
    for (const point of layer) {
      const ends = (neighbours[point]?.after ?? []).map((to) => rank(to));
      for (const end of ends) crossings += seen.above(end);
      for (const end of ends) seen.add(end);
    }
  }
  return crossings;
};

/** Counts numbers below `size` (a Fenwick tree): both operations take time logarithmic in `size`. */
const createTally = (size: number) => {
  const sums = Array.from({ length: size + 1 }, () => 0);
  let total = 0;
  return {
    add: (value: number): void => {
      total++;
      for (let at = value + 1; at <= size; at += at & -at) sums[at] = (sums[at] ?? 0) + 1;
    },
    above: (value: number): number => {
      let upTo = 0;
      for (let at = value + 1; at > 0; at -= at & -at) upTo += sums[at] ?? 0;
      return total - upTo;
    },
  };
};
