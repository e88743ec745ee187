// The X-ray of one request over the whole page: all requests, the prompt with whole texts, and the trail of what is selected.
import { useMemo, useRef } from 'preact/hooks';
import { count, formatBytes, plural } from '#headends/run-view';
import type { CellView } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { run } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Busy, Button, CopyButton, Empty, Problem } from '../ui/parts.tsx';
import { VirtualList } from '../ui/virtual-list.tsx';
import { cellOf, namesIn, pick, rootOf } from './inspected.ts';
import { groupParts } from './origin.ts';
import type { RequestView } from './origin.ts';
import { OriginBar } from './parts-list.tsx';
import { Head, useForkKey, Withheld } from './pieces.tsx';
import { Parts, TrailPart, Unattributed, useRequest } from './request.tsx';
import { findAll, sentenceAt } from './text-pieces.ts';

type Props = { readonly store: RunStore };

export const XrayPage = () => {
  const store = run.value;
  if (store === null) return null;
  void store.version.value;
  const cell = cellOf(store, address.value.cell) ?? rootOf(store);
  if (cell === undefined) return <Busy />;
  const request = cell.requests.find(({ op }) => op === address.value.op) ?? cell.requests.at(-1);
  if (request === undefined) return <Empty title="This room has not asked its model anything." />;
  return <RequestPage store={store} cell={cell} op={request.op} />;
};

type RequestRow = { readonly cell: CellView; readonly no: number; readonly op: number };

const requestsOf = ({ view }: RunStore): readonly RequestRow[] =>
  [...view.cells.values()].flatMap((cell) => cell.requests.map(({ op }, at) => ({ cell, no: at + 1, op })));

const close = (): void => go({ ...address.value, xray: undefined, find: undefined });

const RequestPage = ({ store, cell, op }: Props & { readonly cell: CellView; readonly op: number }) => {
  const { request, error } = useRequest(store, cell.cell, op);
  const all = useMemo(() => requestsOf(store), [store, store.version.value]);
  const at = all.findIndex((one) => one.cell === cell && one.op === op);
  const input = useRef<HTMLInputElement>(null);
  usePageKeys({ request, all, cell: cell.cell, op, find: () => input.current?.focus() });
  useForkKey(cell.cell, op);
  return (
    <div class="xray-page">
      <section class="xray-requests" aria-label="Requests">
        <Head title="Requests" />
        <Requests store={store} all={all} selected={at} />
      </section>
      <section class="xray-request" aria-label="X-ray">
        <Head
          title="X-ray"
          isFirst
          about={`${namesIn(store)(cell.cell)}, request ${all[at]?.no ?? 0} of ${cell.requests.length}`}
        >
          <FindField request={request} input={input} />
          {request === null ? null : (
            <>
              <Unattributed request={request} />
              <CopyButton label="Copy as JSON" text={() => JSON.stringify(request, null, 2)} />
            </>
          )}
        </Head>
        {error === null ? null : <Problem error={error} />}
        <Withheld />
        {request === null ? null : (
          <div class="inspector-scroll">
            <div class="inspector-section">
              <OriginBar parts={request.parts} bytes={request.bytes} />
              <div class="legends">
                {groupParts(request.parts).map(({ hue, name, bytes }) => (
                  <span key={hue} class={`legend hue-${hue}`}>
                    {name} {formatBytes(bytes)}
                  </span>
                ))}
                <span class="at-end muted">
                  {count(request.bytes)} bytes,{' '}
                  {plural(cell.requests.find((one) => one.op === op)?.inputTokens ?? 0, 'token')}
                </span>
              </div>
            </div>
            <Parts store={store} request={request} whole />
          </div>
        )}
      </section>
      <TrailPart store={store} request={request} class="xray-trail">
        <Button onClick={close}>
          <kbd>Esc</kbd> Back
        </Button>
      </TrailPart>
    </div>
  );
};

type PageKeys = {
  readonly request: RequestView | null;
  readonly all: readonly RequestRow[];
  readonly cell: string;
  readonly op: number;
  readonly find: () => void;
};

