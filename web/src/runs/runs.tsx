// The runs of the workspace: find one, open it, compare two; and the conversation of the selected one.
import { useEffect, useRef } from 'preact/hooks';
import { formatAddress, go } from '../address.ts';
import { agents, announcement } from '../state.ts';
import { nearest, useKeys } from '../ui/keys.ts';
import { Busy, Button, Empty, Problem, Titles, statusLooks } from '../ui/parts.tsx';
import { useNow } from '../ui/use-now.ts';
import { useNarrow } from '../ui/use-size.ts';
import { VirtualList } from '../ui/virtual-list.tsx';
import { FirstVisit } from '../shell/welcome.tsx';
import {
  filters,
  keepListCurrent,
  listProblem,
  markedRun,
  olderFrom,
  readOlder,
  rows,
  selectedRun,
  setFilters,
} from './run-list-store.ts';
import { describeRow, isFiltered, isUnderWay, noFilters, rowStatus, statesToFind, totalText } from './run-list.ts';
import type { ListedRun } from './run-list.ts';
import { RunLine, runTitles } from './run-line.tsx';
import { RunSide } from './run-side.tsx';

export const Runs = () => {
  useEffect(keepListCurrent, []);
  const find = useRef<HTMLInputElement>(null);
  const shown = rows.value;
  const selected = shown?.find(({ run }) => run === selectedRun.value) ?? shown?.[0];
  const move = (step: number): void => {
    if (shown === null || shown.length === 0) return;
    const at = selected === undefined ? 0 : shown.indexOf(selected);
    const next = nearest(shown, at + step)!;
    selectedRun.value = next.run;
    announcement.value = describeRow(next, statusLooks(rowStatus(next)).words);
  };
  const bindings = {
    ArrowUp: { about: 'run', hint: true, run: () => move(-1) },
    ArrowDown: { about: 'run', hint: true, run: () => move(1) },
    PageUp: { about: 'ten runs', run: () => move(-10) },
    PageDown: { about: 'ten runs', run: () => move(10) },
    Enter: { about: 'open', hint: true, run: () => selected !== undefined && openRun(selected) },
    ' ': { about: 'mark for diff', hint: true, run: () => selected !== undefined && markRun(selected) },
    '/': { about: 'find', hint: true, run: () => find.current?.focus() },
  };
  const isEmpty =
    shown?.length === 0 && olderFrom.value === null && !isFiltered(filters.value) && listProblem.value === null;
  useKeys(bindings, !isEmpty);
  if (isEmpty) return <FirstVisit />;
  return (
    <div class="split runs">
      <div class="split-main runs-main">
        <h1 class="unseen">Runs</h1>
        <Filters find={find} />
        {listProblem.value === null ? null : <Problem error={listProblem.value} />}
        <RunRows shown={shown} selected={selected} />
      </div>
      <aside class="split-side" aria-label="Selected run">
        {selected === undefined ? null : <RunSide key={selected.run} row={selected} />}
      </aside>
    </div>
  );
};

const openRun = ({ run, unreadable }: ListedRun): void => {
  if (unreadable === undefined) go({ page: 'chat', run });
};

/** The second one that is marked opens both side by side. */
const markRun = ({ run }: ListedRun): void => {
  const first = markedRun.value;
  markedRun.value = first === run ? null : first === null ? run : null;
  if (first !== null && first !== run) go({ page: 'chat', run: first, with: run });
  else announcement.value = first === run ? 'No run is marked.' : 'Marked. Mark another run to compare them.';
};

const findAfterMs = 200;

const Filters = ({ find }: { readonly find: { current: HTMLInputElement | null } }) => {
  const { text, state, agent, refused } = filters.value;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const onFind = (value: string): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setFilters({ text: value }), findAfterMs);
  };
  const names = [...new Set([...agents.value.map(({ name }) => name), ...(rows.value ?? []).map((row) => row.agent)])];
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <span class="filters-find">
        <input
          ref={find}
          type="search"
          aria-label="Find a run, agent or text"
          placeholder="Find a run, agent or text"
          defaultValue={text}
          onInput={({ currentTarget }) => onFind(currentTarget.value)}
          onKeyDown={({ key, currentTarget }) => (key === 'Escape' || key === 'Enter') && currentTarget.blur()}
        />
        <kbd aria-hidden="true">/</kbd>
      </span>
      <select
        aria-label="State"
        value={state}
        onChange={({ currentTarget }) => setFilters({ state: currentTarget.value })}
      >
        <option value="">Any state</option>
        {statesToFind.map((one) => (
          <option key={one} value={one}>
            {statusLooks(one).words}
          </option>
        ))}
      </select>
      <select
        aria-label="Agent"
        value={agent}
        onChange={({ currentTarget }) => setFilters({ agent: currentTarget.value })}
      >
        <option value="">Any agent</option>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <button
        type="button"
        class="button small"
        aria-pressed={refused}
        onClick={() => setFilters({ refused: !refused })}
      >
        Refused only
      </button>
      <span class="grow" />
      <span class="muted small filters-total">
        {rows.value === null ? '' : totalText(rows.value, olderFrom.value !== null)}
      </span>
    </form>
  );
};

type RunRowsProps = { readonly shown: readonly ListedRun[] | null; readonly selected: ListedRun | undefined };

const RunRows = ({ shown, selected }: RunRowsProps) => {
  const isNarrow = useNarrow();
  const now = useNow(shown?.some(isUnderWay) === true);
  if (shown === null) return <Busy />;
  const isMore = olderFrom.value !== null;
  if (shown.length === 0) return isMore ? <OlderRuns key={olderFrom.value} /> : <NothingFound />;
  const marked = markedRun.value;
  return (
    <div class="run-rows" role="table" aria-label="Runs, newest first" aria-rowcount={isMore ? -1 : shown.length}>
      {isNarrow ? null : <Titles of="run-line" titles={runTitles} />}
      {marked === null ? null : (
        <p class="notice small">
          <code>{marked.slice(0, 8)}</code> is marked. Mark another run to compare them.
        </p>
      )}
      <VirtualList<ListedRun | null>
        rows={isMore ? [...shown, null] : shown}
        rowHeight={isNarrow ? 83 : 40}
        selected={selected === undefined ? -1 : shown.indexOf(selected)}
        label="Runs"
      >
        {(row, index) =>
          row === null ? (
            <OlderRuns key={olderFrom.value} />
          ) : (
            <RunLine
              key={row.run}
              {...{ row, index, now, isNarrow }}
              isSelected={row === selected}
              isMarked={row.run === marked}
              href={formatAddress({ page: 'chat', run: row.run })}
              onSelect={() => void (selectedRun.value = row.run)}
            />
          )
        }
      </VirtualList>
    </div>
  );
};

/** Drawn when the end of the list comes into sight. */
const OlderRuns = () => {
  useEffect(() => void readOlder(), []);
  return (
    <div class="run-line muted small" role="row">
      <span role="cell">Looking through older runs…</span>
    </div>
  );
};

const NothingFound = () => {
  const { text } = filters.value;
  const isTextOnly = text.trim() !== '' && !isFiltered({ ...filters.value, text: '' });
  return (
    <Empty title={isTextOnly ? `Nothing holds “${text.trim()}”.` : 'No run is like this.'}>
      <p>
        <Button onClick={() => setFilters(noFilters)}>Show all runs</Button>
      </p>
    </Empty>
  );
};
