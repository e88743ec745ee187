// One run in the list: a row of columns, or three lines on a phone.
import { count, money } from '#headends/run-view';
import { me } from '../state.ts';
import { Status } from '../ui/parts.tsx';
import { roomsText, rowStatus, startedText, tookText } from './run-list.ts';
import type { ListedRun } from './run-list.ts';

export const runTitles = ['State', 'Agent', 'Goal', 'Rooms', 'Crossings', 'Cost', 'Took', 'Started'];

type RunLineProps = {
  readonly row: ListedRun;
  readonly index: number;
  readonly now: number;
  readonly isNarrow: boolean;
  readonly isSelected: boolean;
  readonly isMarked: boolean;
  readonly href: string;
  readonly onSelect: () => void;
};

export const RunLine = (props: RunLineProps) => {
  const { row, index, isNarrow, isSelected, isMarked, onSelect } = props;
  return (
    <div
      class={`run-line ${isNarrow ? 'is-card' : ''} ${isSelected ? 'is-selected' : ''} ${isMarked ? 'is-marked' : ''}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isSelected}
      onClick={onSelect}
      onDblClick={({ currentTarget }) => currentTarget.querySelector('a')?.click()}
    >
      {isNarrow ? <Card {...props} row={row} /> : <Columns {...props} row={row} />}
    </div>
  );
};

const Columns = ({ row, now, href, isMarked }: RunLineProps) => (
  <>
    <span role="cell">
      <RowStatus row={row} />
    </span>
    <b role="cell" class="cut">
      {row.agent}
    </b>
    <span role="cell" class="line">
      <Goal row={row} href={href} />
      <Tags row={row} isMarked={isMarked} />
    </span>
    <span role="cell">{row.cells === 0 ? '' : count(row.cells)}</span>
    <span role="cell">
      <Crossings row={row} />
    </span>
    <span role="cell">{row.spent === null ? '' : money(row.spent.usd)}</span>
    <span role="cell" class="muted">
      {tookText(row, now)}
    </span>
    <span role="cell" class="muted">
      {startedText(row.startedAt, now)}
    </span>
  </>
);

const Card = ({ row, now, href, isMarked }: RunLineProps) => (
  <>
    <span role="cell" class="line">
      <b>{row.agent}</b> <code class="muted">{row.run.slice(0, 8)}</code>
      <Tags row={row} isMarked={isMarked} />
      <span class="grow" />
      <RowStatus row={row} />
    </span>
    <span role="cell" class="cut">
      <Goal row={row} href={href} />
    </span>
    <span role="cell" class="line small muted">
      {roomsText(row)}
      {row.refused ? <span class="hue-text hue-stop">, {count(row.refused)} refused</span> : null}
      <span class="grow" />
      {row.spent === null ? '' : money(row.spent.usd)} {tookText(row, now)}
    </span>
  </>
);

const RowStatus = ({ row }: { readonly row: ListedRun }) =>
  row.unreadable === undefined ? (
    <Status status={rowStatus(row)} />
  ) : (
    <Status status="interrupted" words="Unreadable" />
  );

/** A run of a newer version cannot be opened. */
const Goal = ({ row, href }: Pick<RunLineProps, 'row' | 'href'>) =>
  row.unreadable === undefined ? (
    <a class="cut" href={href}>
      {row.goal || 'No goal'}
    </a>
  ) : (
    <span class="cut">{row.goal || row.run}</span>
  );

const Tags = ({ row, isMarked }: Pick<RunLineProps, 'row' | 'isMarked'>) => (
  <>
    {row.fork == null ? null : <span class="tag">fork</span>}
    {isMarked ? <span class="tag">marked</span> : null}
    {row.caller == null || row.caller === me.value?.name ? null : <span class="tag wide-only">{row.caller}</span>}
  </>
);

const Crossings = ({ row: { crossings, refused } }: { readonly row: ListedRun }) => {
  if (crossings === undefined) return null;
  return refused ? (
    <>
      {count(crossings)}, <span class="hue-text hue-stop">{count(refused)} refused</span>
    </>
  ) : (
    <>{count(crossings)}</>
  );
};
