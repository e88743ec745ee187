// Pieces that the inspectors and the panes beside them share.
import type { ComponentChildren } from 'preact';
import type { RunStore } from '../run-store.ts';
import { mayAct } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Button, Empty } from '../ui/parts.tsx';
import { goTo, namesIn, pick, seesContents } from './inspected.ts';

type Children = { readonly children?: ComponentChildren };

type HeadProps = Children & { readonly title: string; readonly about?: ComponentChildren; readonly isFirst?: boolean };

/** `isFirst`: the title of the page. */
export const Head = ({ title, about, isFirst, children }: HeadProps) => {
  const Title = isFirst === true ? 'h1' : 'h2';
  return (
    <div class="xray-head">
      <Title>{title}</Title>
      <span class="muted">{about}</span>
      <span class="grow" />
      {children}
    </div>
  );
};

type PartProps = Children & { readonly title: string; readonly end?: ComponentChildren };

export const Section = ({ title, end, children }: PartProps) => (
  <section class="inspector-section" aria-label={title}>
    <div class="line">
      <h3>{title}</h3>
      <span class="at-end small">{end}</span>
    </div>
    {children}
  </section>
);

type RoomProps = Children & { readonly store: RunStore; readonly cell: string; readonly op?: number | undefined };

/** The name of a room; it opens the room, or one of its operations. */
export const RoomButton = ({ store, cell, op, children }: RoomProps) => {
  const name = namesIn(store)(cell);
  return cell === 'outside' ? (
    <strong>{name}</strong>
  ) : (
    <button type="button" class="plain strong" onClick={() => pick({ cell, op })}>
      {children ?? name}
      {op === undefined ? '' : `, operation ${op}`}
    </button>
  );
};

type RowProps = Children & { readonly hue: string; readonly about: string; readonly onClick: () => void };

export const Row = ({ hue, about, onClick, children }: RowProps) => (
  <li>
    <button type="button" class="plain line op-row" onClick={onClick}>
      <span class={`legend hue-${hue}`}>{children}</span>
      <span class="at-end muted">{about}</span>
    </button>
  </li>
);

export const Refused = ({ children }: Children) => <strong class="hue-text hue-stop">{children}</strong>;

export const Withheld = () =>
  seesContents() ? null : (
    <Empty title="Contents are withheld">
      This token does not show contents. What the agents saw, wrote and passed on is withheld.
    </Empty>
  );

/** The way to another course of things. */
const forkHere = (cell: string, op?: number): void => goTo({ xray: undefined, cell, op, with: '' });

export const useForkKey = (cell: string, op?: number): void =>
  useKeys({ f: { about: 'fork here', hint: true, run: () => forkHere(cell, op) } }, mayAct.value);

export const Fork = ({ cell, op }: { readonly cell: string; readonly op?: number }) => {
  useForkKey(cell, op);
  return mayAct.value ? <Button onClick={() => forkHere(cell, op)}>Fork here</Button> : null;
};

type SwitchProps<T> = {
  readonly label: string;
  readonly options: readonly (readonly [T, string])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly class?: string;
};

export const Switch = <T,>({ label, options, value, onChange, class: more = '' }: SwitchProps<T>) => (
  <span class={`switch ${more}`} role="group" aria-label={label}>
    {options.map(([one, words]) => (
      <button key={words} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
        {words}
      </button>
    ))}
  </span>
);

type TableProps = {
  readonly titles: readonly (string | false)[];
  /** The first cell names its row; false: there is no such column. */
  readonly rows: readonly (readonly ComponentChildren[])[];
  readonly selected?: number;
};

export const Table = ({ titles, rows, selected = -1 }: TableProps) => (
  // A wide table is scrolled with the keys too.
  <div class="table-box" tabIndex={0}>
    <table class="figures">
      <thead>
        <tr>{titles.map((title) => title && <th scope="col">{title}</th>)}</tr>
      </thead>
      <tbody>
        {rows.map(([name, ...cells], at) => (
          <tr class={at === selected ? 'is-selected' : ''}>
            <th scope="row">{name}</th>
            {cells.map((cell) => cell !== false && <td>{cell}</td>)}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
