// How long a cell waited for people while nothing in it or below it worked: worked out from the log, without code of the runtime.
import type { CellId } from '#base';
import type { RunHistory } from '../history.ts';
import { runFacts } from './facts.ts';
import type { Begin, CellFacts } from './facts.ts';

type Span = { readonly from: number; readonly to: number };

const known = new WeakMap<RunHistory, ReadonlyMap<CellId, readonly Span[]>>();

/** Up to a frame, that one included. */
export const askedMs = ({ run, birth }: CellFacts, until: number): number => {
  let spans = known.get(run);
  if (spans === undefined) known.set(run, (spans = findSpans(run)));
  const timeOf = (no: number): number => run.frames[Math.min(no, run.frames.length - 1)]?.at ?? 0;
  return (spans.get(birth.cell) ?? []).reduce(
    (sum, { from, to }) => sum + Math.max(0, timeOf(Math.min(to, until)) - timeOf(from)),
    0,
  );
};

/** Between each two frames, which cells wait for people and do nothing else. */
const findSpans = (run: RunHistory): ReadonlyMap<CellId, readonly Span[]> => {
  const { operations } = runFacts(run);
  const spans = new Map<CellId, Span[]>();
  const asks = [...operations.values()].filter(({ begin }) => begin.do === 'ask');
  if (asks.length === 0) return spans;
  const working = [...operations.values()].filter(({ begin }) => isWork(begin));
  run.frames.forEach((_, no) => {
    const inFlight = (all: typeof asks): readonly CellFacts[] =>
      all.filter(({ beganIn, settledIn }) => beganIn <= no && no < settledIn).map(({ cell }) => cell);
    const asking = inFlight(asks);
    if (asking.length === 0) return;
    const busy = new Set(inFlight(working).flatMap(lineOf));
    for (const cell of new Set(asking.flatMap(lineOf)))
      if (!busy.has(cell))
        spans.set(cell.birth.cell, [...(spans.get(cell.birth.cell) ?? []), { from: no, to: no + 1 }]);
  });
  return spans;
};

/** Its own steps, and the pauses between attempts. A time-out only watches others. */
const isWork = ({ do: kind, about }: Begin): boolean =>
  kind === 'step' || (kind === 'sleep' && about?.['why'] !== 'time-out');

/** The cell and those above it. */
export const lineOf = (cell: CellFacts): readonly CellFacts[] =>
  cell.parent === null ? [cell] : [cell, ...lineOf(cell.parent)];
