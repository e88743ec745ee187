// What a planted change makes of the source.
import { partOf, probePoint } from './probes.ts';
import type { ProbePoint } from './probes.ts';

/**
 * What stands at a probe point instead. `$(whole)` in it is the code as it was, and `$(path)` a part of it by ESTree's field
 * names, as in `if ($(test.left)) $(consequent)`: what need not be said again cannot go out of date.
 */
export type Edit = { readonly probe: string; readonly put: string };

/** By file, from the root of the repository, the text of each that is changed. */
export const applyEdits = (edits: readonly Edit[]): ReadonlyMap<string, string> => {
  const texts = new Map<string, string>();
  const placed = edits.map(({ probe, put }) => ({ point: probePoint(probe), put }));
  assertApart(placed.map(({ point }) => point));
  // From the end, so that what comes before stays where it was.
  for (const { point, put } of placed.toSorted((one, other) => other.point.node.start - one.point.node.start)) {
    const { file, node } = point;
    const text = texts.get(file) ?? point.text;
    texts.set(file, text.slice(0, node.start) + replacement(point, put) + text.slice(node.end));
  }
  return texts;
};

export const replacement = ({ text, node, name, file }: ProbePoint, put: string): string =>
  put.replaceAll(/\$\(([\w.]+)\)/gu, (_, path: string) => {
    try {
      const { start, end } = partOf(node, path);
      return text.slice(start, end);
    } catch (error) {
      throw new Error(`The probe point "${name}" in ${file}: ${(error as Error).message}`, { cause: error });
    }
  });

const assertApart = (points: readonly ProbePoint[]): void => {
  if (new Set(points.map(({ name }) => name)).size < points.length)
    throw new Error('A plant changes one probe point twice.');
  const inOrder = points.toSorted((one, other) => one.node.start - other.node.start);
  for (const [at, point] of inOrder.entries()) {
    const inside = inOrder.slice(at + 1).find(({ file, node }) => file === point.file && node.start < point.node.end);
    if (inside !== undefined) throw new Error(`The probe points "${point.name}" and "${inside.name}" overlap.`);
  }
};
