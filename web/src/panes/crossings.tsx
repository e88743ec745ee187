// The table of crossings: everything that passed between rooms, and what was refused.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { count } from '#headends/run-view';
import type { CrossingView } from '#headends/run-view';
import { address } from '../address.ts';
import { crossingInk } from '../rooms/texts.ts';
import { refusalText } from '../rooms/words.ts';
import type { RunStore } from '../run-store.ts';
import { nearest, useKeys } from '../ui/keys.ts';
import { VirtualList } from '../ui/virtual-list.tsx';
import { namesIn, pick, timeIn } from '../xray/inspected.ts';
import type { NameOf } from '../xray/origin.ts';
import { Titles } from '../ui/parts.tsx';

const colours = [
  ['goal', 'goal in'],
  ['result', 'result out'],
  ['mail', 'message'],
  ['tool', 'tool, wait'],
  ['stop', 'refused'],
] as const;

export const Legend = () => (
  <>
    {colours.map(([hue, words]) => (
      <span key={hue} class={`legend hue-${hue}`}>
        {words}
      </span>
    ))}
  </>
);

export const refusalWords = (reason: string): string => `refused: ${refusalText(reason)}`;

export const Crossings = ({ store }: { readonly store: RunStore }) => {
  const names = namesIn(store);
  const time = timeIn(store);
  const { crossings } = store.view;
  const chosen = address.value.crossing;
  const indexOf = (wanted: string | undefined): number =>
    wanted === undefined ? -1 : crossings.findIndex(({ id }) => id === wanted);
  const selected = useMemo(() => indexOf(chosen), [chosen, crossings.length]);
  // Keys may come faster than the page is drawn.
  const move = (by: number) => () => {
    const at = indexOf(address.value.crossing) + by;
    const to = nearest(crossings, at);
    if (to !== undefined) pick({ crossing: to.id });
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
  return (
    <section class="crossings" aria-label="Crossings">
      <div class="xray-head">
        <h2>Crossings</h2>
        <span class="grow" />
        <Legend />
      </div>
      {crossings.length === 0 ? <p class="pane-empty">Nothing has crossed yet.</p> : null}
      <div class="crossings-table" role="table" aria-label="Crossings" aria-rowcount={crossings.length + 1}>
        <Titles of="crossing-row" titles={titles} />
        <VirtualList rows={crossings} rowHeight={26} selected={selected} label="Crossings">
          {(row, index) => (
            <div
              key={row.id}
              class={`crossing-row ${index === selected ? 'is-selected' : ''}`}
              role="row"
              aria-selected={index === selected}
              aria-rowindex={index + 2}
              onClick={() => pick({ crossing: row.id })}
            >
              {[index, ...cellsOf(row, names), time(row.at)].map((cell) => (
                <span role="cell">{cell}</span>
              ))}
            </div>
          )}
        </VirtualList>
      </div>
    </section>
  );
};

const titles = ['#', 'From', 'To', 'What', 'Bytes', 'Grant', 'SHA-256', 'At'];

const cellsOf = (row: CrossingView, names: NameOf): readonly ComponentChildren[] => {
  const { from, to, kind, bytes, grant, sha256, refused } = row;
  const hue = `hue-${crossingInk(row)}`;
  return [
    names(from),
    names(to),
    <span class={`legend ${hue}`}>{kind}</span>,
    count(bytes),
    refused === null ? grant : <span class={`hue-text ${hue}`}>{refusalWords(refused)}</span>,
    <code>{sha256?.slice(0, 8)}</code>,
  ];
};
