// The X-ray of one request over the whole page: all requests, the prompt with whole texts, and the trail of what is selected.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { count, plural } from '#headends/run-view';
import type { CellView } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { mayAct, run } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { CopyButton, Empty, Problem } from '../ui/parts.tsx';
import { VirtualList } from '../ui/virtual-list.tsx';
import { cellOf, forkHere, namesIn, rootOf, seesContents, withheld } from './inspected.ts';
import type { RequestView } from './origin.ts';
import { OriginBar, OriginLegend, Part, revealPart, Unattributed } from './parts-list.tsx';
import { findAll, sentenceAt } from './text-pieces.ts';
import { Trail } from './trail-box.tsx';
import { useRequest } from './use-request.ts';

type Props = { readonly store: RunStore };

export const XrayPage = () => {
  const store = run.value;
  if (store === null) return null;
  void store.version.value;
  const cell = cellOf(store, address.value.cell) ?? rootOf(store);
  if (cell === undefined) return <div class="pane-empty" aria-busy="true" />;
  const request = cell.requests.find(({ op }) => op === address.value.op) ?? cell.requests.at(-1);
  if (request === undefined) return <Empty title="This room has not asked its model anything." />;
  return <RequestPage store={store} cell={cell} op={request.op} />;
};

type RequestRow = { readonly cell: CellView; readonly no: number; readonly op: number };

const requestsOf = ({ view }: RunStore): readonly RequestRow[] =>
  [...view.cells.values()].flatMap((cell) => cell.requests.map(({ op }, at) => ({ cell, no: at + 1, op })));

const show = (cell: string, op: number): void =>
  select({ cell, op, part: undefined, find: undefined, crossing: undefined });

const close = (): void => {
  const { xray: _xray, find: _find, ...rest } = address.value;
  go(rest);
};

const RequestPage = ({ store, cell, op }: Props & { readonly cell: CellView; readonly op: number }) => {
  const { request, error } = useRequest(store, cell.cell, op);
  const { part, find = '' } = address.value;
  const all = useMemo(() => requestsOf(store), [store, store.version.value]);
  const at = all.findIndex((one) => one.cell.cell === cell.cell && one.op === op);
  const made = cell.requests.find((one) => one.op === op);
  const step = (by: number) => () => {
    // Keys may come faster than the page is drawn.
    const now = { cell: cell.cell, op, ...address.value };
    const to = all[all.findIndex((one) => one.cell.cell === now.cell && one.op === now.op) + by];
    if (to !== undefined) show(to.cell.cell, to.op);
  };
  const input = useRef<HTMLInputElement>(null);
  usePageKeys({ request, step, cell: cell.cell, op, find: () => input.current?.focus() });
  useEffect(() => {
    if (part !== undefined) revealPart(part);
  }, [part, find, op, request === null]);
  const picked = request?.parts.find(({ no }) => no === part);
  return (
    <div class="xray-page">
      <section class="xray-requests" aria-label="Requests">
        <div class="xray-head">
          <h2>Requests</h2>
        </div>
        <Requests store={store} all={all} selected={at} />
      </section>
      <section class="xray-request" aria-label="X-ray">
        <div class="xray-head">
          <h1>X-ray</h1>
          <span class="muted">
            {namesIn(store.view)(cell.cell)}, request {all[at]?.no ?? 0} of {cell.requests.length}
          </span>
          <span class="header-space" />
          <FindField request={request} input={input} />
          {request === null ? null : <Unattributed request={request} long />}
          {request === null ? null : <CopyButton label="Copy as JSON" text={() => JSON.stringify(request, null, 2)} />}
        </div>
        {error === null ? null : <Problem error={error} />}
        {seesContents() ? null : <Empty title="Contents are withheld">{withheld}</Empty>}
        {request === null ? null : <Prompt request={request} tokens={made?.inputTokens ?? 0} />}
      </section>
      <section class="xray-trail" aria-label="Trail">
        <div class="xray-head">
          <h2>Trail</h2>
          <span class="muted">
            {picked === undefined ? '' : `of the selected ${find === '' ? 'part' : 'sentence'}`}
          </span>
          <span class="header-space" />
          <button type="button" class="button small" onClick={close}>
            <kbd>Esc</kbd> Back
          </button>
        </div>
        {picked === undefined ? (
          <p class="pane-empty">Click any text to follow it back to where it came from.</p>
        ) : (
          <Trail store={store} start={{ cell: cell.cell, op, segment: picked.id, find }} />
        )}
      </section>
    </div>
  );
};

