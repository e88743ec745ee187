// What is selected: a request, a crossing, a room. Without a selection: the last request of the first room.
import { useEffect } from 'preact/hooks';
import { signal } from '@preact/signals';
import { count, plural } from '#headends/run-view';
import type { CellView } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { mayAct } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Empty, Problem } from '../ui/parts.tsx';
import { CrossingInspector } from './crossing-inspector.tsx';
import { cellOf, forkHere, namesIn, rootOf, seesContents, withheld } from './inspected.ts';
import type { RequestView } from './origin.ts';
import { InspectorHead } from './inspector-head.tsx';
import { OriginBar, Part, revealPart, Unattributed } from './parts-list.tsx';
import { OperationInspector, RoomInspector } from './room-inspector.tsx';
import { useRequest } from './use-request.ts';
import { Trail, useTrail } from './trail-box.tsx';
import { shortTrail } from './trail.ts';

type Props = { readonly store: RunStore };

const narrow = matchMedia('(max-width: 899px)');
const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', ({ matches }) => void (isNarrow.value = matches));

export const Inspector = ({ store }: Props) => {
  void store.version.value;
  const { cell: wanted, op, crossing } = address.value;
  const found = crossing === undefined ? undefined : store.view.crossings.find(({ id }) => id === crossing);
  if (found !== undefined) return <CrossingInspector store={store} crossing={found} />;
  const cell = cellOf(store, wanted) ?? rootOf(store);
  if (cell === undefined) return <div class="pane-empty" />;
  if (wanted !== undefined && op === undefined) return <RoomInspector store={store} cell={cell} />;
  const request = cell.requests.find((one) => one.op === op) ?? (op === undefined ? cell.requests.at(-1) : undefined);
  if (request !== undefined) return <RequestInspector store={store} cell={cell} op={request.op} />;
  return op === undefined ? (
    <RoomInspector store={store} cell={cell} />
  ) : (
    <OperationInspector store={store} cell={cell} op={op} />
  );
};

export const openXray = (): void => go({ ...address.value, xray: true });

type RequestProps = Props & { readonly cell: CellView; readonly op: number };

const RequestInspector = ({ store, cell, op }: RequestProps) => {
  void store.version.value;
  const { request, error } = useRequest(store, cell.cell, op);
  const open = (): void => go({ ...address.value, cell: cell.cell, op, xray: true });
  const step = (by: number) => () => {
    const to = cell.requests[cell.requests.findIndex((one) => one.op === op) + by];
    if (to !== undefined) select({ cell: cell.cell, op: to.op, part: undefined, find: undefined });
  };
  useKeys({
    x: { about: 'X-ray', run: open },
    t: { about: 'trail', run: open },
    '[': { about: 'request before, after', run: step(-1) },
    ']': { about: 'request before, after', run: step(1) },
    ...(mayAct.value ? { f: { about: 'fork here', hint: true, run: () => forkHere(cell.cell, op) } } : {}),
  });
  const name = namesIn(store.view)(cell.cell);
  const no = cell.requests.findIndex((one) => one.op === op) + 1;
  const made = cell.requests[no - 1];
  return (
    <>
      <InspectorHead title="X-ray" about="what this model saw" cell={cell.cell} op={op}>
        <button type="button" class="button small" onClick={open}>
          Open
        </button>
      </InspectorHead>
      <div class="inspector-facts">
        <div class="inspector-line">
          <h3>{name}</h3>
          <span class="muted">
            request {no} of {cell.requests.length}
          </span>
          <span class="muted at-end">
            {made === undefined || made.ok === null
              ? 'working'
              : made.ok
                ? plural(made.inputTokens, 'token')
                : (made.error?.code ?? 'failed')}
          </span>
        </div>
        {request === null ? null : (
          <>
            <OriginBar parts={request.parts} bytes={request.bytes} />
            <div class="inspector-line small muted">
              {plural(request.parts.length, 'part')}, {count(request.bytes)} bytes
              <span class="at-end">
                <Unattributed request={request} />
              </span>
            </div>
          </>
        )}
      </div>
      {seesContents() ? null : <Empty title="Contents are withheld">{withheld}</Empty>}
      {error === null ? null : <Problem error={error} />}
      {request === null ? null : <Parts store={store} request={request} />}
    </>
  );
};

const Parts = ({ store, request }: Props & { readonly request: RequestView }) => {
  const { part: chosen, find = '' } = address.value;
  const { cell, op } = request;
  const whole = isNarrow.value;
  useEffect(() => {
    if (chosen !== undefined) revealPart(chosen);
  }, [chosen, find, op]);
  const picked = request.parts.find(({ no }) => no === chosen);
  return (
    <>
      <div class="inspector-scroll">
        <ul class="parts">
          {request.parts.map((part) => (
            <Part
              key={part.id}
              part={part}
              isSelected={part.no === chosen}
              whole={whole}
              find={find}
              onPick={(text) => select({ cell, op, part: part.no, find: text === '' ? undefined : text })}
            >
              {part.no === chosen && !whole ? <ShortTrail store={store} cell={cell} op={op} segment={part.id} /> : null}
            </Part>
          ))}
        </ul>
      </div>
      {whole && picked !== undefined ? (
        <section class="trail-dock" aria-label="Trail">
          <div class="xray-head">
            <h2>Trail</h2>
            <span class="muted">of the selected {find === '' ? 'part' : 'sentence'}</span>
            <span class="header-space" />
            <button type="button" class="button small" onClick={() => select({ part: undefined, find: undefined })}>
              Close
            </button>
          </div>
          <Trail store={store} start={{ cell, op, segment: picked.id, find }} />
        </section>
      ) : null}
    </>
  );
};

const ShortTrail = ({
  store,
  ...start
}: Props & { readonly cell: string; readonly op: number; readonly segment: number }) => {
  const { value } = useTrail(store, { ...start, find: '' });
  const [first, ...rest] = value === null ? [] : shortTrail(value);
  return (
    <button type="button" class="short-trail" onClick={openXray}>
      <span class="muted">Trail</span> <strong>{first}</strong>
      {rest.map((one) => (
        <>
          {' '}
          <span class="muted">←</span> {one}
        </>
      ))}
    </button>
  );
};
