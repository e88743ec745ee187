// Cells as a tree: what each is doing, and what it has used.
import { useState } from 'preact/hooks';
import { compactNumber, count, formatDuration, money, plural } from '#headends/run-view';
import { address, select } from '../address.ts';
import type { PaneProps } from '../shell/workbench.tsx';
import { announcement } from '../state.ts';
import { nearest, useKeys } from '../ui/keys.ts';
import { StatusMark, Titles, statusLooks } from '../ui/parts.tsx';
import { useRunNow } from '../ui/use-now.ts';
import { VirtualList } from '../ui/virtual-list.tsx';
import { rowFigures, rowOf, treeRows } from './tree-rows.ts';
import type { TreeRow } from './tree-rows.ts';

export const Tree = ({ store }: PaneProps) => {
  void store.version.value;
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const now = useRunNow(store);
  const { view } = store;
  const rows = treeRows(view, toggled);
  const at = rowOf(rows, address.value.cell);
  const selected = rows[at];
  const toggle = (row: TreeRow): void => {
    const next = new Set(toggled);
    if (!next.delete(row.id)) next.add(row.id);
    setToggled(next);
  };
  const choose = (row: TreeRow | undefined): void => {
    if (row === undefined) return;
    select({ cell: row.cells[0]!.cell, op: undefined, crossing: undefined });
    announcement.value = `${row.name}, ${statusLooks(row.status).words}`;
  };
  const move = (step: number): void => choose(nearest(rows, at + step));
  const close = (): void => {
    if (selected?.isOpen === true) toggle(selected);
    else choose(rows.slice(0, Math.max(0, at)).findLast(({ depth }) => depth < (selected?.depth ?? 0)));
  };
  useKeys({
    ArrowUp: { about: 'room', hint: true, run: () => move(-1) },
    ArrowDown: { about: 'room', hint: true, run: () => move(1) },
    ArrowLeft: { about: 'close, open', hint: true, run: close },
    ArrowRight: { about: 'close, open', hint: true, run: () => selected?.isOpen === false && toggle(selected) },
    Enter: { about: 'open room', hint: true, run: () => select({ pane: 'rooms' }) },
    x: { about: 'X-ray', hint: true, run: () => selected?.cell != null && select({ xray: true }) },
  });
  return (
    <div class="tree">
      <div class="sentence">
        <h1>{plural(view.cells.size, 'room')}.</h1> <span>{stateSentence(rows)}</span>
      </div>
      <div class="run-rows" role="treegrid" aria-label="Cells" aria-rowcount={rows.length}>
        <Titles of="tree-line" titles={titles} />
        <VirtualList rows={rows} rowHeight={rowHeight} selected={at} label="Cells">
          {(row, index) => (
            <TreeLine
              key={row.id}
              {...{ row, index, now }}
              isSelected={index === at}
              onSelect={() => choose(row)}
              onToggle={() => toggle(row)}
            />
          )}
        </VirtualList>
      </div>
    </div>
  );
};

/** `2 working, 1 waiting for you, 3 completed.` */
const stateSentence = (rows: readonly TreeRow[]): string => {
  const shown = Map.groupBy(rows, ({ status }) => status);
  const words = [...shown].map(([status, of]) => {
    const many = of.reduce((sum, { cells, cell, isOpen }) => sum + (cell === null && isOpen ? 0 : cells.length), 0);
    return many === 0 ? '' : `${count(many)} ${statusLooks(status).words.toLowerCase()}`;
  });
  const hidden = rows.reduce((sum, { hidden: many, cell }) => sum + (cell === null ? 0 : many), 0);
  return `${[...words.filter((one) => one !== ''), ...(hidden === 0 ? [] : [`${count(hidden)} folded away`])].join(', ')}.`;
};

/** What can be tapped is higher than what can be clicked. */
const rowHeight = matchMedia('(pointer: coarse)').matches ? 45 : 28;

const titles = ['Cell', 'Now', 'Requests', 'Tools', 'In, out', 'Cost', 'Time'];

type TreeLineProps = {
  readonly row: TreeRow;
  readonly index: number;
  readonly now: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
  readonly onToggle: () => void;
};

const TreeLine = ({ row, index, now, isSelected, onSelect, onToggle }: TreeLineProps) => {
  const figures = rowFigures(row, now);
  const { words, mark } = statusLooks(row.status);
  return (
    <div
      class={`tree-line ${isSelected ? 'is-selected' : ''}`}
      role="row"
      aria-level={row.depth + 1}
      aria-rowindex={index + 1}
      aria-selected={isSelected}
      {...(row.isOpen === null ? {} : { 'aria-expanded': row.isOpen })}
      onClick={onSelect}
      onDblClick={() => row.isOpen !== null && onToggle()}
    >
      <span role="gridcell" class="line" style={{ paddingLeft: `${Math.min(row.depth, 12) * 18}px` }}>
        {row.isOpen === null ? (
          <span class="plain small tree-toggle" />
        ) : (
          <button
            type="button"
            class="plain small tree-toggle"
            aria-label={`${row.isOpen ? 'Close' : 'Open'} ${row.name}`}
            onClick={(event) => {
              event.stopPropagation();
              onToggle();
            }}
          >
            {row.isOpen ? '▾' : '▸'}
          </button>
        )}
        <StatusMark status={row.status} />
        <button type="button" class="plain strong cut" onClick={onSelect} title={row.name}>
          {row.name}
        </button>
        {row.hidden > 0 && row.cell !== null ? <span class="tag">{count(row.hidden)} below</span> : null}
      </span>
      <span role="gridcell" class={`cut status-${mark} tree-now`} title={row.activity || words}>
        {row.activity || words}
      </span>
      <span role="gridcell">{count(figures.requests)}</span>
      <span role="gridcell">{count(figures.tools)}</span>
      <span role="gridcell">
        {compactNumber(figures.inputTokens)}, {compactNumber(figures.outputTokens)}
      </span>
      <span role="gridcell">{money(figures.usd)}</span>
      <span role="gridcell" class="muted">
        {formatDuration(figures.ms)}
      </span>
    </div>
  );
};
