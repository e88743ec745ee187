// The ended runs that a store in memory keeps.
//
//   memory-ended-bounded. Past a number of runs, or of bytes, a caller's oldest ended runs are dropped, with the values that no other ended
//       run refers to. Its newest one stays, however large it is, so that whoever waited for it can read it.
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import type { MemoryRunLog, MemoryRuns } from './memory-run-log.ts';

/** Ended runs to keep for each caller: one limit for all would show a caller how many runs others have had. */
export type EndedMax = { readonly runs: number; readonly bytes: number };

export const endedMax: EndedMax = { runs: 1_000, bytes: 64 * 1024 * 1024 };

/** An ended run, its estimated size, and the large values that it refers to. */
type EndedRun = { readonly run: RunId; readonly bytes: number; readonly refs: readonly string[] };

type CallerEnded = { readonly runs: EndedRun[]; bytes: number };

/** The ended runs of each caller, oldest first, and the large values that they refer to. */
export class EndedRuns {
  readonly #most: EndedMax;
  readonly #runs: MemoryRuns;
  readonly #blobs: Map<string, Uint8Array>;
  readonly #byCaller = new Map<string, CallerEnded>();
  /** How many ended runs refer to a value. */
  readonly #users = new Map<string, number>();
  /**
   * Values that no ended run refers to any more, and how many runs had begun by then. Of those that were running, nobody knows what they
   * refer to before they have ended.
   */
  readonly #unused = new Map<string, number>();

  constructor(most: EndedMax, runs: MemoryRuns, blobs: Map<string, Uint8Array>) {
    this.#most = most;
    this.#runs = runs;
    this.#blobs = blobs;
  }

  /** Returns the runs that are to be dropped for it. `begun`: how many runs have begun. */
  add(run: RunId, log: MemoryRunLog, begun: number): readonly RunId[] {
    const caller = openedBy(log);
    const ended = this.#byCaller.get(caller) ?? { runs: [], bytes: 0 };
    this.#byCaller.set(caller, ended);
    const one = this.#measure(run, log);
    ended.runs.push(one);
    ended.bytes += one.bytes;
    const dropped: RunId[] = [];
    while (ended.runs.length > this.#most.runs || (ended.bytes > this.#most.bytes && ended.runs.length > 1)) {
      const oldest = ended.runs.shift()!;
      ended.bytes -= oldest.bytes;
      this.#leave(oldest, begun);
      dropped.push(oldest.run);
    }
    this.#dropValues(begun);
    return dropped;
  }

  /** It is deleted; so are its values that nobody else needs. */
  forget(run: RunId): void {
    for (const ended of this.#byCaller.values()) {
      const at = ended.runs.findIndex((one) => one.run === run);
      if (at < 0) continue;
      const [gone] = ended.runs.splice(at, 1);
      ended.bytes -= gone!.bytes;
      this.#leave(
        gone!,
        this.#runs.values().reduce((most, { nth }) => Math.max(most, nth + 1), 0),
      );
    }
  }

  /** A value is stored: whoever does that names it later. */
  touch(ref: string, begun: number): void {
    if (this.#unused.has(ref)) this.#unused.set(ref, begun);
  }

  #measure(run: RunId, { frames }: MemoryRunLog): EndedRun {
    const blobs = this.#blobs;
    const refs = blobs.size === 0 ? [] : namedValues(frames).filter((ref) => blobs.has(ref));
    for (const ref of refs) this.#users.set(ref, (this.#users.get(ref) ?? 0) + 1);
    const bytes = frames.reduce((sum, frame) => sum + frameBytes(frame), 0);
    return { run, refs, bytes: refs.reduce((sum, ref) => sum + (blobs.get(ref)?.length ?? 0), bytes) };
  }

  #leave({ refs }: EndedRun, begun: number): void {
    for (const ref of refs) {
      const left = (this.#users.get(ref) ?? 1) - 1;
      if (left > 0) this.#users.set(ref, left);
      else {
        this.#users.delete(ref);
        this.#unused.set(ref, begun);
      }
    }
  }

  #dropValues(begun: number): void {
    if (this.#unused.size === 0) return;
    const oldest = this.#runs.values().reduce((least, { owned, nth }) => (owned ? Math.min(least, nth) : least), begun);
    for (const [ref, mark] of this.#unused) {
      if (oldest < mark) continue;
      this.#unused.delete(ref);
      if (!this.#users.has(ref)) this.#blobs.delete(ref);
    }
  }
}

/** Estimated from its texts, which are what can be large. What frames of several runs share, such as definitions, is not counted. */
const frameBytes = ({ record, contents = [] }: Frame): number => {
  let bytes = smallFrameBytes;
  for (const { content } of contents) bytes += 2 * content.length;
  if ('value' in record) bytes += valueBytes(record.value);
  if ('about' in record) bytes += valueBytes(record.about);
  if ('outcome' in record) bytes += valueBytes(record.outcome.output);
  return bytes;
};

const smallFrameBytes = 1_024;

const valueBytes = (value: unknown): number => {
  if (typeof value === 'string') return 2 * value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 64;
  for (const field of Object.values(value)) bytes += valueBytes(field);
  return bytes;
};

const namedValues = (frames: readonly Frame[]): readonly string[] => [
  ...new Set(frames.flatMap((frame) => JSON.stringify(frame).match(/[\da-f]{64}/gu) ?? [])),
];

/** Empty if no caller of a server requested it. */
const openedBy = (log: MemoryRunLog | undefined): string => {
  const record = log?.frames[0]?.record;
  return record?.type === 'open' ? (record.caller ?? '') : '';
};
