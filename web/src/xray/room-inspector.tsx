// One room: what it was asked, how it ended, what it did; and one of its operations that is no request.
import { count, formatBytes, formatDuration, money, plural } from '#headends/run-view';
import type { CellView } from '#headends/run-view';
import { select } from '../address.ts';
import { selectCrossing } from '../panes/crossings.tsx';
import type { RunStore } from '../run-store.ts';
import { mayAct, source } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Status } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { WindowBar } from '../panes/windows.tsx';
import { forkHere, namesIn, seesContents, explain, withheld } from './inspected.ts';
import { InspectorHead } from './inspector-head.tsx';
import { crossingHue, toolTitle } from './hues.ts';

/** The cell is changed in place: each part that shows it reads the version to be told. */
type Props = { readonly store: RunStore; readonly cell: CellView };

export const RoomInspector = ({ store, cell }: Props) => {
  void store.version.value;
  const { requests, calls, children, goal, error, endedAt, startedAt, status } = cell;
  const names = namesIn(store.view);
  const last = requests.at(-1);
  useKeys({
    x: { about: 'X-ray', run: () => last && select({ op: last.op }) },
    ...(mayAct.value ? { f: { about: 'fork here', hint: true, run: () => forkHere(cell.cell) } } : {}),
  });
  const took = endedAt === null ? '' : ` in ${formatDuration(endedAt - startedAt - cell.downMs - cell.wait.waitedMs)}`;
  const facts = [
    plural(requests.length, 'request'),
    ...(calls.length === 0 ? [] : [plural(calls.length, 'tool call')]),
    ...(children.length === 0 ? [] : [plural(children.length, 'agent')]),
  ];
  return (
    <>
      <InspectorHead title="Room" about={names(cell.cell)} cell={cell.cell} />
      <div class="inspector-scroll">
        <div class="inspector-facts">
          <div class="inspector-line">
            <h3>{names(cell.cell)}</h3>
            <span class="muted">{facts.join(', ')}</span>
          </div>
          <div class="inspector-line small">
            <Status status={status ?? 'running'} />
            <span class="muted">{took}</span>
            <span class="at-end muted">
              {count(cell.inputTokens)} in, {count(cell.outputTokens)} out, {money(cell.usd)}
            </span>
          </div>
          {goal === '' ? null : <p class="inspector-goal">{goal}</p>}
          {error === null ? null : (
            <p class="inspector-failure" role="note">
              <strong class="hue-text hue-stop">{error.summary}</strong> {error.detail ?? ''} {error.suggestion}{' '}
              <code>{error.code}</code>
            </p>
          )}
        </div>
        <RoomWindow store={store} cell={cell} />
        <Operations store={store} cell={cell} />
        <RoomCrossings store={store} cell={cell} />
      </div>
    </>
  );
};

const RoomWindow = ({ store, cell }: Props) => {
  void store.version.value;
  const { value } = useLoaded(
    () => source.value.windows(store.run),
    [store.run, cell.requests.length, store.state.value],
  );
  const window = value?.find((one) => one.cell === cell.cell);
  return window === undefined || window.limit === null ? null : (
    <section class="inspector-section" aria-label="Window">
      <WindowBar window={window} />
    </section>
  );
};

const listMax = 200;

/** Requests and calls in their order. */
const Operations = ({ store, cell }: Props) => {
  void store.version.value;
  const { requests, calls } = cell;
  const names = namesIn(store.view);
  const rows = [
    ...requests.map(({ op, ok, inputTokens, outputTokens, error }, at) => ({
      op,
      hue: ok === false ? 'stop' : 'work',
      title: `request ${at + 1}`,
      about: ok === false ? (error?.code ?? 'failed') : `${count(inputTokens)} → ${count(outputTokens)}`,
    })),
    ...calls.map(({ op, tool, ok, bytesOut, error }) => ({
      op,
      hue: ok === false ? 'stop' : 'tool',
      title: toolTitle(tool),
      about: ok === false ? (error?.code ?? 'failed') : formatBytes(bytesOut),
    })),
    ...cell.children.map(({ op, child, ok }) => ({
      op,
      hue: ok === false ? 'stop' : 'goal',
      title: names(child),
      about: ok === null ? 'working' : ok ? 'answered' : 'gave no answer',
    })),
  ].sort((one, other) => one.op - other.op);
  return (
    <section class="inspector-section" aria-label="Operations">
      <h3>Operations</h3>
      <ul class="rows">
        {rows.slice(0, listMax).map(({ op, hue, title, about }) => (
          <li key={op}>
            <button type="button" class="op-row" onClick={() => select({ op })}>
              <span class={`legend hue-${hue}`}>{title}</span>
              <span class="at-end muted">{about}</span>
            </button>
          </li>
        ))}
      </ul>
      {rows.length > listMax ? (
        <p class="muted">
          The first {listMax} of {count(rows.length)}.
        </p>
      ) : null}
    </section>
  );
};

