// The rooms as rows, off the screen: what screen readers read, and what the selection in the canvas points at.
import type { Signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { plural } from '#headends/run-view';
import type { CrossingView, RunView } from '#headends/run-view';
import { roomNames, roomWords } from './words.ts';

const mostRows = 300;
const everyMs = 700;

/** `prefix`: two runs beside each other may have the same cells. */
export const rowId = (prefix: string, cell: string): string => `${prefix}-${cell.replaceAll(/[^\w-]/gu, '_')}`;

type MirrorProps = {
  readonly view: RunView;
  readonly version: Signal<number>;
  readonly selected: string | null;
  readonly prefix: string;
};

type Row = { readonly cell: string; readonly words: string };

export const Mirror = ({ view, version, selected, prefix }: MirrorProps) => {
  const [rows, setRows] = useState<readonly Row[]>([]);
  // Written a little later: nobody listens to every event, and it must not delay the canvas.
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const write = (): void => {
      timer = undefined;
      setRows(rowsOf(view, selected));
    };
    write();
    const stop = version.subscribe(() => {
      timer ??= setTimeout(write, everyMs);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [view, version, selected]);
  const hidden = view.cells.size - rows.length;
  return (
    <div class="unseen" role="rowgroup">
      {rows.map(({ cell, words }) => (
        <div key={cell} role="row" id={rowId(prefix, cell)} aria-selected={cell === selected}>
          <span role="gridcell">{words}</span>
        </div>
      ))}
      {rows.length > 0 && hidden > 0 ? (
        <div role="row">
          <span role="gridcell">And {plural(hidden, 'room')} more: Tree lists all of them.</span>
        </div>
      ) : null}
    </div>
  );
};

/** The first rooms, and always the selected one. */
const rowsOf = (view: RunView, selected: string | null): readonly Row[] => {
  const nameOf = roomNames(view);
  const own = new Map<string, CrossingView[]>();
  for (const crossing of view.crossings)
    for (const end of new Set([crossing.from, crossing.to]))
      own.set(end, [...(own.get(end) ?? []), crossing].slice(-40));
  const cells = [...view.cells.values()].filter(({ cell }, at) => at < mostRows || cell === selected);
  return cells.map((cell) => ({
    cell: cell.cell,
    words: roomWords(nameOf(cell.cell), cell, own.get(cell.cell) ?? [], nameOf),
  }));
};
