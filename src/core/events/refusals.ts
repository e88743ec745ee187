// Of the events of a run, those that tell of refusals, and what is needed to name their ends. Memory follows the cells that are alive.
import type { CellId } from '#base';
import type { DurableEvent } from '#contracts';

export class Refusals {
  readonly #kept: DurableEvent[];
  /** Of cells that are alive and were not named yet. */
  readonly #starts = new Map<CellId, DurableEvent>();
  #ended: CellId[] = [];

  constructor(kept: DurableEvent[]) {
    this.#kept = kept;
  }

  next(event: DurableEvent): void {
    switch (event.type) {
      case 'session-start':
        if (event.parent === null || event.passedOver !== undefined) this.#kept.push(event);
        else this.#starts.set(event.cell, event);
        return;
      case 'session-end':
        this.#ended.push(event.cell);
        return;
      case 'crossing-refused':
        for (const end of [event.from, event.to]) if (end !== 'outside') this.#name(end);
        this.#kept.push(event);
        return;
      case 'run-fork':
        this.#kept.push(event);
        return;
      case 'tool-end':
        if (event.path !== undefined) this.#kept.push(event);
        return;
      default:
    }
  }

  /** What is refused with the end of a cell is in the frame of its end. */
  endFrame(): void {
    for (const cell of this.#ended) this.#starts.delete(cell);
    this.#ended = [];
  }

  #name(cell: CellId): void {
    const start = this.#starts.get(cell);
    if (start === undefined) return;
    this.#starts.delete(cell);
    this.#kept.push(start);
  }
}
