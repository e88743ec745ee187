// Agents and tools that a turn called, as rows. An agent's row opens: its own words, and what it called.
import { useState } from 'preact/hooks';
import { activityText, cellName, formatBytes, formatDuration, plural } from '#headends/run-view';
import type { CellView, ToolCallView } from '#headends/run-view';
import { address, select } from '../address.ts';
import { AnswerText } from '../markdown/answer-text.tsx';
import type { RunStore } from '../run-store.ts';
import { mayAct } from '../state.ts';
import { useClock } from '../ui/clock.ts';
import { StatusMark } from '../ui/parts.tsx';
import { seesContents, useRecordedText } from './recorded-text.ts';
import { itemKey, turnItems } from './turn-items.ts';
import type { TurnItem, TurnRow } from './turn-items.ts';
import { toolLabel, workedTime } from './words.ts';

type InRun = { readonly store: RunStore };

/** A turn may call thousands of tools: the newest are shown, and earlier ones on a click. */
const shownAtOnce = 100;

export const Rows = ({ store, rows }: InRun & { readonly rows: readonly TurnRow[] }) => {
  const [shown, setShown] = useState(shownAtOnce);
  const earlier = Math.max(0, rows.length - shown);
  return (
    <ul class="chat-rows">
      {earlier === 0 ? null : (
        <li key="earlier">
          <button type="button" class="chat-row muted" onClick={() => setShown(shown * 2)}>
            {plural(earlier, 'earlier call')}
          </button>
        </li>
      )}
      {rows.slice(earlier).map((row) => (
        <li key={row.op}>
          {row.type === 'tool' ? (
            <ToolRow store={store} call={row.call} />
          ) : (
            <AgentRow store={store} cell={row.cell} agent={row.agent} />
          )}
        </li>
      ))}
    </ul>
  );
};

/** The view is changed in place, so whoever shows a part of it reads its version too. */
const ToolRow = ({ store, call }: InRun & { readonly call: ToolCallView }) => {
  void store.version.value;
  const { tool, args, ok, ms, bytesOut, error } = call;
  return (
    <div class="chat-row is-tool" title={args}>
      <span
        class={`mark ${ok === false ? 'mark-failed' : ok === null ? 'mark-live' : 'mark-tool'}`}
        aria-hidden="true"
      />
      <strong>{toolLabel(tool)}</strong>
      <span class={`chat-row-about ${ok === false ? 'is-stop' : ''}`}>{error?.summary ?? args}</span>
      <span class="chat-row-time">{ok === null ? 'working' : ok ? formatBytes(bytesOut) : formatDuration(ms)}</span>
    </div>
  );
};

type AgentRowProps = InRun & { readonly cell: CellView['cell']; readonly agent: string };

const AgentRow = ({ store, cell: id, agent }: AgentRowProps) => {
  void store.version.value;
  const [isOpen, setOpen] = useState(false);
  const cell = store.view.cells.get(id);
  const isWaiting = cell !== undefined && cell.status === null && cell.wait.since !== null;
  const now = useClock(cell !== undefined && cell.status === null && !isWaiting);
  const toggle = (): void => {
    setOpen(!isOpen);
    if (!isOpen) select({ cell: id, op: undefined, crossing: undefined, part: undefined, find: undefined });
  };
  return (
    <>
      <button
        type="button"
        class={`chat-row ${address.value.cell === id ? 'is-selected' : ''}`}
        aria-expanded={isOpen}
        onClick={toggle}
      >
        <StatusMark status={cell?.status ?? (isWaiting ? 'waiting' : cell?.idle === true ? 'idle' : 'running')} />
        <strong>{cellName(store.view, agent, agent, id)}</strong>
        {rowAbout(cell, isWaiting)}
        <span class="chat-row-time">
          {isWaiting
            ? 'clock stopped'
            : cell === undefined
              ? ''
              : cell.idle && cell.status === null
                ? ''
                : workedTime(cell, now)}
        </span>
      </button>
      {isOpen && cell !== undefined ? <CellWords store={store} cell={cell} /> : null}
    </>
  );
};

const rowAbout = (cell: CellView | undefined, isWaiting: boolean) => {
  if (cell === undefined) return <span class="chat-row-about" />;
  const { status, failure, goal } = cell;
  if (isWaiting)
    return <span class="chat-row-about is-waiting">{mayAct.value ? 'waits for you' : 'waits for a person'}</span>;
  if (status !== null && status !== 'completed')
    return <span class={`chat-row-about ${status === 'cancelled' ? '' : 'is-stop'}`}>{failure ?? status}</span>;
  const isAtTool = [...cell.activities.values()].some(({ type }) => type !== 'model');
  const words = status === null && (isAtTool || cell.idle || goal === '') ? activityText(cell) : goal;
  return <span class="chat-row-about">{words.replace('tool ', '').replace('__', '/')}</span>;
};

/** What an agent below the root wrote and called. */
const CellWords = ({ store, cell }: InRun & { readonly cell: CellView }) => {
  void store.version.value;
  const items = turnItems(store.view, cell, useRecordedText(store, cell).recorded);
  return (
    <div class="chat-inner">
      {cell.goal === '' ? null : <p class="chat-inner-goal">{cell.goal}</p>}
      {items.map((item) => (
        <InnerItem key={itemKey(item)} store={store} item={item} />
      ))}
      {seesContents() ? null : <p class="muted">This token shows answers only, not what agents wrote below.</p>}
      {items.length === 0 && seesContents() ? (
        <p class="muted">{cell.status === null ? 'Nothing written yet.' : 'It wrote nothing.'}</p>
      ) : null}
    </div>
  );
};

const InnerItem = ({ store, item }: InRun & { readonly item: TurnItem }) => {
  if (item.type === 'rows') return <Rows store={store} rows={item.rows} />;
  return item.type === 'text' ? <SaidText item={item} /> : null;
};

/** `format`: undefined if nobody knows it. */
export const SaidText = ({
  item: { text, isLive, isCut },
  format,
}: {
  readonly item: TurnItem & { type: 'text' };
  readonly format?: 'text' | 'markdown' | 'json' | undefined;
}) => (
  <div class={`chat-text ${isLive ? 'is-live' : ''}`}>
    <AnswerText text={isCut ? `… ${text}` : text} format={format} isLive={isLive} />
  </div>
);
