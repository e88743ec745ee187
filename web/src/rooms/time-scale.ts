// From times to pixels: linear in the time in which something was done, with a column for each crossing and a piece for each idle time.
import type { CellView } from '#headends/run-view';
import { countBefore } from './search.ts';

export type Interval = { readonly from: number; readonly to: number };

export const idleMs = 1_500;

type Worker = { readonly cell: CellView };

/** Times over 1.5 s in which no request and no tool call was in flight anywhere, cut at crossings. */
export const findIdles = (
  rooms: readonly Worker[],
  rankTimes: readonly number[],
  startedAt: number,
  endsAt: number,
): readonly Interval[] => {
  const work: Interval[] = rankTimes.map((at) => ({ from: at, to: at }));
  for (const { cell } of rooms)
    for (const operations of [cell.requests, cell.calls])
      for (const one of operations)
        work.push({ from: one.startedAt, to: one.endedAt ?? (cell.endedAt === null ? endsAt : one.startedAt) });
  work.sort((a, b) => a.from - b.from);
  const idles: Interval[] = [];
  let until = startedAt;
  for (const { from, to } of [...work, { from: endsAt, to: endsAt }]) {
    if (from - until > idleMs) idles.push({ from: until, to: from });
    until = Math.max(until, to);
  }
  return idles;
};

export type TimeScale = {
  readonly width: number;
  /** The width of one column. */
  readonly column: number;
  /** The sides of each gap between columns: gap g is before stop g. */
  readonly gapLeft: Float64Array;
  readonly gapRight: Float64Array;
  /** Pixels for a millisecond of work. */
  readonly perMs: number;
  readonly idles: readonly { readonly left: number; readonly right: number; readonly ms: number }[];
  /** The x of a time: right of everything that crossed then. `gap`: in this one. */
  x(at: number, gap?: number): number;
};

export type TimeScaleInput = {
  /** When each stop is, and whether it needs a column. */
  readonly times: Float64Array;
  readonly hasColumn: Uint8Array;
  /** Gaps in which a whole room stands, which needs some width even if it took no time. */
  readonly tightGaps: ReadonlySet<number>;
  readonly idles: readonly Interval[];
  readonly startedAt: number;
  readonly endsAt: number;
  readonly width: number;
  readonly margin: number;
  readonly column: number;
  /** The width of an idle piece, and of the last one if a person is asked: it holds the question. */
  readonly idle: number;
  readonly lastIdle: number;
};

/** Less than a millisecond, and enough to change a time since 1970. */
const moment = 0.01;
const fixedShare = 0.62;
const tightRoom = 34;

export const scaleTime = (input: TimeScaleInput): TimeScale => {
  const { times, hasColumn, tightGaps, idles, startedAt, endsAt, width, margin } = input;
  const columns = hasColumn.reduce((sum, one) => sum + one, 0);
  const idleMsAll = idles.reduce((sum, { from, to }) => sum + to - from, 0);
  const isLastIdle = idles.at(-1)?.to === endsAt;
  const idleWidths = idles.length * input.idle + (isLastIdle ? input.lastIdle - input.idle : 0);
  const fixed = columns * input.column + idleWidths + tightGaps.size * tightRoom;
  const room = width - 2 * margin;
  const shrink = Math.min(1, (room * fixedShare) / Math.max(1, fixed));
  const [column, idle, tight] = [input.column * shrink, input.idle * shrink, tightRoom * shrink];
  const workMs = endsAt - startedAt - idleMsAll;
  const perMs = workMs > 0 ? (room - fixed * shrink) / workMs : 0;
  const lastIdle = input.lastIdle * shrink;

  const starts = Float64Array.from(idles, ({ from }) => from);
  const before = new Float64Array(idles.length + 1);
  idles.forEach(({ from, to }, at) => (before[at + 1] = before[at]! + to - from));
  /** Pixels of time since the start. */
  const timeWidth = (at: number): number => {
    const t = Math.min(Math.max(at, startedAt), endsAt);
    const count = countBefore(starts, t);
    const current = idles[count - 1];
    const full = (t - startedAt - before[count]!) * perMs + count * idle;
    if (current === undefined) return full;
    const piece = isLastIdle && count === idles.length ? lastIdle : idle;
    if (t >= current.to) return full + piece - idle;
    const part = (t - current.from) / (current.to - current.from);
    return (current.from - startedAt - before[count - 1]!) * perMs + (count - 1) * idle + part * piece;
  };

  const gaps = times.length + 1;
  const gapLeft = new Float64Array(gaps);
  const gapRight = new Float64Array(gaps);
  let x = margin;
  for (let gap = 0; gap < gaps; gap++) {
    gapLeft[gap] = x;
    const [from, to] = [gap === 0 ? startedAt : times[gap - 1]!, gap === gaps - 1 ? endsAt : times[gap]!];
    x += Math.max(0, timeWidth(to) - timeWidth(from)) + (tightGaps.has(gap) ? tight : 0);
    gapRight[gap] = x;
    x += gap < gaps - 1 ? hasColumn[gap]! * column : 0;
  }
  const xAt = (at: number, gap = countBefore(times, at + moment)): number => {
    const from = gap === 0 ? startedAt : times[gap - 1]!;
    const to = gap === gaps - 1 ? endsAt : times[gap]!;
    const [left, right] = [gapLeft[gap]!, gapRight[gap]!];
    const all = timeWidth(to) - timeWidth(from);
    if (all <= 0) return at > from ? right : left;
    return left + (right - left) * Math.min(1, Math.max(0, (timeWidth(at) - timeWidth(from)) / all));
  };
  const shownIdles = idles.map(({ from, to }) => {
    const gap = countBefore(times, from + moment);
    return { left: xAt(from, gap), right: xAt(to, gap), ms: to - from };
  });
  return { width: x + margin, column, gapLeft, gapRight, perMs, idles: shownIdles, x: xAt };
};
