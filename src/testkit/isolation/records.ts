// What the log and its clients tell of one cell, without what may differ: ids by their place, no times, no sums that take in
// the cell that keeps something to itself.
import type { CellId, Json } from '#base';
import type { DurableEvent, Frame, LedgerEntry, Outcome } from '#contracts';
import { projectEvents } from '#core/audit';
import { createObservation } from './observer.ts';
import type { Observation } from './observer.ts';
import type { WatchedRun } from './watched-run.ts';

/** How near a cell is to the one that keeps something to itself. */
export type Nearness = 'itself' | 'above' | 'apart';

type Near = (cell: CellId) => Nearness;

type CellRecords = {
  readonly frames: Frame[];
  readonly ledger: LedgerEntry[];
  readonly events: DurableEvent[];
};

export class Records {
  readonly #cells = new Map<CellId, CellRecords>();
  readonly #run: WatchedRun;
  readonly #known = new Map<string, readonly Observation[]>();

  constructor(run: WatchedRun) {
    this.#run = run;
    const project = projectEvents();
    for (const frame of run.frames) {
      this.#of(frame.cell).frames.push(frame);
      for (const { cell, entries } of frame.links ?? []) this.#of(cell).ledger.push(...entries);
      for (const event of project.next(frame)) this.#of(event.cell).events.push(event);
    }
  }

  #of(cell: CellId): CellRecords {
    let records = this.#cells.get(cell);
    if (records === undefined) this.#cells.set(cell, (records = { frames: [], ledger: [], events: [] }));
    return records;
  }

  /** Of a cell that keeps nothing to itself. */
  sightsOf(cell: CellId, near: Near): readonly Observation[] {
    const isAbove = near(cell) === 'above';
    // What is apart is told in the same way, whoever it is that keeps something.
    const key = isAbove ? null : cell;
    const known = key === null ? undefined : this.#known.get(key);
    if (known !== undefined) return known;
    const { frames, ledger, events } = this.#of(cell);
    const sights = [
      this.#sight(
        'records',
        frames.map((frame) => this.#record(frame, near, isAbove)),
      ),
      this.#sight(
        'ledger',
        ledger.map((entry) => this.#entry(entry, isAbove)),
      ),
      this.#sight(
        'events',
        events.map((event) => this.#event(event, near)),
      ),
    ];
    if (key !== null) this.#known.set(key, sights);
    return sights;
  }

  #record({ record, at, attempt }: Frame, near: Near, isAbove: boolean): string {
    switch (record.type) {
      case 'begin': {
        const { op, name, repeat, hold, about, birth, until } = record;
        const child = birth === undefined ? undefined : [this.#run.nameOf(birth.cell), birth.depth];
        const ms = until === undefined ? undefined : until - at;
        // The order in which results came is part of what the prompt is made of.
        const asked = attempt !== undefined && isAbove ? { ...attempt, changes: [], prompt: '' } : attempt;
        return JSON.stringify([op, 'begin', record.do, name, repeat, hold, about, child, ms, asked]);
      }
      case 'settle': {
        const { op, ok, halted, ms, value, failure, cost, uncertain, ended } = record;
        const end = ended === undefined ? undefined : crossedOutcome(ended.outcome, near(ended.cell));
        const shown = end !== undefined && isAbove ? undefined : value;
        return JSON.stringify([op, 'settle', ok, halted, ms, shown, failure, cost, uncertain, end]);
      }
      case 'close':
        return JSON.stringify(['close', crossedOutcome(record.outcome, isAbove ? 'above' : 'apart')]);
      default:
        return record.type;
    }
  }

  #entry(entry: LedgerEntry, isAbove: boolean): string {
    const other = this.#run.nameOf(entry.other);
    return JSON.stringify({ ...entry, other, at: 0, ...(isAbove ? { seq: 0 } : {}) });
  }

  #event({ id: _id, run: _run, at: _at, cell, ...told }: DurableEvent, near: Near): string {
    switch (told.type) {
      case 'session-start':
        return JSON.stringify({ ...told, parent: told.parent === null ? null : this.#run.nameOf(told.parent) });
      case 'crossing':
      case 'crossing-refused':
        return JSON.stringify({
          ...told,
          from: this.#run.nameOf(told.from),
          to: this.#run.nameOf(told.to),
          agent_id: '',
          recipient_id: '',
        });
      case 'child-start':
        return JSON.stringify({ ...told, childAgent: '', child: this.#run.nameOf(told.child) });
      case 'child-end': {
        const ms = near(told.child) === 'apart' ? told.ms : 0;
        return JSON.stringify({ ...told, ms, childAgent: '', child: this.#run.nameOf(told.child) });
      }
      case 'session-end':
        return JSON.stringify(near(cell) === 'apart' ? told : { ...told, spent: null });
      default:
        return JSON.stringify(told);
    }
  }

  /** Sorted: in which order things happened is a question of time. */
  #sight(sink: string, told: readonly string[]): Observation {
    return createObservation(sink, told.toSorted().join('\n'));
  }
}

/** Of the one that keeps something: what crossed. */
export const crossedOutcome = (outcome: Outcome, nearness: Nearness): Json => {
  const { spent, failure, ...rest } = outcome;
  if (nearness === 'itself') return { ...rest, failure: failure?.code ?? null };
  return { ...rest, failure: failure as Json, ...(nearness === 'apart' ? { spent: spent as Json } : {}) };
};