const Prompt = ({ request, tokens }: { readonly request: RequestView; readonly tokens: number }) => {
  const { part: chosen, find = '' } = address.value;
  const { parts, bytes, cell, op } = request;
  return (
    <div class="inspector-scroll">
      <div class="xray-summary">
        <OriginBar parts={parts} bytes={bytes} />
        <div class="legend-line">
          <OriginLegend parts={parts} />
          <span class="at-end muted">
            {count(bytes)} bytes, {plural(tokens, 'token')}
          </span>
        </div>
      </div>
      <ul class="parts">
        {parts.map((part) => (
          <Part
            key={part.id}
            part={part}
            isSelected={part.no === chosen}
            whole
            find={find}
            onPick={(text) => select({ cell, op, part: part.no, find: text === '' ? undefined : text.slice(0, 500) })}
          />
        ))}
      </ul>
    </div>
  );
};

type PageKeys = {
  readonly request: RequestView | null;
  readonly cell: string;
  readonly op: number;
  readonly step: (by: number) => () => void;
  readonly find: () => void;
};

const usePageKeys = ({ request, step, cell, op, find }: PageKeys): void => {
  const { part, find: found = '' } = address.value;
  const parts = request?.parts ?? [];
  const toPart = (by: number) => () => {
    const to = Math.min(parts.length, Math.max(1, (address.value.part ?? 0) + by));
    if (parts.length > 0) select({ cell, op, part: to, find: undefined });
  };
  // From sentence to sentence of the selected part.
  const toSentence = (by: number) => () => {
    const text = parts.find(({ no }) => no === part)?.text;
    if (text === undefined) return;
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
    c: {
      about: 'copy',
      run: () => void navigator.clipboard.writeText(found || (parts.find(({ no }) => no === part)?.text ?? '')),
    },
    Escape: { about: 'back', hint: true, run: close },
    ...(mayAct.value ? { f: { about: 'fork here', run: () => forkHere(cell, op) } } : {}),
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

const rowHeight = 26;

const Requests = ({
  store,
  all,
  selected,
}: Props & { readonly all: readonly RequestRow[]; readonly selected: number }) => {
  const names = namesIn(store.view);
  const rows = all.flatMap((one) => (one.no === 1 ? [one.cell, one] : [one]));
  const chosen = all[selected];
  return (
    <VirtualList
      rows={rows}
      rowHeight={rowHeight}
      selected={chosen === undefined ? -1 : rows.indexOf(chosen)}
      label="Requests"
      role="group"
    >
      {(row) =>
        'requests' in row ? (
          <h3 key={row.cell} class="request-room">
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
  const made = cell.requests[no - 1]!;
  const failed = made.ok === false;
  return (
    <button
      type="button"
      class="request-row"
      aria-current={isSelected ? 'true' : undefined}
      onClick={() => show(cell.cell, op)}
    >
      request {no}
      <span class={failed ? 'hue-text hue-stop' : 'muted'}>
        {failed ? (made.error?.code ?? 'failed') : `${count(made.inputTokens)} → ${count(made.outputTokens)}`}
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
    <label class="find-field">
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
        <span class="small muted" role="status">
          {found.length === 0 ? `Nothing holds “${find}”.` : plural(found.length, 'part')}
        </span>
      )}
    </label>
  );
};
