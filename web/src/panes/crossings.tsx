// The table of crossings: everything that passed between rooms, and what was refused.
import { useMemo } from 'preact/hooks';
import { count } from '#headends/run-view';
import type { CrossingView } from '#headends/run-view';
import { address, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { useKeys } from '../ui/keys.ts';
import { VirtualList } from '../ui/virtual-list.tsx';
import { namesIn, rootOf, timeSince } from '../xray/inspected.ts';
import { crossingHue } from '../xray/hues.ts';

const rowHeight = 26;

const legend = [
  ['goal', 'goal in'],
  ['result', 'result out'],
  ['mail', 'message'],
  ['tool', 'tool, wait'],
  ['stop', 'refused'],
] as const;

export const selectCrossing = (id: string): void =>
  select({ crossing: id, cell: undefined, op: undefined, part: undefined, find: undefined });

export const refusalWords = (reason: string): string => `refused: ${reason.replaceAll('-', ' ')}`;

export const Crossings = ({ store }: { readonly store: RunStore }) => {
  void store.version.value;
  const { crossings } = store.view;
  const chosen = address.value.crossing;
  const indexOf = (wanted: string | undefined): number =>
    wanted === undefined ? -1 : crossings.findIndex(({ id }) => id === wanted);
  const selected = useMemo(() => indexOf(chosen), [chosen, crossings.length]);
  // Keys may come faster than the page is drawn.
  const move = (by: number) => () => {
    const at = indexOf(address.value.crossing) + by;
    const to = crossings[Math.min(crossings.length - 1, Math.max(0, at))];
    if (to !== undefined) selectCrossing(to.id);
  };
  const copy = (): void => {
    const { after: _after, ...row } = crossings[selected] ?? ({} as CrossingView);
    if (selected >= 0) void navigator.clipboard.writeText(JSON.stringify(row, null, 2));
  };
  useKeys({
    j: { about: 'next or last entry', run: move(1) },
    k: { about: 'next or last entry', run: move(-1) },
    c: { about: 'copy the entry', run: copy },
  });
  const names = namesIn(store.view);
  const start = rootOf(store)?.startedAt ?? 0;
  return (
    <section class="crossings" aria-label="Crossings">
      <div class="xray-head">
        <h2>Crossings</h2>
        <span class="header-space" />
        {legend.map(([hue, words]) => (
          <span key={hue} class={`legend hue-${hue}`}>
            {words}
          </span>
        ))}
      </div>
      {crossings.length === 0 ? <p class="pane-empty">Nothing has crossed yet.</p> : null}
      <div class="crossings-table" role="table" aria-label="Crossings" aria-rowcount={crossings.length + 1}>
        <div class="crossing-row crossing-titles" role="row">
          {['#', 'From', 'To', 'What', 'Bytes', 'Grant', 'SHA-256', 'At'].map((title) => (
            <span key={title} role="columnheader">
              {title}
            </span>
          ))}
        </div>
        <VirtualList rows={crossings} rowHeight={rowHeight} selected={selected} label="Crossings">
          {(row, index) => (
            <Row key={row.id} row={row} index={index} isSelected={index === selected} names={names} start={start} />
          )}
        </VirtualList>
      </div>
    </section>
  );
};

type RowProps = {
  readonly row: CrossingView;
  readonly index: number;
  readonly isSelected: boolean;
  readonly names: ReturnType<typeof namesIn>;
  readonly start: number;
};

const Row = ({ row, index, isSelected, names, start }: RowProps) => {
  const { id, from, to, kind, bytes, grant, sha256, refused, at } = row;
  const hue = refused === null ? crossingHue(kind) : 'stop';
  return (
    <div
      class={`crossing-row ${isSelected ? 'is-selected' : ''}`}
      role="row"
      aria-selected={isSelected}
      aria-rowindex={index + 2}
      onClick={() => selectCrossing(id)}
    >
      <span role="cell">{index}</span>
      <span role="cell">{names(from)}</span>
      <span role="cell">{names(to)}</span>
      <span role="cell" class={`legend hue-${hue}`}>
        {kind}
      </span>
      <span role="cell">{count(bytes)}</span>
      <span role="cell" class={refused === null ? '' : 'hue-text hue-stop'}>
        {refused === null ? grant : refusalWords(refused)}
      </span>
      <code role="cell">{sha256?.slice(0, 8) ?? ''}</code>
      <span role="cell">{timeSince(start, at)}</span>
    </div>
  );
};
