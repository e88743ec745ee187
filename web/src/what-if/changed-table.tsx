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
            {['Room', <span class="unseen">What</span>, ...titles].map((title) => (
              <th scope="col">{title}</th>
            ))}
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
              {row.type === 'same' ? (
                <td colSpan={2} class="muted">
                  {row.one}
                </td>
              ) : (
                cellsOf(row).map((cell) => <td>{cell}</td>)
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

const cellsOf = ({ type, one, other }: ChangedRow) => {
  if (type === 'answer') {
    const [left, right] = diffWords(one, other);
    return [<Pieces pieces={left} Changed="del" />, <Pieces pieces={right} Changed="ins" />];
  }
  return [one, other].map((text) => {
    if (text === '') return <span class="muted">not there</span>;
    if (type === 'ending') return <Status status={text} />;
    if (type !== 'crossing' || text === 'none') return text;
    return <span class={`legend hue-${text.includes('refused') ? 'stop' : 'result'}`}>{text}</span>;
  });
};

const contextChars = 28;

/** Of what both have, only what stands beside a difference. */
const shorten = (text: string, isFirst: boolean, isLast: boolean): string => {
  if (text.length <= contextChars * 2 + 3) return text;
  const [before, after] = [text.slice(0, contextChars), text.slice(-contextChars)];
  return `${isFirst ? '' : before.replace(/\S*$/u, '')}… ${isLast ? '' : after.replace(/^\S*\s/u, '')}`;
};

const Pieces = ({ pieces, Changed }: { readonly pieces: readonly DiffPiece[]; readonly Changed: 'ins' | 'del' }) => (
  <div class="diff-text is-clamped">
    {pieces.length === 0 ? <span class="muted">empty</span> : null}
    {pieces.map(({ text, changed }, at) =>
      changed ? <Changed>{text}</Changed> : shorten(text, at === 0, at === pieces.length - 1),
    )}
  </div>
);
