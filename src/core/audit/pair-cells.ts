// Matches the cells of two runs by their position in the tree.
//
//   pairs-by-position. A position consists of agent names and call order, never of ids or times.
//   pairs-keep-order. Swapping the runs swaps the sides and nothing else: the order of the pairs stays.
import type { CellId } from '#base';
import type { CellRecords } from './records.ts';

export type CellPair = {
  /** Agents from the root down with the number of the call: `lead › researcher #2`. */
  readonly place: string;
  readonly one: CellRecords | undefined;
  readonly other: CellRecords | undefined;
};

/** Parents before their children. */
export const pairCells = (one: CellRecords | undefined, other: CellRecords | undefined): readonly CellPair[] =>
  pairLevels('', nameRoot(one), nameRoot(other));

/** The name of each cell among its siblings; the root has just its agent's name. */
export const cellNames = (root: CellRecords | undefined): ReadonlyMap<CellId, string> => {
  const names = new Map<CellId, string>();
  const walk = (cells: NamedCells): void => {
    for (const [name, cell] of cells) {
      names.set(cell.birth.cell, name);
      walk(nameSiblings(cell.children));
    }
  };
  walk(nameRoot(root));
  return names;
};

/** In order of creation. */
type NamedCells = ReadonlyMap<string, CellRecords>;

const nameRoot = (root: CellRecords | undefined): NamedCells =>
  new Map(root === undefined ? [] : [[root.birth.agent, root] as const]);

const nameSiblings = (siblings: readonly CellRecords[]): NamedCells => {
  const calls = new Map<string, number>();
  return new Map(
    siblings.map((cell) => {
      const { agent } = cell.birth;
      const call = (calls.get(agent) ?? 0) + 1;
      calls.set(agent, call);
      return [`${agent} #${call}`, cell] as const;
    }),
  );
};

const pairLevels = (stem: string, one: NamedCells, other: NamedCells): readonly CellPair[] =>
  orderedNames(one, other).flatMap((name) => {
    const [left, right] = [one.get(name), other.get(name)];
    const place = `${stem}${name}`;
    return [
      { place, one: left, other: right },
      ...pairLevels(`${place} › `, nameSiblings(left?.children ?? []), nameSiblings(right?.children ?? [])),
    ];
  });

/** Ordered by the earlier position in the two runs, then by name, so that the order does not depend on which run is first. */
const orderedNames = (one: NamedCells, other: NamedCells): readonly string[] => {
  const earliest = new Map<string, number>();
  for (const side of [one, other])
    for (const [index, name] of [...side.keys()].entries())
      earliest.set(name, Math.min(index, earliest.get(name) ?? Infinity));
  return [...earliest.keys()].sort(
    (left, right) => earliest.get(left)! - earliest.get(right)! || (left < right ? -1 : 1),
  );
};
