// The records and events of each cell of a run, without what may differ: ids are replaced by places; times, and totals that
// include the varied cell, are left out.
import { isObject } from '#base';
import type { CellId, Json } from '#base';
import type { DurableEvent, Frame, LedgerEntry, Outcome } from '#contracts';
import { projectEvents } from '#core/events';
import { createObservation } from './observer.ts';
import type { Observation } from './observer.ts';

/** How a cell is related to the varied cell. */
export type RelationToVaried = 'varied' | 'ancestor' | 'unrelated';

type RelationOf = (cell: CellId) => RelationToVaried;

type RecordedRun = { readonly frames: readonly Frame[]; nameOf(cell: string): string };

type CellRecords = {
  readonly frames: Frame[];
  /** How the cell ended, as its parent's records say. */
  readonly ends: Outcome[];
  readonly ledger: LedgerEntry[];
  readonly events: DurableEvent[];
};

export class Records {
  readonly #cells = new Map<CellId, CellRecords>();
  readonly #run: RecordedRun;
  readonly #isTeam: boolean;
  readonly #cache = new Map<CellId, readonly Observation[]>();

  /** `isTeam`: the cells share a team, so when something happens, and what was refused on its way to a cell, depends on others. */
  constructor(run: RecordedRun, isTeam: boolean) {
    this.#run = run;
    this.#isTeam = isTeam;
    const project = projectEvents('answers');
    for (const frame of run.frames) {
      const { record, links = [] } = frame;
      this.#recordsFor(frame.cell).frames.push(frame);
      if (record.type === 'settle' && record.ended !== undefined)
        this.#recordsFor(record.ended.cell).ends.push(record.ended.outcome);
      for (const { cell, entries } of links) this.#recordsFor(cell).ledger.push(...entries);
      for (const event of project.next(frame)) this.#recordsFor(event.cell).events.push(event);
    }
  }

