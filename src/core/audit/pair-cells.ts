// The cells of two runs, matched by their place in the tree.
//
//   P1. A place is made of agents and of the order of calls, never of ids or times.
//   P2. Swapping the runs swaps the sides and nothing else: the order of the pairs stays.
import type { CellId } from '#base';
import type { CellRecords } from './records.ts';

export type Pair = {
  /** Agents from the root down with the number of the call: `lead › researcher #2`. */
  readonly place: string;
  readonly one: CellRecords | undefined;
  readonly other: CellRecords | undefined;
};

/** Parents before their children. */
export const pairCells = (one: CellRecords | undefined, other: CellRecords | undefined): readonly Pair[] =>
  below('', rootsOf(one), rootsOf(other));

/** What each cell is called among its siblings; the root by its agent alone. */
export const namesOf = (root: CellRecords | undefined): ReadonlyMap<CellId, string> => {
  const names = new Map<CellId, string>();
  const walk = (cells: Named): void => {
    for (const [name, cell] of cells) {
      names.set(cell.birth.cell, name);
      walk(named(cell.children));
    }
  };
  walk(rootsOf(root));
  return names;
};

/** In the order of their births. */
type Named = ReadonlyMap<string, CellRecords>;

const rootsOf = (root: CellRecords | undefined): Named =>
  new Map(root === undefined ? [] : [[root.birth.agent, root] as const]);

const named = (siblings: readonly CellRecords[]): Named => {
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

const below = (stem: string, one: Named, other: Named): readonly Pair[] =>
  inOrder(one, other).flatMap((name) => {
    const [left, right] = [one.get(name), other.get(name)];
    const place = `${stem}${name}`;
    return [
      { place, one: left, other: right },
      ...below(`${place} › `, named(left?.children ?? []), named(right?.children ?? [])),
    ];
  });

/** By the earlier of the two births, then by name: the same whichever run comes first. */
const inOrder = (one: Named, other: Named): readonly string[] => {
  const earliest = new Map<string, number>();
  for (const side of [one, other])
    for (const [index, name] of [...side.keys()].entries())
      earliest.set(name, Math.min(index, earliest.get(name) ?? Infinity));
  return [...earliest.keys()].sort(
    (left, right) => earliest.get(left)! - earliest.get(right)! || (left < right ? -1 : 1),
  );
};
