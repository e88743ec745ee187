// Assigns coordinates to the points of each layer, in their order: as close to their neighbours as their sizes allow.
import type { Neighbours } from './draw-order.ts';

type Sizes = {
  /** The size of a box along its layer. */
  readonly box: number;
  readonly isBend: (point: number) => boolean;
};

const gaps = { boxes: 18, boxAndBend: 14, bends: 10 };
const rounds = 12;
/** The page is longer than the longest layer by this factor. */
const slack = 1.08;

/** The middle of each point along its layer. No box starts below 0, and neighbours in a layer keep their distance. */
export const assignCoordinates = (
  layers: readonly (readonly number[])[],
  neighbours: readonly Neighbours[],
  sizes: Sizes,
): { readonly middles: readonly number[]; readonly extent: number } => {
  const middles: number[] = Array.from({ length: neighbours.length }, () => 0);
  const offsets = layers.map((layer) => minimumOffsets(layer, sizes));
  for (const [at, layer] of layers.entries())
    for (const [index, point] of layer.entries()) middles[point] = offsets[at]![index]! - offsets[at]!.at(-1)! / 2;

  const room = offsets.reduce((most, of) => Math.max(most, of.at(-1) ?? 0), 0) * slack;
  /** Bends follow other bends rather than boxes, so that lines stay straight. */
  const pull = (point: number, other: number): number => (sizes.isBend(other) === sizes.isBend(point) ? 1 : 0.01);
  const wish = (point: number, sides: readonly (keyof Neighbours)[]): Wish => {
    let [sum, weight] = [0, 0];
    for (const side of sides)
      for (const other of neighbours[point]?.[side] ?? []) {
        sum += pull(point, other) * middles[other]!;
        weight += pull(point, other);
      }
    if (weight === 0) return { at: middles[point]!, weight: 0.01 };
    return { at: sum / weight, weight: sizes.isBend(point) ? 8 : Math.min(weight, 1) };
  };
  for (let round = 0; round < rounds; round++) {
    const down = round % 2 === 0;
    const sides: readonly (keyof Neighbours)[] = round < rounds / 2 ? [down ? 'before' : 'after'] : ['before', 'after'];
    for (let step = 0; step < layers.length; step++) {
      const at = down ? step : layers.length - 1 - step;
      const wishes = layers[at]!.map((point) => wish(point, sides));
      for (const [index, middle] of nearest(wishes, offsets[at]!, room).entries())
        middles[layers[at]![index]!] = middle;
    }
  }

  const half = (point: number): number => (sizes.isBend(point) ? 0 : sizes.box / 2);
  const low = middles.reduce((least, middle, point) => Math.min(least, middle - half(point)), Infinity);
  const high = middles.reduce((most, middle, point) => Math.max(most, middle + half(point)), -Infinity);
  return { middles: middles.map((middle) => middle - low), extent: Math.max(0, high - low) };
};

/** The minimum distance of each point from the first one. */
const minimumOffsets = (layer: readonly number[], { box, isBend }: Sizes): readonly number[] => {
  let offset = 0;
  return layer.map((point, at) => {
    if (at === 0) return 0;
    const bends = Number(isBend(point)) + Number(isBend(layer[at - 1]!));
    offset += [box + gaps.boxes, box / 2 + gaps.boxAndBend, gaps.bends][bends]!;
    return offset;
  });
};

type Wish = { readonly at: number; readonly weight: number };

/**
 * The positions closest to the wishes that keep the distances and stay within the room, which is centred on 0. Uses least
 * squares: points that would come too close are grouped, and the group stands at the mean of its wishes.
 */
const nearest = (wishes: readonly Wish[], offsets: readonly number[], room: number): readonly number[] => {
  const groups: { sum: number; weight: number; size: number }[] = [];
  for (const [at, wish] of wishes.entries()) {
    let group = { sum: (wish.at - offsets[at]!) * wish.weight, weight: wish.weight, size: 1 };
    for (let last = groups.at(-1); last !== undefined && last.sum / last.weight >= group.sum / group.weight;) {
      groups.pop();
      group = { sum: last.sum + group.sum, weight: last.weight + group.weight, size: last.size + group.size };
      last = groups.at(-1);
    }
    groups.push(group);
  }
  const most = room / 2 - (offsets.at(-1) ?? 0);
  const bases = groups.flatMap(({ sum, weight, size }) =>
    Array.from({ length: size }, () => Math.min(most, Math.max(-room / 2, sum / weight))),
  );
  return bases.map((base, at) => base + offsets[at]!);
};