const RoomCrossings = ({ store, cell }: Props) => {
  void store.version.value;
  const names = namesIn(store.view);
  const own = store.view.crossings.filter(({ from, to }) => from === cell.cell || to === cell.cell);
  return (
    <section class="inspector-section" aria-label="Crossings of this room">
      <h3>
        Saw {own.length} of {plural(store.view.crossings.length, 'crossing')}
      </h3>
      <ul class="rows">
        {own.slice(0, listMax).map(({ id, from, to, kind, bytes, refused }) => (
          <li key={id}>
            <button type="button" class="op-row" onClick={() => selectCrossing(id)}>
              <span class={`legend hue-${refused === null ? crossingHue(kind) : 'stop'}`}>
                {kind} {to === cell.cell ? `from ${names(from)}` : `to ${names(to)}`}
              </span>
              <span class="at-end muted">
                {formatBytes(bytes)}
                {refused === null ? '' : ' refused'}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
};

/** A tool call, or the call of an agent. */
export const OperationInspector = ({ store, cell, op }: Props & { readonly op: number }) => {
  void store.version.value;
  const call = cell.calls.find((one) => one.op === op);
  const child = cell.children.find((one) => one.op === op);
  const names = namesIn(store.view);
  const { value } = useLoaded(
    async () => (seesContents() ? explain(store, cell.cell) : null),
    [store.run, cell.cell, cell.requests.length],
  );
  const shown = value?.segments.find(({ origin }) =>
    origin.of.some((one) => one.from === 'operation' && one.no === op),
  );
  useKeys(mayAct.value ? { f: { about: 'fork here', hint: true, run: () => forkHere(cell.cell, op) } } : {});
  const title =
    call === undefined ? (child === undefined ? `operation ${op}` : names(child.child)) : toolTitle(call.tool);
  return (
    <>
      <InspectorHead title={title} about={`operation ${op} of ${names(cell.cell)}`} cell={cell.cell} op={op} />
      <div class="inspector-scroll" tabIndex={0}>
        {call === undefined ? null : (
          <div class="inspector-facts">
            <div class="inspector-line small">
              <Status status={call.ok === null ? 'running' : call.ok ? 'completed' : 'failed'} />
              <span class="at-end muted">
                {formatBytes(call.bytesOut)} out, {formatDuration(call.ms)}
              </span>
            </div>
            {call.error === null ? null : (
              <p class="inspector-failure">
                <strong class="hue-text hue-stop">{call.error.summary}</strong> {call.error.detail ?? ''}{' '}
                {call.error.suggestion}
              </p>
            )}
          </div>
        )}
        {call === undefined ? null : (
          <section class="inspector-section" aria-label="Arguments">
            <h3>Arguments</h3>
            <pre class="part-text">{call.args}</pre>
          </section>
        )}
        {child === undefined ? null : (
          <section class="inspector-section">
            <button type="button" class="button small" onClick={() => select({ cell: child.child, op: undefined })}>
              Open the room of {names(child.child)}
            </button>
          </section>
        )}
        {shown === undefined ? null : (
          <section class="inspector-section" aria-label="What the model was shown of it">
            <h3>What the model was shown of it</h3>
            <pre class="part-text">{shown.text.slice(0, 20_000)}</pre>
          </section>
        )}
        {seesContents() ? null : <p class="pane-empty">{withheld}</p>}
      </div>
    </>
  );
};
