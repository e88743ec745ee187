// The rooms of one of two runs; those that are the same in both are dimmed.
import type { RunStore } from '../run-store.ts';
import { StatusMark } from '../ui/parts.tsx';
import { namesIn } from '../xray/inspected.ts';

type Props = { readonly store: RunStore; readonly dimmed: ReadonlySet<string>; readonly label: string };

export const SideRooms = ({ store, dimmed, label }: Props) => {
  void store.version.value;
  const names = namesIn(store.view);
  return (
    <ul class="side-rooms" aria-label={label}>
      {[...store.view.cells.values()].map(({ cell, status, depth, requests }) => (
        <li key={cell} class={dimmed.has(cell) ? 'is-dimmed' : ''} style={{ marginLeft: `${depth * 24}px` }}>
          <StatusMark status={status ?? 'running'} /> <strong>{names(cell)}</strong> {requests.length} requests
        </li>
      ))}
    </ul>
  );
};
