// Routes edges past the layers between their ends, through bends in those layers.
//
//   route-segment-per-edge. Every edge has a segment of its own. What several edges share is a stem, which is drawn once.
//   route-stem-one-task. A stem belongs to one task and leads away from it or to it, so the drawing never suggests an edge
//       that does not exist.
import type { GraphEdge } from '#base';

/** A segment between two points. Points below the number of tasks are tasks; the others are bends. */
export type EdgeSegment = {
  readonly from: number;
  readonly to: number;
  /** The segment passes behind whatever is between its ends. */
  readonly loose?: boolean;
};

export type Routes = {
  /** The layer of each point. */
  readonly depths: readonly number[];
  /** One per edge, in the order of the edges. */
  readonly segments: readonly EdgeSegment[];
  readonly stems: readonly EdgeSegment[];
};

/** The maximum number of bends; edges for which none are left are loose. */
const bendsMax = 20_000;

export const routeEdges = (edges: readonly GraphEdge[], taskDepths: readonly number[]): Routes => {
  const depths = [...taskDepths];
  const depth = (point: number): number => depths[point] ?? 0;
  const segments: EdgeSegment[] = edges.map((edge) =>
    depth(edge.to) > depth(edge.from) ? edge : { ...edge, loose: true },
  );
  const stems: EdgeSegment[] = [];

  const addStem = (bundle: Bundle): void => {
    const ends = bundle.edges.map((at) => depth(bundle.isAway ? (segments[at]?.to ?? 0) : (segments[at]?.from ?? 0)));
    const [first, last] = bundle.isAway
      ? [depth(bundle.task) + 1, ends.reduce((most, end) => Math.max(most, end - 1), 0)]
      : [ends.reduce((least, end) => Math.min(least, end + 1), Infinity), depth(bundle.task) - 1];
    if (depths.length - taskDepths.length + last - first + 1 > bendsMax) {
      for (const at of bundle.edges) segments[at] = { ...segments[at]!, loose: true };
      return;
    }
    const bends = Array.from({ length: last - first + 1 }, (_, at) => depths.push(first + at) - 1);
    const whole = bundle.isAway ? [bundle.task, ...bends] : [...bends, bundle.task];
    for (const [at, to] of whole.slice(1).entries()) stems.push({ from: whole[at]!, to });
    for (const at of bundle.edges) {
      const { from, to } = segments[at]!;
      segments[at] = bundle.isAway
        ? { from: bends[depth(to) - 1 - first]!, to }
        : { from, to: bends[depth(from) + 1 - first]! };
    }
  };

  const long = [...segments.keys()].filter((at) => {
    const { from, to, loose } = segments[at]!;
    return loose !== true && depth(to) - depth(from) > 1;
  });
  for (const bundle of bundleEdges(edges, long)) addStem(bundle);
  return { depths, segments, stems };
};

type Bundle = { readonly task: number; readonly isAway: boolean; readonly edges: readonly number[] };

/** Groups each long edge with those that start at the same task or end at the same task, whichever group is larger. */
const bundleEdges = (edges: readonly GraphEdge[], long: readonly number[]): readonly Bundle[] => {
  const leaving = Map.groupBy(long, (at) => edges[at]!.from);
  const arriving = Map.groupBy(long, (at) => edges[at]!.to);
  const isAway = (at: number): boolean =>
    (leaving.get(edges[at]!.from)?.length ?? 0) >= (arriving.get(edges[at]!.to)?.length ?? 0);
  const away = Map.groupBy(
    long.filter((at) => isAway(at)),
    (at) => edges[at]!.from,
  );
  const toward = Map.groupBy(
    long.filter((at) => !isAway(at)),
    (at) => edges[at]!.to,
  );
  return [
    ...[...away].map(([task, of]) => ({ task, isAway: true, edges: of })),
    ...[...toward].map(([task, of]) => ({ task, isAway: false, edges: of })),
  ];
};
