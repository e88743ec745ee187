// Two runs side by side: as it was, and with something changed.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { RunDiff } from '#contracts';
import { formatBytes, money } from '#headends/run-view';
import type { CrossingView } from '#headends/run-view';
import { address, go } from '../address.ts';
import { openRunStore } from '../run-store.ts';
import type { RunStore } from '../run-store.ts';
import { mayAct, run, source } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Button, CopyButton, Empty, Problem, Status } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { cellOf, namesIn, pick, rootOf } from '../xray/inspected.ts';
import { Head, Switch } from '../xray/pieces.tsx';
import { ChangeForm } from './change-form.tsx';
import { ChangedTable } from './changed-table.tsx';
import { SideRooms } from './side-rooms.tsx';
import { amendmentWords, changedRows, changedSentence, forkCommand } from './what-changed.ts';
import type { KnownSides } from './what-changed.ts';

export const WhatIf = () => {
  const one = run.value;
  const other = useOtherRun(address.value.with ?? '');
  const close = (): void => go({ ...address.value, with: undefined });
  useKeys({ Escape: { about: 'back', hint: true, run: close } });
  if (one === null) return null;
  return <Comparison one={one} other={other} onClose={close} />;
};

/** The second run, kept up to date while it is shown; null: none is chosen yet. */
const useOtherRun = (id: string): RunStore | null => {
  const store = useMemo(() => (id === '' ? null : openRunStore(source.value, id)), [id]);
  useEffect(() => () => store?.close(), [store]);
  return store;
};

const sides = ['one', 'other'] as const;

type Sides = { readonly one: RunStore; readonly other: RunStore | null };

const Comparison = ({ one, other, onClose }: Sides & { readonly onClose: () => void }) => {
  void one.version.value;
  void other?.version.value;
  const [side, setSide] = useState<'one' | 'other'>(other === null ? 'one' : 'other');
  const hasEnded = one.state.value === 'ended' && other?.state.value === 'ended';
  const { value: diff, error } = useLoaded(
    async () =>
      other === null || !hasEnded
        ? null
        : source.value.get<RunDiff>(`/runs/${encodeURIComponent(one.run)}/diff`, { with: other.run }),
    [one.run, other?.run, hasEnded],
  );
  const words = wordsOf(diff, one, other);
  return (
    <div class={`what-if shows-${side}`}>
      <div class="what-if-head">
        <h1>What if</h1>
        <span>
          {words.question} <strong>{words.strong}</strong>?
        </span>
        <span class="grow" />
        <Button onClick={onClose}>
          <kbd>Esc</kbd> Back
        </Button>
      </div>
      {mayAct.value ? <ChangeForm store={one} /> : null}
      <Switch
        class="side-switch"
        label="Side"
        options={sides.map((of) => [of, words[of]])}
        value={side}
        onChange={setSide}
      />
      <TwoSides one={one} other={other} diff={diff} words={words} keys={side} onEnter={setSide} />
      {error === null ? null : <Problem error={error} />}
      {other === null ? null : diff === null ? (
        <section class="changed">
          <p class="pane-empty" role="status">
            {hasEnded ? 'Comparing…' : 'What changed is shown when both have ended.'}
          </p>
        </section>
      ) : (
        <Changed one={one} other={other} diff={diff} titles={[words.one, words.other]} />
      )}
    </div>
  );
};

type TwoSidesProps = Sides & {
  readonly diff: RunDiff | null;
  readonly words: Readonly<Record<'one' | 'other', string>>;
  /** The side whose rooms take the keys: Tab goes from one to the other. */
  readonly keys: 'one' | 'other';
  readonly onEnter: (side: 'one' | 'other') => void;
};

const TwoSides = ({ one, other, diff, words, keys, onEnter }: TwoSidesProps) => {
  const dimmed = useMemo(() => ({ one: sameCells(diff, 'one'), other: sameCells(diff, 'other') }), [diff]);
  const { cell } = address.value;
  const pair = (from: 'one' | 'other', to: 'one' | 'other', wanted: string | undefined): string | undefined =>
    diff === null ? wanted : diff.cells.find((place) => place[from]?.cell === wanted)?.[to]?.cell;
  return (
    <div class="sides">
      <Side of="one" store={one} words={words.one} onEnter={onEnter}>
        <SideRooms
          store={one}
          dimmed={dimmed.one}
          cell={cell}
          nameCell={(wanted) => wanted}
          hasKeys={keys === 'one' || other === null}
          label={`Rooms, ${words.one}`}
        />
      </Side>
      {other === null ? (
        <section class="side side-other">
          <Empty title="Nothing beside it yet">Choose a change above, then run it again from there.</Empty>
        </section>
      ) : (
        <Side of="other" store={other} words={words.other} onEnter={onEnter}>
          <SideRooms
            store={other}
            dimmed={dimmed.other}
            cell={pair('one', 'other', cell)}
            nameCell={(wanted) => pair('other', 'one', wanted)}
            hasKeys={keys === 'other'}
            label={`Rooms, ${words.other}`}
          />
        </Side>
      )}
    </div>
  );
};

