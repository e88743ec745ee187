// The cells of a run as rows of a tree.
//
//   tree-whole. Every cell is in exactly one row, shown or folded away: alike siblings are one row where there are many of them.
import type { CellId } from '#base';
import { activityText, cellName, workedMs } from '#headends/run-view';
import type { CellView, RunView } from '#headends/run-view';

export type TreeRow = {
  /** Of the cell, or of the group. */
  readonly id: string;
  readonly depth: number;
  readonly name: string;
  readonly status: string;
  readonly activity: string;
  /** Null: many cells alike. */
  readonly cell: CellView | null;
  readonly cells: readonly CellView[];
  /** Null: it has nothing below it. */
  readonly isOpen: boolean | null;
  /** How many cells are folded away below it. */
  readonly hidden: number;
};

/** So many siblings of one agent, in one state, are one row. */
const foldedFrom = 12;
/** In larger runs only the two upper levels are open at first. */
const openUpTo = 200;

/** `toggled`: the rows that the person opened or closed, against what they are at first. */
export const treeRows = (view: RunView, toggled: ReadonlySet<string>): readonly TreeRow[] => {
  const cells = [...view.cells.values()];
  const children = Map.groupBy(cells, ({ parent }) => (parent !== null && view.cells.has(parent) ? parent : null));
  const below = countBelow(cells, children);
  const rows: TreeRow[] = [];
  const isSmall = cells.length <= openUpTo;
  const visit = (siblings: readonly CellView[], depth: number): void => {
    for (const group of groupAlike(siblings)) {
      if (group.length > 1) {
        const row = groupRow(group, depth, toggled);
        rows.push(row);
        if (row.isOpen) for (const cell of group) visitCell(cell, depth + 1);
      } else visitCell(group[0]!, depth);
    }
  };
  const visitCell = (cell: CellView, depth: number): void => {
    const own = children.get(cell.cell) ?? [];
    const isOpen = own.length === 0 ? null : (isSmall || depth < 2) !== toggled.has(cell.cell);
    rows.push({
      id: cell.cell,
      depth,
      name: cellName(view, cell.agent, cell.agent, cell.cell),
      status: statusOf(cell),
      activity: activityText(cell),
      cell,
      cells: [cell],
      isOpen,
      hidden: isOpen === false ? below.get(cell.cell)! : 0,
    });
    if (isOpen === true) visit(own, depth + 1);
  };
  visit(children.get(null) ?? [], 0);
  return rows;
};

const statusOf = ({ status, activities, idle }: CellView): string => {
  if (status !== null) return status;
  if ([...activities.values()].some(({ type }) => type === 'question')) return 'waiting';
  return idle && activities.size === 0 ? 'idle' : 'running';
};

/** Failed and waiting ones are never folded: they are what one looks for. */
const groupAlike = (siblings: readonly CellView[]): readonly (readonly CellView[])[] => {
  if (siblings.length < foldedFrom) return siblings.map((cell) => [cell]);
  const keyOf = (cell: CellView): string => JSON.stringify([cell.agent, statusOf(cell)]);
  const alike = Map.groupBy(siblings, keyOf);
  return siblings.flatMap((cell) => {
    const group = alike.get(keyOf(cell))!;
    const isFolded = group.length >= foldedFrom && ['completed', 'running', 'idle'].includes(statusOf(cell));
    if (!isFolded) return [[cell]];
    return group[0] === cell ? [group] : [];
  });
};

const groupRow = (cells: readonly CellView[], depth: number, toggled: ReadonlySet<string>): TreeRow => {
  const [first] = cells as [CellView];
  const id = `${first.parent} ${first.agent} ${statusOf(first)}`;
  const isOpen = toggled.has(id);
  return {
    id,
    depth,
    name: `${first.agent} ×${cells.length}`,
    status: statusOf(first),
    activity: `${cells.length} rooms like this`,
    cell: null,
    cells,
    isOpen,
    hidden: isOpen ? 0 : cells.length,
  };
};

/** Children are started after their parents, so they come later in the list. */
const countBelow = (
  cells: readonly CellView[],
  children: ReadonlyMap<CellId | null, readonly CellView[]>,
): ReadonlyMap<CellId, number> => {
  const below = new Map<CellId, number>();
  for (const { cell } of cells.toReversed())
    below.set(
      cell,
      (children.get(cell) ?? []).reduce((sum, child) => sum + 1 + (below.get(child.cell) ?? 0), 0),
    );
  return below;
};

/** The row in which a cell is, shown or folded; -1: none. */
export const rowOf = (rows: readonly TreeRow[], cell: string | undefined): number =>
  cell === undefined ? -1 : rows.findIndex((row) => row.cells.some((one) => one.cell === cell));

/** The sums over its cells. `usd` is null as soon as one price is unknown. */
export const rowFigures = ({ cells }: TreeRow, now: number) => {
  const sum = (value: (cell: CellView) => number): number => cells.reduce((total, cell) => total + value(cell), 0);
  return {
    requests: sum(({ requests }) => requests.length),
    tools: sum(({ tools }) => tools),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    usd: cells.reduce<number | null>((total, { usd }) => (total === null || usd === null ? null : total + usd), 0),
    ms: Math.max(...cells.map((cell) => workedMs(cell, now))),
  };
};
