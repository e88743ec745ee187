// A list of which only the rows in sight are drawn: ten thousand rows cost as much as forty.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

type VirtualListProps<T> = {
  readonly rows: readonly T[];
  readonly rowHeight: number;
  /** The row to keep in sight; -1: none. */
  readonly selected?: number;
  readonly label: string;
  /** Of rows of a table, unless said otherwise. */
  readonly role?: 'rowgroup' | 'group';
  /** Stays in sight above the rows. */
  readonly head?: ComponentChildren;
  readonly headHeight?: number;
  /** Gets the row's index, and must have the given height. */
  readonly children: (row: T, index: number) => ComponentChildren;
};

const spareRows = 6;

export const VirtualList = <T,>(props: VirtualListProps<T>) => {
  const { rows, rowHeight, selected = -1, label, role = 'rowgroup', head, headHeight = 0, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  const look = (): void => {
    const element = box.current;
    if (element !== null) setSight({ top: element.scrollTop, height: element.clientHeight });
  };
  useLayoutEffect(look, []);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const watched = new ResizeObserver(look);
    watched.observe(element);
    return () => watched.disconnect();
  }, []);
  useEffect(() => {
    const element = box.current;
    if (element === null || selected < 0) return;
    const [top, bottom] = [selected * rowHeight, (selected + 1) * rowHeight];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom + headHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom + headHeight - element.clientHeight;
  }, [selected]);
  const first = Math.max(0, Math.floor(sight.top / rowHeight) - spareRows);
  const last = Math.min(rows.length, Math.ceil((sight.top + sight.height) / rowHeight) + spareRows);
  return (
    <div class="virtual-list" ref={box} onScroll={look} role={role} aria-label={label} tabIndex={0}>
      {head === undefined ? null : <div class="virtual-head">{head}</div>}
      <div style={{ height: `${rows.length * rowHeight}px` }} role="presentation">
        <div style={{ transform: `translateY(${first * rowHeight}px)` }} role="presentation">
          {rows.slice(first, last).map((row, at) => children(row, first + at))}
        </div>
      </div>
    </div>
  );
};
