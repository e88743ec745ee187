// A run that has been played to its end, and what its cells were told in it.
import type { CellId } from '#base';
import type { Outcome } from '#contracts';
import { createObservation } from './observer.ts';
import type { Observation, Observations } from './observer.ts';
import { crossedOutcome, Records } from './records.ts';
import type { Nearness } from './records.ts';
import type { CellState } from './cell-state.ts';
import type { WatchedRun } from './watched-run.ts';

/** Which cells keep something to themselves. */
export type IsVaried = (seat: CellState) => boolean;

export class ObservedRun {
  readonly run: WatchedRun;
  readonly #outcome: Outcome;
  readonly #files: ReadonlyMap<CellState, Observation>;
  readonly #outcomes = new Map<CellId, Outcome>();
  #records: Records | null = null;

  private constructor(run: WatchedRun, outcome: Outcome, files: ReadonlyMap<CellState, Observation>) {
    this.run = run;
    this.#outcome = outcome;
    this.#files = files;
    for (const { record, cell } of run.frames) {
      if (record.type === 'settle' && record.ended !== undefined)
        this.#outcomes.set(record.ended.cell, record.ended.outcome);
      if (record.type === 'close') this.#outcomes.set(cell, record.outcome);
    }
  }

  static async of(run: WatchedRun): Promise<ObservedRun> {
    const outcome = await run.play();
    const files = new Map<CellState, Observation>();
    for (const seat of run.hasFiles ? run.seats : []) {
      files.set(seat, createObservation('files', JSON.stringify(await run.filesOf(seat))));
    }
    return new ObservedRun(run, outcome, files);
  }

  get seats(): readonly CellState[] {
    return this.run.seats;
  }

  outcomeOf({ cell }: CellState): Outcome | undefined {
    return this.#outcomes.get(cell);
  }

  /** Of all cells but those that keep something, and those that work for one of them alone. */
  sights(isVaried: IsVaried, withRecords: boolean): Observations {
    const near = nearness(this.seats, isVaried);
    const all = new Map<string, readonly Observation[]>();
    for (const seat of this.seats) {
      if (near.get(seat.cell) === 'itself' || isHidden(seat, isVaried)) continue;
      const records = withRecords ? this.#told().sightsOf(seat.cell, (cell) => near.get(cell) ?? 'apart') : none;
      all.set(seat.born.place, [...seat.eye.sights, this.#files.get(seat) ?? noFiles, ...records]);
    }
    const root = this.seats[0];
    const nearest = root === undefined ? 'itself' : (near.get(root.cell) ?? 'apart');
    all.set('the caller', [createObservation('outcome', JSON.stringify(crossedOutcome(this.#outcome, nearest)))]);
    return all;
  }

  #told(): Records {
    return (this.#records ??= new Records(this.run));
  }
}

const none: readonly Observation[] = [];
const noFiles = createObservation('files', '[]');

const nearness = (seats: readonly CellState[], isVaried: IsVaried): ReadonlyMap<CellId, Nearness> => {
  const near = new Map<CellId, Nearness>();
  for (const seat of seats) {
    if (!isVaried(seat)) continue;
    near.set(seat.cell, 'itself');
    for (let above = seat.parent; above !== null; above = above.parent)
      if (near.get(above.cell) !== 'itself') near.set(above.cell, 'above');
  }
  return near;
};

/** Asked by one that keeps something, besides what was planned: it is that one's affair. */
const isHidden = (seat: CellState, isVaried: IsVaried): boolean => {
  for (let at: CellState | null = seat; at !== null && at.parent !== null; at = at.parent)
    if (at.born.isTwin && isVaried(at.parent)) return true;
  return false;
};
