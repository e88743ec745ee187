// A finished run, and what its cells could observe in it.
import type { CellId } from '#base';
import type { Outcome } from '#contracts';
import { createObservation } from './observer.ts';
import type { Observation, Observations } from './observer.ts';
import { visibleOutcome, Records } from './records.ts';
import type { RelationToVaried } from './records.ts';
import type { CellState } from './cell-state.ts';
import type { WatchedRun } from './watched-run.ts';

/** Whether a cell is varied. */
type IsVaried = (state: CellState) => boolean;

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

  static async observe(run: WatchedRun): Promise<ObservedRun> {
    const outcome = await run.run();
    const files = new Map<CellState, Observation>();
    for (const state of run.hasFiles ? run.cells : []) {
      files.set(state, createObservation('files', JSON.stringify(await run.filesOf(state))));
    }
    return new ObservedRun(run, outcome, files);
  }

  get cells(): readonly CellState[] {
    return this.run.cells;
  }

  outcomeOf({ cell }: CellState): Outcome | undefined {
    return this.#outcomes.get(cell);
  }

  /** The observations of all cells except the varied ones and their private helpers. */
  observations(isVaried: IsVaried, withRecords: boolean): Observations {
    const near = relateCells(this.cells, isVaried);
    const all = new Map<string, readonly Observation[]>();
    for (const state of this.cells) {
      if (near.get(state.cell) === 'varied' || isPrivateHelper(state, isVaried)) continue;
      const records = withRecords
        ? this.#loadRecords().observationsOf(state.cell, (cell) => near.get(cell) ?? 'unrelated')
        : none;
      all.set(state.planned.place, [...state.observer.observations, this.#files.get(state) ?? noFiles, ...records]);
    }
    const root = this.cells[0];
    const nearest = root === undefined ? 'varied' : (near.get(root.cell) ?? 'unrelated');
    all.set('the caller', [createObservation('outcome', JSON.stringify(visibleOutcome(this.#outcome, nearest)))]);
    return all;
  }

  #loadRecords(): Records {
    return (this.#records ??= new Records(this.run));
  }
}

const none: readonly Observation[] = [];
const noFiles = createObservation('files', '[]');

const relateCells = (seats: readonly CellState[], isVaried: IsVaried): ReadonlyMap<CellId, RelationToVaried> => {
  const near = new Map<CellId, RelationToVaried>();
  for (const state of seats) {
    if (!isVaried(state)) continue;
    near.set(state.cell, 'varied');
    for (let above = state.parent; above !== null; above = above.parent)
      if (near.get(above.cell) !== 'varied') near.set(above.cell, 'ancestor');
  }
  return near;
};

/** Whether the cell, or one above it, is an extra child of a varied cell and so part of its private work. */
const isPrivateHelper = (state: CellState, isVaried: IsVaried): boolean => {
  for (let at: CellState | null = state; at !== null && at.parent !== null; at = at.parent)
    if (at.planned.isExtra && isVaried(at.parent)) return true;
  return false;
};
