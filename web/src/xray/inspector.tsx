// What is selected: a request, a crossing, a room. Without a selection: the last request of the first room.
import { plural } from '#headends/run-view';
import type { CellView } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { useKeys } from '../ui/keys.ts';
import { Button, Problem } from '../ui/parts.tsx';
import { useNarrow } from '../ui/use-size.ts';
import { CrossingInspector } from './crossing-inspector.tsx';
import { cellOf, namesIn, rootOf } from './inspected.ts';
import { OriginBar } from './parts-list.tsx';
import { Fork, Head, Withheld } from './pieces.tsx';
import { Parts, sizeOf, TrailPart, Unattributed, useRequest } from './request.tsx';
import { OperationInspector, RoomInspector } from './room-inspector.tsx';

type Props = { readonly store: RunStore };

export const Inspector = ({ store }: Props) => {
  void store.version.value;
  const { cell: wanted, op, crossing } = address.value;
  const found = store.view.crossings.find(({ id }) => id === crossing);
  if (found !== undefined) return <CrossingInspector store={store} crossing={found} />;
  const cell = cellOf(store, wanted) ?? rootOf(store);
  if (cell === undefined) return <div class="pane-empty" />;
  const last = wanted === undefined ? cell.requests.at(-1)?.op : undefined;
  const request = cell.requests.find((one) => one.op === (op ?? last));
  if (request !== undefined) return <RequestInspector store={store} cell={cell} op={request.op} />;
  return op === undefined ? (
    <RoomInspector store={store} cell={cell} />
  ) : (
    <OperationInspector store={store} cell={cell} op={op} />
  );
};

type RequestProps = Props & { readonly cell: CellView; readonly op: number };

const RequestInspector = ({ store, cell, op }: RequestProps) => {
  const { request, error } = useRequest(store, cell.cell, op);
  const whole = useNarrow(899);
  const at = cell.requests.findIndex((one) => one.op === op);
  const open = (): void => go({ ...address.value, cell: cell.cell, op, xray: true });
  const step = (by: number) => () => {
    const to = cell.requests[at + by];
    if (to !== undefined) select({ cell: cell.cell, op: to.op, part: undefined, find: undefined });
  };
  useKeys({
    x: { about: 'X-ray', run: open },
    t: { about: 'trail', run: open },
    '[': { about: 'request before, after', run: step(-1) },
    ']': { about: 'request before, after', run: step(1) },
  });
  const made = cell.requests[at];
  return (
    <>
      <Head title="X-ray" about="what this model saw">
        <Button onClick={open}>Open</Button>
        <Fork cell={cell.cell} op={op} />
      </Head>
      <div class="inspector-section">
        <div class="line">
          <h3>{namesIn(store)(cell.cell)}</h3>
          <span class="muted small">
            request {at + 1} of {cell.requests.length}
          </span>
          <span class="muted small at-end">
            {made?.ok == null
              ? 'working'
              : made.ok
                ? plural(made.inputTokens, 'token')
                : (made.error?.code ?? 'failed')}
          </span>
        </div>
        {request === null ? null : (
          <>
            <OriginBar parts={request.parts} bytes={request.bytes} />
            <div class="line small muted">
              {sizeOf(request)}
              <span class="at-end">
                <Unattributed request={request} />
              </span>
            </div>
          </>
        )}
      </div>
      <Withheld />
      {error === null ? null : <Problem error={error} />}
      {request === null ? null : (
        <div class="inspector-scroll">
          <Parts store={store} request={request} whole={whole} />
        </div>
      )}
      {whole && address.value.part !== undefined ? (
        <TrailPart store={store} request={request} class="trail-dock">
          <Button onClick={() => select({ part: undefined, find: undefined })}>Close</Button>
        </TrailPart>
      ) : null}
    </>
  );
};
