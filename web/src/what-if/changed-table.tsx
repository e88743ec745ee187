// The table of what differs, with the words marked that only one side has.
import { useEffect } from 'preact/hooks';
import { Status } from '../ui/parts.tsx';
import { diffWords } from './diff-words.ts';
import type { DiffPiece } from './diff-words.ts';
import type { ChangedRow } from './what-changed.ts';

type Props = {
  readonly rows: readonly ChangedRow[];
  readonly titles: readonly [string, string];
  readonly selected: number;
  readonly onSelect: (index: number) => void;
};

export const ChangedTable = ({ rows, titles, selected, onSelect }: Props) => {
  useEffect(() => document.getElementById(`changed-${selected}`)?.scrollIntoView({ block: 'nearest' }), [selected]);
  return (
    <div class="inspector-scroll" tabIndex={0}>
      <table class="changed-table">
        <thead>
          <tr>
            <th scope="col">Room</th>
            <th scope="col">
              <span class="unseen">What</span>
            </th>
            <th scope="col">{titles[0]}</th>
            <th scope="col">{titles[1]}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr
              key={`${row.room} ${row.what} ${index}`}
              id={`changed-${index}`}
              class={index === selected ? 'is-selected' : ''}
              onClick={() => onSelect(index)}
            >
              <th scope="row" class={rows[index - 1]?.room === row.room ? 'is-repeated' : ''}>
                {row.room}
              </th>
              <td class="muted">{row.what}</td>
              <Cells row={row} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

const Cells = ({ row }: { readonly row: ChangedRow }) => {
  const { type, one, other } = row;
  if (type === 'same')
    return (
      <td colSpan={2} class="muted">
        {one}
      </td>
    );
  if (type === 'ending')
    return (
      <>
        <td>
          <Status status={one} />
        </td>
        <td>
          <Status status={other} />
        </td>
      </>
    );
  if (type === 'answer') {
    const [left, right] = diffWords(one, other);
    return (
      <>
        <td>
          <Pieces pieces={left} isOld />
        </td>
        <td>
          <Pieces pieces={right} />
        </td>
      </>
    );
  }
  return (
    <>
      <td>
        <Words type={type} text={one} />
      </td>
      <td>
        <Words type={type} text={other} />
      </td>
    </>
  );
};

const Words = ({ type, text }: { readonly type: ChangedRow['type']; readonly text: string }) => {
  if (type !== 'crossing' || text === 'none') return <>{text === '' ? <span class="muted">not there</span> : text}</>;
  return <span class={`legend hue-${text.includes('refused') ? 'stop' : 'result'}`}>{text}</span>;
};

const contextChars = 28;

/** Of what both have, only what stands beside a difference. */
const shorten = (text: string, isFirst: boolean, isLast: boolean): string => {
  if (text.length <= contextChars * 2 + 3) return text;
  const [before, after] = [text.slice(0, contextChars), text.slice(-contextChars)];
  return `${isFirst ? '' : before.replace(/\S*$/u, '')}… ${isLast ? '' : after.replace(/^\S*\s/u, '')}`;
};

const Pieces = ({ pieces, isOld }: { readonly pieces: readonly DiffPiece[]; readonly isOld?: boolean }) => (
  <div class="diff-text">
    {pieces.length === 0 ? <span class="muted">empty</span> : null}
    {pieces.map(({ text, changed }, at) => {
      if (!changed) return shorten(text, at === 0, at === pieces.length - 1);
      return isOld === true ? <del>{text}</del> : <ins>{text}</ins>;
    })}
  </div>
);
