// Replaces what a machine finds. Matches that overlap are one region: of two secrets that share units nothing is left.
import { scan } from './redact-machine.ts';
import type { Cursor, Machine } from './redact-machine.ts';

export type Region = { start: number; end: number };

export const replaceAll = (machine: Machine, text: string, mark: string): string => {
  const regions: Region[] = [];
  scan(machine, text, { state: 0, at: 0 }, (start, end) => addMatch(regions, start, end));
  if (regions.length === 0) return text;
  let shown = '';
  let done = 0;
  for (const { start, end } of regions) {
    shown += text.slice(done, start) + mark;
    done = end;
  }
  return shown + text.slice(done);
};

/** The same for text in pieces. Holds back what may still become part of a match, and nothing else. */
export class RegionStream {
  readonly #machine: Machine;
  readonly #mark: string;
  /** All places are counted from the beginning of what is held. */
  #held = '';
  #regions: Region[] = [];
  /** The end of the region whose mark was the last to be handed out. */
  #covered = 0;
  readonly #cursor: Cursor = { state: 0, at: 0 };

  constructor(machine: Machine, mark: string) {
    this.#machine = machine;
    this.#mark = mark;
  }

  push(piece: string): string {
    this.#held += piece;
    scan(this.#machine, this.#held, this.#cursor, (start, end) => {
      if (start < this.#covered) {
        this.#regions = [];
        this.#covered = end;
      } else addMatch(this.#regions, start, end);
    });
    return this.#handOut(this.#cursor.at - this.#machine.depth[this.#cursor.state]!);
  }

  end(): string {
    this.#cursor.state = 0;
    const rest = this.#handOut(this.#held.length);
    this.#covered = 0;
    return rest;
  }

  /** No match to come begins before `limit`: a region that does begins where it begins for good. */
  #handOut(limit: number): string {
    let shown = '';
    let done = this.#covered;
    const certain = this.#regions.filter(({ start }) => start <= limit);
    for (const { start, end } of certain) {
      shown += this.#held.slice(done, start) + this.#mark;
      done = end;
    }
    this.#regions.splice(0, certain.length);
    this.#covered = done;
    if (done < limit) shown += this.#held.slice(done, limit);
    this.#forget(limit);
    return shown;
  }

  #forget(units: number): void {
    this.#held = this.#held.slice(units);
    this.#covered = Math.max(0, this.#covered - units);
    this.#cursor.at -= units;
    for (const region of this.#regions) {
      region.start -= units;
      region.end -= units;
    }
  }
}

/** Matches come in the order of their ends. */
const addMatch = (regions: Region[], start: number, end: number): void => {
  let first = start;
  for (let last = regions.at(-1); last !== undefined && last.end > start; last = regions.at(-1)) {
    first = Math.min(first, last.start);
    regions.pop();
  }
  regions.push({ start: first, end });
};