const usePageKeys = ({ request, all, cell, op, find }: PageKeys): void => {
  const { part, find: found = '' } = address.value;
  const parts = request?.parts ?? [];
  const text = parts.find(({ no }) => no === part)?.text ?? '';
  const step = (by: number) => () => {
    // Keys may come faster than the page is drawn.
    const now = { cell, op, ...address.value };
    const to = all[all.findIndex((one) => one.cell.cell === now.cell && one.op === now.op) + by];
    if (to !== undefined) pick({ cell: to.cell.cell, op: to.op });
  };
  const toPart = (by: number) => () => {
    const to = Math.min(parts.length, Math.max(1, (address.value.part ?? 0) + by));
    if (parts.length > 0) select({ cell, op, part: to, find: undefined });
  };
  // From sentence to sentence of the selected part.
  const toSentence = (by: number) => () => {
    const next = neighbour(text, found, by);
    if (next !== null) select({ find: next });
  };
  useKeys({
    '[': { about: 'request before, after', hint: true, run: step(-1) },
    ']': { about: 'request before, after', hint: true, run: step(1) },
    ArrowUp: { about: 'part', hint: true, run: toPart(-1) },
    ArrowDown: { about: 'part', hint: true, run: toPart(1) },
    ArrowLeft: { about: 'sentence', run: toSentence(-1) },
    ArrowRight: { about: 'sentence', run: toSentence(1) },
    t: { about: 'trail', hint: true, run: () => select({ cell, op, part: part ?? 1 }) },
    '/': { about: 'find text', hint: true, run: find },
    x: { about: 'X-ray', run: close },
    c: { about: 'copy', run: () => void navigator.clipboard.writeText(found || text) },
    Escape: { about: 'back', hint: true, run: close },
  });
};

/** The sentence before or after the one that is selected. */
const neighbour = (text: string, found: string, by: number): string | null => {
  const at = found === '' ? -1 : text.indexOf(found);
  let place = by > 0 ? (at < 0 ? 0 : at + found.length + 1) : at - 2;
  while (place >= 0 && place <= text.length) {
    const span = sentenceAt(text, place);
    if (span !== null && text.slice(span.from, span.to) !== found) return text.slice(span.from, span.to);
    place += by;
  }
  return null;
};

type RequestsProps = Props & { readonly all: readonly RequestRow[]; readonly selected: number };

const Requests = ({ store, all, selected }: RequestsProps) => {
  const names = namesIn(store);
  const chosen = all[selected];
  const rows = all.flatMap((one) => (one.no === 1 ? [one.cell, one] : [one]));
  return (
    <VirtualList
      rows={rows}
      rowHeight={26}
      selected={chosen === undefined ? -1 : rows.indexOf(chosen)}
      label="Requests"
      role="group"
    >
      {(row) =>
        'requests' in row ? (
          <h3 key={row.cell} class="request-room cut">
            {names(row.cell)}
          </h3>
        ) : (
          <RequestButton key={`${row.cell.cell} ${row.op}`} row={row} isSelected={row === chosen} />
        )
      }
    </VirtualList>
  );
};

const RequestButton = ({ row, isSelected }: { readonly row: RequestRow; readonly isSelected: boolean }) => {
  const { cell, no, op } = row;
  const { ok, error, inputTokens, outputTokens } = cell.requests[no - 1]!;
  const failed = ok === false;
  return (
    <button
      type="button"
      class="plain line op-row choice"
      aria-current={isSelected}
      onClick={() => pick({ cell: cell.cell, op })}
    >
      request {no}
      <span class={`at-end small ${failed ? 'hue-text hue-stop' : 'muted'}`}>
        {failed ? (error?.code ?? 'failed') : `${count(inputTokens)} → ${count(outputTokens)}`}
      </span>
    </button>
  );
};

type FindProps = { readonly request: RequestView | null; readonly input: preact.RefObject<HTMLInputElement | null> };

const FindField = ({ request, input }: FindProps) => {
  const { find = '', part } = address.value;
  const isPicked = part !== undefined && find !== '';
  const found = request?.parts.filter(({ text }) => findAll(text, find).length > 0) ?? [];
  const next = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return;
    const to = found.find(({ no }) => no > (part ?? 0)) ?? found[0];
    if (to !== undefined) select({ part: to.no });
  };
  return (
    <label class="find-field line">
      <span class="unseen">Find text in this request</span>
      <input
        ref={input}
        type="search"
        placeholder="Find text"
        value={isPicked ? '' : find}
        onInput={({ currentTarget }) => select({ find: currentTarget.value || undefined, part: undefined })}
        onKeyDown={next}
      />
      {find === '' || isPicked ? null : (
        <span class="small muted cut" role="status">
          {found.length === 0 ? `Nothing holds “${find}”.` : plural(found.length, 'part')}
        </span>
      )}
    </label>
  );
};