const sameCells = (diff: RunDiff | null, of: 'one' | 'other'): ReadonlySet<string> =>
  new Set(diff?.cells.flatMap((cell) => (cell.same ? (cell[of]?.cell ?? []) : [])));

/** The question, and a name for each side. Which of the two is the fork is in the record. */
const wordsOf = (diff: RunDiff | null, one: RunStore, other: RunStore | null) => {
  const recorded = other?.view.fork ?? null;
  const amendment = diff?.fork?.amendment ?? recorded?.amendment ?? null;
  const isFirst = diff?.fork?.run === one.run;
  if (other === null) {
    const agent = (cellOf(one, address.value.cell) ?? rootOf(one))?.agent ?? '';
    return { question: 'something had been different in', strong: agent, one: 'as it was', other: 'changed' };
  }
  const [budget, before] = (isFirst ? [one, other] : [other, one]).map(({ facts }) => facts.value?.budget ?? null);
  const { question, strong, side } = amendmentWords(
    amendment,
    JSON.stringify(budget) === JSON.stringify(before) ? null : budget,
  );
  return { question, strong, one: isFirst ? side : 'as it was', other: isFirst ? 'as it was' : side };
};

type SideProps = {
  readonly of: 'one' | 'other';
  readonly store: RunStore;
  readonly words: string;
  readonly onEnter: (side: 'one' | 'other') => void;
  readonly children: ComponentChildren;
};

const Side = ({ of, store, words, onEnter, children }: SideProps) => {
  void store.version.value;
  const facts = store.facts.value;
  const { problem, state } = store;
  return (
    <section
      class={`side side-${of}`}
      onFocusCapture={() => onEnter(of)}
      aria-label={`${store.run.slice(0, 8)}, ${words}`}
    >
      <Head title={words} about={<code>{store.run.slice(0, 8)}</code>}>
        <Status status={rootOf(store)?.status ?? facts?.status ?? 'running'} />
        <span class="muted">{facts && money(facts.spent.usd)}</span>
      </Head>
      {problem.value !== null && state.value === 'lost' ? <Problem error={problem.value} /> : null}
      {children}
    </section>
  );
};

type ChangedProps = {
  readonly one: RunStore;
  readonly other: RunStore;
  readonly diff: RunDiff;
  readonly titles: readonly [string, string];
};

const Changed = ({ one, other, diff, titles }: ChangedProps) => {
  const rows = useMemo(() => changedRows(diff, knownOf({ one, other })), [diff]);
  const [at, setAt] = useState(-1);
  const choose = (index: number): void => {
    setAt(index);
    const cell = rows[index]?.cells[0];
    if (cell != null) pick({ cell });
  };
  const next = (): void => {
    const differing = rows.filter(({ type }) => type !== 'same').length;
    if (differing > 0) choose((at + 1) % differing);
  };
  useKeys({ n: { about: 'next difference', hint: true, run: next } });
  const { fork } = diff;
  return (
    <section class="changed" aria-label="What changed">
      <Head title="What changed" about={changedSentence(diff)}>
        {fork && (
          <CopyButton
            label="Copy the command"
            text={() => forkCommand(fork.from.run, { at: fork.from.at, ...fork.amendment, budget: fork.budget })}
          />
        )}
      </Head>
      <ChangedTable
        rows={rows}
        titles={[`${one.run.slice(0, 8)}, ${titles[0]}`, `${other.run.slice(0, 8)}, ${titles[1]}`]}
        selected={at}
        onSelect={choose}
      />
    </section>
  );
};

const knownOf = (stores: { readonly one: RunStore; readonly other: RunStore }): KnownSides => ({
  goal: (side, cell) => cellOf(stores[side], cell)?.goal ?? '',
  granted: (side, cell, name) => {
    const { view } = stores[side];
    const names = namesIn(stores[side]);
    const matches = ({ from, to, kind, refused }: CrossingView): boolean =>
      refused === null &&
      ((from === cell && `${kind} to ${names(to)}` === name) ||
        (to === cell && `${kind} from ${names(from)}` === name));
    const found = view.crossings.find(matches);
    return found === undefined ? null : `${formatBytes(found.bytes)}, grant ${found.grant}`;
  },
});
