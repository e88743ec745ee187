// The rooms of one of two runs; those that are the same in both are dimmed.
import { useMemo } from 'preact/hooks';
import { RoomsCanvas } from '../rooms/canvas.tsx';
import type { RunStore } from '../run-store.ts';
import { pick } from '../xray/inspected.ts';

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

export const SideRooms = ({ store, dimmed, cell, nameCell, hasKeys, label }: Props) => {
  const selection = useMemo(() => ({ cell }), [cell]);
  const choose = (place: { readonly cell?: string | undefined }): void => {
    if (place.cell !== undefined) pick({ cell: nameCell(place.cell) });
  };
  return (
    <div class="side-rooms">
      <RoomsCanvas
        view={store.view}
        version={store.version}
        selection={selection}
        onSelect={choose}
        dimmed={dimmed}
        hasKeys={hasKeys}
        label={label}
      />
    </div>
  );
};
