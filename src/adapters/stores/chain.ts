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

/** Checks rows in order of `no`. `end` is how long the log was when it was last written, where that is known. */
export const checkChain = (
  run: RunId,
  rows: Iterable<FrameRow>,
  end?: Tail,
): { frames: readonly Frame[]; problems: readonly string[] } => {
  const frames: Frame[] = [];
  const problems: string[] = [];
  let tail = noTail;
  for (const row of rows) {
    const no = Number(row.no);
    const follows = no === tail.no + 1;
    if (!follows) problems.push(missing(run, tail.no + 1, no - 1));
    const frame = parseFrame(row.body);
    // After a gap the link cannot be checked; the gap itself is reported.
    const linked = !follows || row.hash === recordHash(tail.hash, String(row.body));
    if (frame === undefined || frame.run !== run || frame.no !== no || !linked) {
      problems.push(`frame ${no} of run ${run} is not what was written`);
    }
    if (frame !== undefined) frames.push(frame);
    tail = { no, hash: String(row.hash) };
  }
  if (end !== undefined && end.no > tail.no) problems.push(missing(run, tail.no + 1, end.no));
  else if (end !== undefined && end.hash !== tail.hash && problems.length === 0) {
    problems.push(`frame ${tail.no} of run ${run} is not what was written`);
  }
  return { frames, problems };
};

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
