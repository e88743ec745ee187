// The ways that links take past the layers between their ends, by bends that stand in those layers.
//
//   R1. Every link is one way of its own. What several of them share is a stem, and is there once.
//   R2. A stem belongs to one task: it leads away from it, or to it. So nobody can read a link that is not there.
import type { TaskEdge } from './draw-layers.ts';

/** Between two points. Points below the number of tasks are tasks, the others are bends. */
export type EdgeSegment = {
  readonly from: number;
  readonly to: number;
  /** It passes behind whatever stands between its ends. */
  readonly loose?: boolean;
};

export type Routes = {
  /** Of each point. */
  readonly depths: readonly number[];
  /** One for each link, in their order. */
  readonly ways: readonly EdgeSegment[];
  readonly stems: readonly EdgeSegment[];
};

/** There are never more bends than this; links for which none are left are loose. */
const bendsMax = 20_000;

export const routesOf = (links: readonly TaskEdge[], taskDepths: readonly number[]): Routes => {
  const depths = [...taskDepths];
  const depth = (point: number): number => depths[point] ?? 0;
  const ways: EdgeSegment[] = links.map((link) =>
    depth(link.to) > depth(link.from) ? link : { ...link, loose: true },
  );
  const stems: EdgeSegment[] = [];

  const addStem = (bundle: Bundle): void => {
    const ends = bundle.links.map((at) => depth(bundle.isAway ? (ways[at]?.to ?? 0) : (ways[at]?.from ?? 0)));
    const [first, last] = bundle.isAway
      ? [depth(bundle.task) + 1, ends.reduce((most, end) => Math.max(most, end - 1), 0)]
      : [ends.reduce((least, end) => Math.min(least, end + 1), Infinity), depth(bundle.task) - 1];
    if (depths.length - taskDepths.length + last - first + 1 > bendsMax) {
      for (const at of bundle.links) ways[at] = { ...ways[at]!, loose: true };
      return;
    }
    const bends = Array.from({ length: last - first + 1 }, (_, at) => depths.push(first + at) - 1);
    const whole = bundle.isAway ? [bundle.task, ...bends] : [...bends, bundle.task];
    for (const [at, to] of whole.slice(1).entries()) stems.push({ from: whole[at]!, to });
    for (const at of bundle.links) {
      const { from, to } = ways[at]!;
      ways[at] = bundle.isAway
        ? { from: bends[depth(to) - 1 - first]!, to }
        : { from, to: bends[depth(from) + 1 - first]! };
    }
  };

  const long = [...ways.keys()].filter((at) => {
    const { from, to, loose } = ways[at]!;
    return loose !== true && depth(to) - depth(from) > 1;
  });
  for (const bundle of bundlesOf(links, long)) addStem(bundle);
  return { depths, ways, stems };
};

type Bundle = { readonly task: number; readonly isAway: boolean; readonly links: readonly number[] };

/** Each long link goes with those that have the same beginning, or the same end: with the larger company. */
const bundlesOf = (links: readonly TaskEdge[], long: readonly number[]): readonly Bundle[] => {
  const leaving = Map.groupBy(long, (at) => links[at]!.from);
  const coming = Map.groupBy(long, (at) => links[at]!.to);
  const isAway = (at: number): boolean =>
    (leaving.get(links[at]!.from)?.length ?? 0) >= (coming.get(links[at]!.to)?.length ?? 0);
  const away = Map.groupBy(
    long.filter((at) => isAway(at)),
    (at) => links[at]!.from,
  );
  const toward = Map.groupBy(
    long.filter((at) => !isAway(at)),
    (at) => links[at]!.to,
  );
  return [
    ...[...away].map(([task, of]) => ({ task, isAway: true, links: of })),
    ...[...toward].map(([task, of]) => ({ task, isAway: false, links: of })),
  ];
};