  #recordsFor(cell: CellId): CellRecords {
    let records = this.#cells.get(cell);
    if (records === undefined) this.#cells.set(cell, (records = { frames: [], ends: [], ledger: [], events: [] }));
    return records;
  }

  /** The observations of a cell that is not varied. */
  observationsOf(cell: CellId, relationOf: RelationOf = () => 'unrelated'): readonly Observation[] {
    // The observations of an unrelated cell are the same whichever cell varies.
    const isUnrelated = relationOf(cell) === 'unrelated';
    const known = isUnrelated ? this.#cache.get(cell) : undefined;
    if (known !== undefined) return known;
    const { frames, ends, ledger, events } = this.#recordsFor(cell);
    const isSeen = ({ way, verdict }: LedgerEntry): boolean => !this.#isTeam || way === 'out' || verdict === 'granted';
    const isSeenEvent = (event: DurableEvent): boolean =>
      !this.#isTeam || event.type !== 'crossing-refused' || event.to !== cell;
    const observations = [
      observe('records', [
        ...frames.map((frame) => this.#record(frame, relationOf)),
        ...ends.map((outcome) => JSON.stringify(this.#outcome(outcome, relationOf(cell)))),
      ]),
      observe(
        'ledger',
        ledger.filter(isSeen).map((entry) => this.#entry(entry, isUnrelated)),
      ),
      observe(
        'events',
        events.filter(isSeenEvent).map((event) => this.#event(event, relationOf)),
      ),
    ];
    if (isUnrelated) this.#cache.set(cell, observations);
    return observations;
  }

  #record({ record, at, attempt, cell }: Frame, relationOf: RelationOf): string {
    const isAbove = relationOf(cell) === 'ancestor';
    switch (record.type) {
      case 'begin': {
        const { op, name, repeat, hold, about, birth, until, question } = record;
        const child = birth === undefined ? undefined : [this.#run.nameOf(birth.cell), birth.depth, birth.task];
        const ms = until === undefined || this.#isTeam ? undefined : until - at;
        // The prompt's origin includes the order in which results arrived.
        const shownAttempt = attempt !== undefined && isAbove ? { ...attempt, changes: [], prompt: '' } : attempt;
        return JSON.stringify([op, 'begin', record.do, name, repeat, hold, about, child, ms, shownAttempt, question]);
      }
      case 'settle': {
        const { op, ok, halted, ms, value, failure, cost, uncertain, ended } = record;
        const end = ended === undefined ? undefined : this.#outcome(ended.outcome, relationOf(ended.cell));
        const shown = end !== undefined && isAbove ? undefined : withoutNumbers(value, isAbove);
        const timed = this.#isTeam ? [halted?.failure] : [halted, ms];
        return JSON.stringify([op, 'settle', ok, shown, failure, cost, uncertain, end, ...timed]);
      }
      case 'post': {
        const { op, name, about, ok, value, failure } = record;
        return JSON.stringify([op, 'post', name, about, ok, value, failure]);
      }
      case 'ruling': {
        const { op, by, right, verdict, argsHash, args, reason, remember } = record;
        return JSON.stringify([op, 'ruling', by, right, verdict, argsHash, args, reason, remember]);
      }
      case 'close':
        return JSON.stringify(['close', this.#outcome(record.outcome, relationOf(cell))]);
      default:
        return record.type;
    }
  }

  #outcome(outcome: Outcome, relation: RelationToVaried): Json {
    return visibleOutcome(this.#isTeam ? withoutTime(outcome) : outcome, relation);
  }

  #entry(entry: LedgerEntry, isUnrelated: boolean): string {
    const seq = isUnrelated && !this.#isTeam ? entry.seq : 0;
    return JSON.stringify({ ...entry, other: this.#run.nameOf(entry.other), at: 0, seq });
  }

  #event({ id: _id, run: _run, at: _at, cell, ...event }: DurableEvent, relationOf: RelationOf): string {
    const shown: Record<string, unknown> = { ...event };
    for (const key of cellKeys) if (typeof shown[key] === 'string') shown[key] = this.#run.nameOf(shown[key]);
    for (const key of nameKeys) if (key in shown) shown[key] = '';
    // The number of a frame of the whole run, for people, and a time.
    for (const key of ['question', 'until']) if (key in shown) shown[key] = '';
    const isRelated = 'child' in event && relationOf(event.child) !== 'unrelated';
    if ('ms' in shown && (this.#isTeam || isRelated)) shown['ms'] = 0;
    if ('spent' in event && (this.#isTeam || relationOf(cell) !== 'unrelated'))
      shown['spent'] = this.#isTeam ? { ...event.spent, ms: 0 } : null;
    return JSON.stringify(shown);
  }
}

/**
 * An answer that covers a call is named by the number of its frame in the whole run. In a cell above the varied one, what crosses
 * is numbered in the order in which it arrives.
 */
const withoutNumbers = (value: Json | undefined, isAbove: boolean): Json | undefined => {
  if (!isObject(value) || value['verdict'] === undefined) return value;
  const { remembered, said, ...shown } = value;
  return { ...shown, remembered: remembered !== undefined, said: isAbove ? said !== undefined : (said ?? null) };
};

const cellKeys = ['parent', 'from', 'to', 'child'];
/** The name of an agent may vary with its definition. */
const nameKeys = ['agent_id', 'recipient_id', 'childAgent'];

/** Sorted, because the order depends on timing. */
const observe = (sink: string, texts: readonly string[]): Observation =>
  createObservation(sink, texts.toSorted().join('\n'));

export const withoutTime = ({ spent, ...outcome }: Outcome): Outcome => ({ ...outcome, spent: { ...spent, ms: 0 } });

/** The outcome of a varied cell as others see it; otherwise the outcome without totals that include the varied cell. */
export const visibleOutcome = (outcome: Outcome, relation: RelationToVaried): Json => {
  const { spent, failure, ...rest } = outcome;
  if (relation === 'varied') return { ...rest, failure: failure?.code ?? null };
  return { ...rest, failure: failure as Json, ...(relation === 'unrelated' ? { spent: spent as Json } : {}) };
};
