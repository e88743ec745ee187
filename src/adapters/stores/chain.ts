// Each record's hash covers the record before it, so a changed, missing or moved record is detected.
import { checkRecordFormat, sha256, zeroHash } from '#base';
import type { Hash, RunId } from '#base';
import type { Frame, LogPage } from '#contracts';
import { decodeFrame } from './decode-record.ts';

export type Tail = { readonly no: number; readonly hash: string };

/** The tail of a run without frames. */
export const noTail: Tail = { no: -1, hash: zeroHash };

export const recordHash = (previous: string, body: string): Hash => sha256(previous + body);

/** One row as stored; nothing about it is trusted. */
export type FrameRow = { readonly no: unknown; readonly body: unknown; readonly hash: unknown };

/**
 * Checks rows in order of `no`. Throws `run_format` if the first record has a format that this build cannot read. `end` is the
 * tail stored with the last write, if known; `acknowledged` are frames that must be there.
 */
export const checkChain = (
  run: RunId,
  rows: Iterable<FrameRow>,
  end?: Tail,
  acknowledged: readonly Tail[] = [],
): LogPage => {
  const check = new ChainCheck(run, acknowledged);
  for (const row of rows) check.add(row);
  return check.finish(end);
};

/** Does the same row by row. */
export class ChainCheck {
  readonly #run: RunId;
  readonly #acknowledged: readonly Tail[];
  #frames: Frame[] = [];
  #problems: string[] = [];
  #isIntact = true;
  #tail: Tail;
  /** After a damaged record: the hash computed from its body. Either its hash or its body may still be the original. */
  #recomputedHash: string | undefined;

  /** `before`: the tail in front of the first row. */
  constructor(run: RunId, acknowledged: readonly Tail[], before = noTail) {
    this.#run = run;
    this.#tail = before;
    this.#acknowledged = acknowledged;
  }

  add(row: FrameRow): void {
    const run = this.#run;
    const tail = this.#tail;
    const no = Number(row.no);
    if (!Number.isSafeInteger(no) || no <= tail.no) {
      this.#problems.push(`a record of run ${run} is out of sequence: its number is ${JSON.stringify(row.no)}`);
      return;
    }
    // After a gap the link to the previous record cannot be checked; the gap itself is reported.
    const follows = no === tail.no + 1;
    if (!follows) this.#problems.push(missingProblem(run, tail.no + 1, no - 1));
    const computed = recordHash(this.#recomputedHash ?? tail.hash, String(row.body));
    const linked = !follows || row.hash === computed || row.hash === recordHash(tail.hash, String(row.body));
    const matchesAcknowledged = this.#acknowledged.every((one) => one.no !== no || one.hash === row.hash);
    const frame = decodeFrame(row.body);
    if (frame === undefined || frame.run !== run || frame.no !== no || !linked || !matchesAcknowledged)
      this.#problems.push(damagedProblem(run, no));
    // A damaged first record is reported as damaged, whatever format it claims.
    else if (no === 0) checkRecordFormat(run, frame.record);
    if (frame !== undefined) this.#frames.push(frame);
    this.#tail = { no, hash: String(row.hash) };
    this.#recomputedHash = linked ? undefined : computed;
  }

  /** What was found since the last call. */
  take(): LogPage {
    const page = { frames: this.#frames, problems: this.#problems };
    this.#isIntact &&= page.problems.length === 0;
    this.#frames = [];
    this.#problems = [];
    return page;
  }

  /** What was found since `take`, and what the end of the log shows. */
  finish(end: Tail | undefined): LogPage {
    const { frames, problems } = this.take();
    const tails = { end, acknowledged: this.#acknowledged, tail: this.#tail, isIntact: this.#isIntact };
    return { frames, problems: [...problems, ...tailProblems(this.#run, tails)] };
  }
}

type TailCheck = {
  readonly end: Tail | undefined;
  readonly acknowledged: readonly Tail[];
  readonly tail: Tail;
  readonly isIntact: boolean;
};

const tailProblems = (run: RunId, { end, acknowledged, tail, isIntact }: TailCheck): readonly string[] => {
  const problems: string[] = [];
  if (end !== undefined && end.no < tail.no)
    problems.push(`run ${run} has frame ${tail.no}, but the list of runs says it ends at frame ${end.no}`);
  const last = Math.max(end?.no ?? noTail.no, ...acknowledged.map(({ no }) => no));
  if (last > tail.no) problems.push(missingProblem(run, tail.no + 1, last));
  if (isIntact && end?.no === tail.no && end.hash !== tail.hash) problems.push(damagedProblem(run, tail.no));
  return problems;
};

const damagedProblem = (run: RunId, no: number): string => `frame ${no} of run ${run} is damaged`;

const missingProblem = (run: RunId, first: number, last: number): string =>
  first === last ? `frame ${first} of run ${run} is missing` : `frames ${first} to ${last} of run ${run} are missing`;
