// One room: what it was asked, how it ended, what it did; and one of its operations that is no request.
import type { EventError } from '#contracts';
import { count, formatBytes, formatDuration, money, plural, workedMs } from '#headends/run-view';
import type { CellView } from '#headends/run-view';
import { select } from '../address.ts';
import { WindowBar } from '../panes/windows.tsx';
import { crossingInk, toolText } from '../rooms/texts.ts';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Button, Status } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { explain, namesIn, pick, seesContents } from './inspected.ts';
import { Fork, Head, Refused, Row, Section, Withheld } from './pieces.tsx';

/** The cell is changed in place: each part that shows it reads the version, with the names, to be told. */
type Props = { readonly store: RunStore; readonly cell: CellView };

export const RoomInspector = ({ store, cell }: Props) => {
  const { requests, calls, children, goal, error, endedAt, status } = cell;
  const name = namesIn(store)(cell.cell);
  const last = requests.at(-1);
  useKeys({ x: { about: 'X-ray', run: () => last && select({ op: last.op }) } });
  const took = endedAt === null ? '' : ` in ${formatDuration(workedMs(cell, endedAt))}`;
  const facts = [
    plural(requests.length, 'request'),
    calls.length > 0 && plural(calls.length, 'tool call'),
    children.length > 0 && plural(children.length, 'agent'),
  ];
  return (
    <>
      <Head title="Room" about={name}>
        <Fork cell={cell.cell} />
      </Head>
      <div class="inspector-scroll">
        <div class="inspector-section">
          <div class="line">
            <h3>{name}</h3>
            <span class="muted small">{facts.filter(Boolean).join(', ')}</span>
          </div>
          <div class="line small">
            <Status status={status ?? 'running'} />
            <span class="muted">{took}</span>
            <span class="at-end muted">
              {count(cell.inputTokens)} in, {count(cell.outputTokens)} out, {money(cell.usd)}
            </span>
          </div>
          {goal && <p class="inspector-goal">{goal}</p>}
          <Failure error={error} />
        </div>
        <RoomWindow store={store} cell={cell} />
        <Operations store={store} cell={cell} />
        <RoomCrossings store={store} cell={cell} />
      </div>
    </>
  );
};

const Failure = ({ error }: { readonly error: EventError | null }) =>
  error && (
    <p class="inspector-failure" role="note">
      <Refused>{error.summary}</Refused> {error.detail ?? ''} {error.suggestion} <code>{error.code}</code>
    </p>
  );

const RoomWindow = ({ store, cell }: Props) => {
  const { value } = useLoaded(
    () => source.value.windows(store.run),
    [store.run, cell.requests.length, store.state.value],
  );
  const window = value?.find((one) => one.cell === cell.cell);
  return window?.limit == null ? null : (
    <section class="inspector-section" aria-label="Window">
      <WindowBar window={window} />
    </section>
  );
};

const listMax = 200;

/** What a cell did, in its order. */
export const operationsOf = ({ requests, calls, children }: CellView, nameOf: (cell: string) => string) => {
  const about = (one: { readonly ok: boolean | null; readonly error: EventError | null }, words: string): string =>
    one.ok === false ? (one.error?.code ?? 'failed') : words;
  return [
    ...requests.map((one, at) => ({
      ...one,
      hue: 'work',
      title: `request ${at + 1}`,
      about: about(one, `${count(one.inputTokens)} → ${count(one.outputTokens)}`),
    })),
    ...calls.map((one) => ({
      ...one,
      hue: 'tool',
      title: toolText(one.tool),
      about: about(one, formatBytes(one.bytesOut)),
    })),
    ...children.map((one) => ({
      ...one,
      hue: 'goal',
      title: nameOf(one.child),
      about: one.ok === null ? 'working' : one.ok ? 'answered' : 'gave no answer',
    })),
  ].sort((one, other) => one.op - other.op);
};

const Operations = ({ store, cell }: Props) => {
  const rows = operationsOf(cell, namesIn(store));
  return (
    <Section title="Operations">
      <ul class="rows">
        {rows.slice(0, listMax).map(({ op, ok, hue, title, about }) => (
          <Row key={op} hue={ok === false ? 'stop' : hue} about={about} onClick={() => select({ op })}>
            {title}
          </Row>
        ))}
      </ul>
      {rows.length > listMax ? (
        <p class="muted">
          The first {listMax} of {count(rows.length)}.
        </p>
      ) : null}
    </Section>
  );
};

const RoomCrossings = ({ store, cell }: Props) => {
  const names = namesIn(store);
  const { crossings } = store.view;
  const own = crossings.filter(({ from, to }) => from === cell.cell || to === cell.cell);
  return (
    <Section title={`Saw ${own.length} of ${plural(crossings.length, 'crossing')}`}>
      <ul class="rows">
        {own.slice(0, listMax).map((one) => (
          <Row
            key={one.id}
            hue={crossingInk(one)}
            about={`${formatBytes(one.bytes)}${one.refused === null ? '' : ' refused'}`}
            onClick={() => pick({ crossing: one.id })}
          >
            {one.kind} {one.to === cell.cell ? `from ${names(one.from)}` : `to ${names(one.to)}`}
          </Row>
        ))}
      </ul>
    </Section>
  );
};

/** A tool call, or the call of an agent. */
export const OperationInspector = ({ store, cell, op }: Props & { readonly op: number }) => {
  const names = namesIn(store);
  const call = cell.calls.find((one) => one.op === op);
  const child = cell.children.find((one) => one.op === op)?.child;
  const { value } = useLoaded(
    async () => (seesContents() ? explain(store, cell.cell) : null),
    [store.run, cell.cell, cell.requests.length],
  );
  const shown = value?.segments.find(({ origin }) =>
    origin.of.some((one) => one.from === 'operation' && one.no === op),
  );
  return (
    <>
      <Head
        title={call ? toolText(call.tool) : child ? names(child) : `operation ${op}`}
        about={`operation ${op} of ${names(cell.cell)}`}
      >
        <Fork cell={cell.cell} op={op} />
      </Head>
      <div class="inspector-scroll" tabIndex={0}>
        {call && (
          <>
            <div class="inspector-section">
              <div class="line small">
                <Status status={call.ok === null ? 'running' : call.ok ? 'completed' : 'failed'} />
                <span class="at-end muted">
                  {formatBytes(call.bytesOut)} out, {formatDuration(call.ms)}
                </span>
              </div>
              <Failure error={call.error} />
            </div>
            <Section title="Arguments">
              <pre class="part-text">{call.args}</pre>
            </Section>
          </>
        )}
        {child && (
          <div class="inspector-section">
            <Button onClick={() => pick({ cell: child })}>Open the room of {names(child)}</Button>
          </div>
        )}
        {shown && (
          <Section title="What the model was shown of it">
            <pre class="part-text">{shown.text.slice(0, 20_000)}</pre>
          </Section>
        )}
        <Withheld />
      </div>
    </>
  );
};
