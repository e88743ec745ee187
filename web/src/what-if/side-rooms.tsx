// The rooms of one of two runs; those that are the same in both are dimmed.
import type { RunStore } from '../run-store.ts';
import { StatusMark } from '../ui/parts.tsx';
import { namesIn } from '../xray/inspected.ts';

type Props = {
  readonly store: RunStore;
  readonly dimmed: ReadonlySet<string>;
  /** The room that is selected, as this run names it. */
  readonly cell: string | undefined;
  /** A cell of this run, as the address names it: rooms of both runs are named as in the first. */
  readonly nameCell: (cell: string) => string | undefined;
  readonly hasKeys: boolean;
  readonly label: string;
};

export const SideRooms = ({ store, dimmed, label }: Props) => {
  void store.version.value;
  const names = namesIn(store.view);
  return (
    <ul class="plain-list" aria-label={label}>
      {[...store.view.cells.values()].map(({ cell, status }) => (
        <li key={cell} class={dimmed.has(cell) ? 'muted' : ''}>
          <StatusMark status={status ?? 'running'} /> {names(cell)}
        </li>
      ))}
    </ul>
  );
};
