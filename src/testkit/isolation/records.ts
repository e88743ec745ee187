// The records and events of one cell, without what may differ: ids are replaced by places; times, and totals that include the
// varied cell, are left out.
import type { CellId, Json } from '#base';
import type { DurableEvent, Frame, LedgerEntry, Outcome } from '#contracts';
import { projectEvents } from '#core/events';
import { createObservation } from './observer.ts';
import type { Observation } from './observer.ts';
import type { WatchedRun } from './watched-run.ts';

/** How a cell is related to the varied cell. */
export type RelationToVaried = 'varied' | 'ancestor' | 'unrelated';

type RelationOf = (cell: CellId) => RelationToVaried;

type CellRecords = {
  readonly frames: Frame[];
  readonly ledger: LedgerEntry[];
  readonly events: DurableEvent[];
};

export class Records {
  readonly #cells = new Map<CellId, CellRecords>();
  readonly #run: WatchedRun;
  readonly #cache = new Map<string, readonly Observation[]>();

  constructor(run: WatchedRun) {
    this.#run = run;
    const project = projectEvents();
    for (const frame of run.frames) {
      this.#recordsFor(frame.cell).frames.push(frame);
      for (const { cell, entries } of frame.links ?? []) this.#recordsFor(cell).ledger.push(...entries);
      for (const event of project.next(frame)) this.#recordsFor(event.cell).events.push(event);
    }
  }

  #recordsFor(cell: CellId): CellRecords {
    let records = this.#cells.get(cell);
    if (records === undefined) this.#cells.set(cell, (records = { frames: [], ledger: [], events: [] }));
    return records;
  }

  /** The observations of a cell that is not varied. */
  observationsOf(cell: CellId, near: RelationOf): readonly Observation[] {
    const isAbove = near(cell) === 'ancestor';
    // The observations of an unrelated cell are the same whichever cell varies.
    const key = isAbove ? null : cell;
    const known = key === null ? undefined : this.#cache.get(key);
    if (known !== undefined) return known;
    const { frames, ledger, events } = this.#recordsFor(cell);
    const sights = [
      this.#observation(
        'records',
        frames.map((frame) => this.#record(frame, near, isAbove)),
      ),
      this.#observation(
        'ledger',
        ledger.map((entry) => this.#entry(entry, isAbove)),
      ),
      this.#observation(
        'events',
        events.map((event) => this.#event(event, near)),
      ),
    ];
    if (key !== null) this.#cache.set(key, sights);
    return sights;
  }

  #record({ record, at, attempt }: Frame, near: RelationOf, isAbove: boolean): string {
    switch (record.type) {
      case 'begin': {
        const { op, name, repeat, hold, about, birth, until } = record;
        const child = birth === undefined ? undefined : [this.#run.nameOf(birth.cell), birth.depth];
        const ms = until === undefined ? undefined : until - at;
        // The prompt's origin includes the order in which results arrived.
        const shownAttempt = attempt !== undefined && isAbove ? { ...attempt, changes: [], prompt: '' } : attempt;
        return JSON.stringify([op, 'begin', record.do, name, repeat, hold, about, child, ms, shownAttempt]);
      }
      case 'settle': {
        const { op, ok, halted, ms, value, failure, cost, uncertain, ended } = record;
        const end = ended === undefined ? undefined : visibleOutcome(ended.outcome, near(ended.cell));
        const shown = end !== undefined && isAbove ? undefined : value;
        return JSON.stringify([op, 'settle', ok, halted, ms, shown, failure, cost, uncertain, end]);
      }
      case 'close':
        return JSON.stringify(['close', visibleOutcome(record.outcome, isAbove ? 'ancestor' : 'unrelated')]);
      default:
        return record.type;
    }
  }

  #entry(entry: LedgerEntry, isAbove: boolean): string {
    const other = this.#run.nameOf(entry.other);
    return JSON.stringify({ ...entry, other, at: 0, ...(isAbove ? { seq: 0 } : {}) });
  }

  #event({ id: _id, run: _run, at: _at, cell, ...event }: DurableEvent, near: RelationOf): string {
    switch (event.type) {
      case 'session-start':
        return JSON.stringify({ ...event, parent: event.parent === null ? null : this.#run.nameOf(event.parent) });
      case 'crossing':
      case 'crossing-refused':
        return JSON.stringify({
          ...event,
          from: this.#run.nameOf(event.from),
          to: this.#run.nameOf(event.to),
          agent_id: '',
          recipient_id: '',
        });
      case 'child-start':
        return JSON.stringify({ ...event, childAgent: '', child: this.#run.nameOf(event.child) });
      case 'child-end': {
        const ms = near(event.child) === 'unrelated' ? event.ms : 0;
        return JSON.stringify({ ...event, ms, childAgent: '', child: this.#run.nameOf(event.child) });
      }
      case 'session-end':
        return JSON.stringify(near(cell) === 'unrelated' ? event : { ...event, spent: null });
      default:
        return JSON.stringify(event);
    }
  }

  /** Sorted, because the order depends on timing. */
  #observation(sink: string, event: readonly string[]): Observation {
    return createObservation(sink, event.toSorted().join('\n'));
  }
}

/** The outcome of a varied cell as others see it; otherwise the outcome without totals that include the varied cell. */
export const visibleOutcome = (outcome: Outcome, relation: RelationToVaried): Json => {
  const { spent, failure, ...rest } = outcome;
  if (relation === 'varied') return { ...rest, failure: failure?.code ?? null };
  return { ...rest, failure: failure as Json, ...(relation === 'unrelated' ? { spent: spent as Json } : {}) };
};
