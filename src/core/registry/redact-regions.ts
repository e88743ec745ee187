// Replaces the matches of some machines. Overlapping matches form one region, so nothing is left of two secrets that overlap.
import { scan } from './redact-machine.ts';
import type { Cursor, Machine } from './redact-machine.ts';

type Region = { start: number; end: number };

export const replaceAll = (machines: readonly Machine[], text: string, mark: string): string => {
  const regions: Region[] = [];
  const cursors = machines.map((): Cursor => ({ state: 0, at: 0 }));
  for (const { start, end } of scanAll(machines, text, cursors)) addMatch(regions, start, end);
  if (regions.length === 0) return text;
  let shown = '';
  let done = 0;
  for (const { start, end } of regions) {
    shown += text.slice(done, start) + mark;
    done = end;
  }
  return shown + text.slice(done);
};

/**
 * The same for a stream. It holds back text that may still become part of a match: always the word that is being written,
 * because a stream that holds back only what begins like a secret gives it away, character by character.
 */
export class RegionStream {
  readonly #machines: readonly Machine[];
  readonly #mark: string;
  /** All positions are relative to the start of the held text. */
  #held = '';
  #regions: Region[] = [];
  /** The end of the last region whose mark was returned. */
  #covered = 0;
  /** The length of the word that is being written, and how much of it is held back: rounded, so that no length of a secret shows. */
  #word = 0;
  readonly #wordMax: number;
  readonly #cursors: readonly Cursor[];

  constructor(machines: readonly Machine[], mark: string) {
    this.#machines = machines;
    this.#cursors = machines.map(() => ({ state: 0, at: 0 }));
    this.#wordMax = 2 ** Math.ceil(Math.log2(Math.max(wordUnitsMin, ...machines.map(({ longest }) => longest))));
    this.#mark = mark;
  }

  push(piece: string): string {
    this.#held += piece;
    const last = lastWordUnits(piece);
    this.#word = last === piece.length ? this.#word + last : last;
    for (const { start, end } of scanAll(this.#machines, this.#held, this.#cursors))
      if (start < this.#covered) {
        this.#regions = [];
        this.#covered = end;
      } else addMatch(this.#regions, start, end);
    const begun = Math.max(...this.#machines.map(({ depth }, index) => depth[this.#cursors[index]!.state]!));
    // probe: stream-held-back
    return this.#handOut(this.#held.length - Math.max(begun, Math.min(this.#word, this.#wordMax)));
  }

  end(): string {
    for (const cursor of this.#cursors) cursor.state = 0;
    this.#word = 0;
    const rest = this.#handOut(this.#held.length);
    this.#covered = 0;
    return rest;
  }

  /** No later match starts before `limit`, so the start of a region up to there is final. */
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
    for (const cursor of this.#cursors) cursor.at -= units;
    for (const region of this.#regions) {
      region.start -= units;
      region.end -= units;
    }
  }
}

/** The matches of all machines, in the order of their ends. */
const scanAll = (machines: readonly Machine[], text: string, cursors: readonly Cursor[]): readonly Region[] => {
  const matches: Region[] = [];
  for (const [index, machine] of machines.entries())
    scan(machine, text, cursors[index]!, (start, end) => matches.push({ start, end }));
  return machines.length === 1 ? matches : matches.sort((one, other) => one.end - other.end);
};

const wordUnitsMin = 512;

/** Words are of printable ASCII: nothing else is in a form of a strong secret. */
const lastWordUnits = (text: string): number => {
  let start = text.length;
  while (start > 0 && text.charCodeAt(start - 1) > 0x20 && text.charCodeAt(start - 1) < 0x7f) start--;
  return text.length - start;
};

/** Matches arrive in the order of their ends. */
const addMatch = (regions: Region[], start: number, end: number): void => {
  let first = start;
  for (let last = regions.at(-1); last !== undefined && last.end > start; last = regions.at(-1)) {
    first = Math.min(first, last.start);
    regions.pop();
  }
  regions.push({ start: first, end });
};
