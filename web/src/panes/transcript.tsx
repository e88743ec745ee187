// What each model was shown and said, room by room, readable.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { plural } from '#headends/run-view';
import type { CellView } from '#headends/run-view';
import type { Transcript } from '#contracts';
import { address } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { CopyButton, Empty, Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { cellOf, goTo, namesIn, pick, rootOf, seesContents, timeIn } from '../xray/inspected.ts';
import { Head, Switch, Withheld } from '../xray/pieces.tsx';
import { findAll } from '../xray/text-pieces.ts';
import { rowKinds, rowText, transcriptRows } from './transcript-rows.ts';
import type { RowKind, TranscriptRow } from './transcript-rows.ts';

type Props = { readonly store: RunStore };
type CellProps = Props & { readonly cell: CellView };

/** A room without a model, such as a team, has nothing to read. */
const firstCell = (store: RunStore): CellView | undefined =>
  cellOf(store, address.value.cell) ??
  [...store.view.cells.values()].find(({ requests }) => requests.length > 0) ??
  rootOf(store);

/** Of a live room, the transcript is read again after each request; of a long one, after every tenth. */
const newsOf = ({ requests, calls }: CellView): number => {
  const ended = [...requests, ...calls].filter(({ endedAt }) => endedAt !== null).length;
  const news = requests.length + ended;
  return news < 100 ? news : Math.floor(news / 10);
};

const forms = [
  [false, 'Readable'],
  [true, 'JSON'],
] as const;

export const TranscriptPane = ({ store }: Props) => {
  void store.version.value;
  const cell = firstCell(store);
  return cell === undefined ? null : <Pane store={store} cell={cell} />;
};

const Pane = ({ store, cell }: CellProps) => {
  const [hidden, setHidden] = useState<ReadonlySet<RowKind>>(new Set());
  const [isJson, setJson] = useState(false);
  const [find, setFind] = useState('');
  const { value, error } = useLoaded(
    async () => (seesContents() ? source.value.transcript(store.run, { cell: cell.cell }) : null),
    [store.run, cell, newsOf(cell), store.state.value],
  );
  const rows = useMemo(() => readRows(store, value, cell), [value, cell]);
  const shown = useMemo(
    () => rows.filter((row) => !hidden.has(row.kind) && (find === '' || findAll(rowText(row), find).length > 0)),
    [rows, hidden, find],
  );
  const json = (): string => JSON.stringify(value, null, 2) ?? '';
  return (
    <div class="transcript-pane">
      <h1 class="unseen">Transcript</h1>
      <Side store={store} cell={cell} hidden={hidden} setHidden={setHidden} />
      <div class="transcript-tools line">
        <input
          type="search"
          id="transcript-find"
          aria-label="Find text"
          placeholder="Find text"
          value={find}
          onInput={({ currentTarget }) => setFind(currentTarget.value)}
        />
        <Switch label="Form" options={forms} value={isJson} onChange={setJson} />
        <CopyButton text={() => (isJson ? json() : shown.map(rowText).join('\n\n'))} />
      </div>
      {error === null ? null : <Problem error={error} />}
      <Withheld />
      {find !== '' && shown.length === 0 ? <Empty title={`Nothing holds “${find}”.`} /> : null}
      {isJson ? (
        <pre class="transcript-json part-text" tabIndex={0}>
          {json().slice(0, 200_000)}
        </pre>
      ) : (
        <Rows key={cell.cell} store={store} cell={cell} rows={shown} />
      )}
    </div>
  );
};

const readRows = (store: RunStore, transcript: Transcript | null, cell: CellView): readonly TranscriptRow[] => {
  const found = transcript?.cells.find((one) => one.cell === cell.cell);
  return found === undefined
    ? []
    : transcriptRows(found, {
        view: cell,
        crossings: store.view.crossings,
        nameOf: namesIn(store),
        goalOf: (other) => cellOf(store, other)?.goal ?? '',
      });
};

type SideProps = CellProps & {
  readonly hidden: ReadonlySet<RowKind>;
  readonly setHidden: (hidden: ReadonlySet<RowKind>) => void;
};

const Side = ({ store, cell, hidden, setHidden }: SideProps) => {
  const names = namesIn(store);
  const cells = [...store.view.cells.values()];
  const step = (by: number) => () => {
    const to = cells[cells.indexOf(cell) + by];
    if (to !== undefined) pick({ cell: to.cell });
  };
  useKeys({
    '[': { about: 'room', hint: true, run: step(-1) },
    ']': { about: 'room', hint: true, run: step(1) },
    '/': { about: 'find text', hint: true, run: () => document.getElementById('transcript-find')?.focus() },
  });
  const toggle = (kind: RowKind): void => {
    const next = new Set(hidden);
    if (!next.delete(kind)) next.add(kind);
    setHidden(next);
  };
  return (
    <aside class="transcript-side" aria-label="Rooms">
      <Head title="Rooms" />
      <ul class="rows transcript-rooms">
        {cells.map((one) => (
          <li key={one.cell}>
            <button
              type="button"
              class="plain choice transcript-room"
              aria-current={one === cell}
              onClick={() => pick({ cell: one.cell })}
            >
              <strong class="cut">{names(one.cell)}</strong>
              <span class="muted small cut">{factsOf(one)}</span>
            </button>
          </li>
        ))}
      </ul>
      <fieldset class="transcript-kinds">
        <legend>Show</legend>
        {(Object.keys(rowKinds) as RowKind[]).map((kind) => (
          <label key={kind} class="line">
            <input type="checkbox" checked={!hidden.has(kind)} onChange={() => toggle(kind)} /> {rowKinds[kind]}
          </label>
        ))}
      </fieldset>
    </aside>
  );
};

const factsOf = ({ requests, calls }: CellView): string => {
  const failed = requests.filter(({ ok }) => ok === false).length;
  return [
    plural(requests.length, 'request'),
    failed > 0 && `${failed} failed`,
    calls.length > 0 && plural(calls.length, 'tool'),
  ]
    .filter(Boolean)
    .join(', ');
};

const rowsPerPage = 60;

/** Pages of rows are drawn as one comes near them: a thousand requests are four thousand rows. */
const Rows = ({ store, cell, rows }: CellProps & { readonly rows: readonly TranscriptRow[] }) => {
  const [limit, setLimit] = useState(2);
  const [at, setAt] = useState(-1);
  const end = useRef<HTMLDivElement>(null);
  const pages = useMemo(() => pagesOf(rows), [rows]);
  const wanted = Math.max(limit, Math.ceil((at + 20) / rowsPerPage));
  useEffect(() => {
    if (end.current === null) return undefined;
    const seen = new IntersectionObserver(([entry]) => entry?.isIntersecting === true && setLimit(wanted + 1), {
      rootMargin: '1200px',
    });
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [wanted, pages]);
  useEffect(() => document.getElementById(`entry-${at}`)?.scrollIntoView({ block: 'nearest' }), [at]);
  const move = (by: number) => () => setAt((before) => Math.min(rows.length - 1, Math.max(0, before + by)));
  useKeys({
    j: { about: 'entry', hint: true, run: move(1) },
    k: { about: 'entry', hint: true, run: move(-1) },
    Enter: { about: 'X-ray of a prompt', hint: true, run: () => rows[at] && openRow(cell.cell, rows[at]) },
    c: { about: 'copy', hint: true, run: () => rows[at] && void navigator.clipboard.writeText(rowText(rows[at])) },
  });
  return (
    <>
      {pages.slice(0, wanted).map((page, no) => (
        <EntriesPage
          key={no}
          rows={page}
          first={no * rowsPerPage}
          selected={Math.floor(at / rowsPerPage) === no ? at : -1}
          store={store}
          cell={cell.cell}
          onSelect={setAt}
        />
      ))}
      {wanted < pages.length ? <div ref={end} class="entries-end" /> : null}
    </>
  );
};

const pagesOf = (rows: readonly TranscriptRow[]): readonly (readonly TranscriptRow[])[] =>
  Array.from({ length: Math.ceil(rows.length / rowsPerPage) }, (_, no) =>
    rows.slice(no * rowsPerPage, (no + 1) * rowsPerPage),
  );

const openRow = (cell: string, { op, kind, crossing }: TranscriptRow): void => {
  if (kind === 'prompt' && op !== undefined) goTo({ cell, op, xray: true });
  else if (crossing !== undefined) goTo({ crossing, pane: 'rooms' });
};

type PageProps = Props & {
  readonly rows: readonly TranscriptRow[];
  readonly first: number;
  readonly selected: number;
  readonly cell: string;
  readonly onSelect: (index: number) => void;
};

/** Drawn again only if something in it changed, not with every event of the run. */
const EntriesPage = ({ store, rows, first, selected, cell, onSelect }: PageProps) =>
  useMemo(() => {
    const time = timeIn(store);
    return (
      <div class="entries">
        {rows.map((row, at) => (
          <Entry
            key={row.key}
            row={row}
            id={`entry-${first + at}`}
            time={time(row.at)}
            isSelected={first + at === selected}
            onSelect={() => onSelect(first + at)}
            onOpen={() => openRow(cell, row)}
          />
        ))}
      </div>
    );
  }, [rows, selected, store, cell]);

type EntryProps = {
  readonly row: TranscriptRow;
  readonly id: string;
  readonly time: string;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
  readonly onOpen: () => void;
};

const Entry = ({ row, id, time, isSelected, onSelect, onOpen }: EntryProps) => {
  const { kind, hue, label, words, text, code, note, figures, parts } = row;
  const clamp = isSelected ? '' : 'is-clamped';
  return (
    <article
      id={id}
      class={`entry entry-${kind} hue-${hue}${isSelected ? ' is-selected' : ''}`}
      aria-label={label}
      onClick={onSelect}
    >
      <span class="entry-time muted small">{time}</span>
      <span class={`legend entry-label small hue-${hue}`}>{label}</span>
      <div class="entry-text">
        {words && (
          <span class={kind === 'prompt' ? 'muted' : ''}>
            {words}{' '}
            {parts !== undefined || kind === 'crossing' ? (
              <button type="button" class="plain chip small muted" onClick={onOpen}>
                {parts === undefined ? 'Bytes and ledgers' : plural(parts, 'part')}
              </button>
            ) : null}
          </span>
        )}
        {text && <p class={`entry-prose ${clamp}`}>{text}</p>}
        {code && <pre class={`part-text ${clamp}`}>{code}</pre>}
        {note && <p class="entry-note small">{note}</p>}
      </div>
      <span class="entry-figures muted small">{figures}</span>
    </article>
  );
};
