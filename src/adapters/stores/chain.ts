// Each record's hash covers the record before it, so a changed, missing or moved one shows.
import { sha256, zeroHash } from '#base';
import type { Hash, RunId } from '#base';
import type { Frame } from '#contracts';

export type Tail = { readonly no: number; readonly hash: string };

/** What a run without frames ends with. */
export const noTail: Tail = { no: -1, hash: zeroHash };

export const recordHash = (previous: string, body: string): Hash => sha256(previous + body);

/** One row as the table has it: nothing about it is taken for granted. */
export type FrameRow = { readonly no: unknown; readonly body: unknown; readonly hash: unknown };

export type CheckedLog = { readonly frames: readonly Frame[]; readonly problems: readonly string[] };

/**
 * Checks rows in order of `no`. `end` is how long the log was when it was last written, where that is known; `noted`
 * are frames that must be there.
 */
export const checkChain = (
  run: RunId,
  rows: Iterable<FrameRow>,
  end?: Tail,
  noted: readonly Tail[] = [],
): CheckedLog => {
  const check = new ChainCheck(run, noted);
  for (const row of rows) check.add(row);
  return check.found(end);
};

/** The same, row by row. */
export class ChainCheck {
  readonly #run: RunId;
  readonly #noted: readonly Tail[];
  readonly #frames: Frame[] = [];
  readonly #problems: string[] = [];
  #tail = noTail;
  /** After a changed record: the hash that its body gives. Either its hash or its body may still be what was written. */
  #instead: string | undefined;

  constructor(run: RunId, noted: readonly Tail[]) {
    this.#run = run;
    this.#noted = noted;
  }

  add(row: FrameRow): void {
    const run = this.#run;
    const tail = this.#tail;
    const no = Number(row.no);
    if (!Number.isSafeInteger(no) || no <= tail.no) {
      this.#problems.push(`a record of run ${run} is out of place: its number is ${JSON.stringify(row.no)}`);
      return;
    }
    // After a gap the link cannot be checked; the gap itself is reported.
    const follows = no === tail.no + 1;
    if (!follows) this.#problems.push(missing(run, tail.no + 1, no - 1));
    const made = recordHash(this.#instead ?? tail.hash, String(row.body));
    const linked = !follows || row.hash === made || row.hash === recordHash(tail.hash, String(row.body));
    const asNoted = this.#noted.every((one) => one.no !== no || one.hash === row.hash);
    const frame = parseFrame(row.body);
    if (frame === undefined || frame.run !== run || frame.no !== no || !linked || !asNoted)
      this.#problems.push(changed(run, no));
    if (frame !== undefined) this.#frames.push(frame);
    this.#tail = { no, hash: String(row.hash) };
    this.#instead = linked ? undefined : made;
  }

  found(end: Tail | undefined): CheckedLog {
    const ends = { end, noted: this.#noted, tail: this.#tail, whole: this.#problems.length === 0 };
    return { frames: this.#frames, problems: [...this.#problems, ...endProblems(this.#run, ends)] };
  }
}

type Ends = {
  readonly end: Tail | undefined;
  readonly noted: readonly Tail[];
  readonly tail: Tail;
  readonly whole: boolean;
};

const endProblems = (run: RunId, { end, noted, tail, whole }: Ends): readonly string[] => {
  const problems: string[] = [];
  if (end !== undefined && end.no < tail.no)
    problems.push(`run ${run} has frame ${tail.no}, but the list of runs ends it with frame ${end.no}`);
  const last = Math.max(end?.no ?? noTail.no, ...noted.map(({ no }) => no));
  if (last > tail.no) problems.push(missing(run, tail.no + 1, last));
  if (whole && end?.no === tail.no && end.hash !== tail.hash) problems.push(changed(run, tail.no));
  return problems;
};

const changed = (run: RunId, no: number): string => `frame ${no} of run ${run} is not what was written`;

const parseFrame = (body: unknown): Frame | undefined => {
  if (typeof body !== 'string') return undefined;
  try {
    const parsed = JSON.parse(body) as Frame | null;
    return parsed !== null && typeof parsed === 'object' ? parsed : undefined;
  } catch {
    return undefined;
  }
};

const missing = (run: RunId, first: number, last: number): string =>
  first === last ? `frame ${first} of run ${run} is missing` : `frames ${first} to ${last} of run ${run} are missing`;
