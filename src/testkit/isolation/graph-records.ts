// The records and events of each cell of a team, without what may differ: ids are replaced by places, times are left out.
import type { CellId } from '#base';
import type { DurableEvent, Frame, LedgerEntry, Outcome } from '#contracts';
import { projectEvents } from '#core/events';
import { createObservation } from './observer.ts';
import type { Observation } from './observer.ts';
import type { GraphRun } from './graph-run.ts';

type CellTexts = { readonly records: string[]; readonly ledger: string[]; readonly events: string[] };

/** By cell, for the wanted cells. */
export const collectRecords = (
  run: GraphRun,
  wanted: ReadonlySet<CellId>,
): ReadonlyMap<CellId, readonly Observation[]> => {
  const cells = new Map<CellId, CellTexts>();
  const textsOf = (cell: CellId): CellTexts => {
    let texts = cells.get(cell);
    if (texts === undefined) cells.set(cell, (texts = { records: [], ledger: [], events: [] }));
    return texts;
  };
  const nameOf = (cell: string): string => run.nameOf(cell);
  const project = projectEvents();
  for (const frame of run.frames) {
    const { record } = frame;
    if (wanted.has(frame.cell)) textsOf(frame.cell).records.push(recordText(frame, nameOf));
    if (record.type === 'settle' && record.ended !== undefined && wanted.has(record.ended.cell))
      textsOf(record.ended.cell).records.push(JSON.stringify(comparableOutcome(record.ended.outcome)));
    for (const { cell, entries } of frame.links ?? [])
      if (wanted.has(cell))
        textsOf(cell).ledger.push(...entries.filter(isOwn).map((entry) => entryText(entry, nameOf)));
    for (const event of project.next(frame))
      if (wanted.has(event.cell) && !isRefusedHere(event)) textsOf(event.cell).events.push(eventText(event, nameOf));
  }
  return new Map(
    [...cells].map(([cell, texts]) => [
      cell,
      (['records', 'ledger', 'events'] as const).map((sink) =>
        createObservation(sink, texts[sink].toSorted().join('\n')),
      ),
    ]),
  );
};

type NameOf = (cell: string) => string;

const recordText = ({ record, attempt }: Frame, nameOf: NameOf): string => {
  switch (record.type) {
    case 'begin': {
      const { op, name, repeat, hold, about, birth } = record;
      const child = birth === undefined ? undefined : [nameOf(birth.cell), birth.depth, birth.task];
      return JSON.stringify([op, 'begin', record.do, name, repeat, hold, about, child, attempt]);
    }
    case 'settle': {
      const { op, ok, value, failure, cost, uncertain, halted } = record;
      return JSON.stringify([op, 'settle', ok, value, failure, cost, uncertain, halted?.failure]);
    }
    case 'post': {
      const { op, name, about, ok, value, failure } = record;
      return JSON.stringify([op, 'post', name, about, ok, value, failure]);
    }
    default:
      return record.type;
  }
};

/** A refused incoming crossing is in the cell's ledger, but the cell does not see it. */
const isOwn = ({ way, verdict }: LedgerEntry): boolean => way === 'out' || verdict === 'granted';

const isRefusedHere = (event: DurableEvent): boolean => event.type === 'crossing-refused' && event.to === event.cell;

const entryText = (entry: LedgerEntry, nameOf: NameOf): string =>
  JSON.stringify({ ...entry, other: nameOf(entry.other), at: 0, seq: 0 });

/** The outcome without the time it took. */
export const comparableOutcome = ({ spent, ...outcome }: Outcome): Outcome => ({
  ...outcome,
  spent: { ...spent, ms: 0 },
});

const eventText = (event: DurableEvent, nameOf: NameOf): string => {
  const { id: _id, run: _run, at: _at, ...texts } = event;
  const shown: Record<string, unknown> = { ...texts };
  for (const key of cellKeys) if (typeof shown[key] === 'string') shown[key] = nameOf(shown[key]);
  if ('ms' in shown) shown['ms'] = 0;
  if ('spent' in texts) shown['spent'] = { ...texts.spent, ms: 0 };
  return JSON.stringify(shown);
};

const cellKeys = ['cell', 'parent', 'from', 'to', 'child'];
