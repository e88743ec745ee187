// The format of a run's records, and whether this build can read it.
//
//   format-in-first-record. The first record of a run says its format and the build that wrote it, in every format, past and
//       future.
//   format-for-life. Whichever build continues a run, it writes the format that the run began with.
import { CloisterError } from './errors/index.ts';
import type { RunId } from './ids.ts';

/**
 * The formats that this build reads; it writes the newest. The number covers everything that a later build must know to read a
 * run: the shape of records, the error codes, and the rules, estimates and texts in `core/rules/recorded-versions.ts`. Format 5 is
 * the first that is kept; nobody outside has an earlier one.
 */
export const recordFormats = { oldest: 5, newest: 9 };

/** Which format a record has, and the name and version of the program that wrote it. */
export type RecordedBy = { readonly format: number; readonly build: string };

/** Why this build cannot read a run, in a sentence that names the build that can; undefined if it can. */
export const recordFormatProblem = (run: RunId, recordedBy: RecordedBy | null): string | undefined => {
  if (recordedBy === null)
    return `Run ${run} does not say its format: it was recorded before format 3, by a build that was never released. ${readsText}`;
  const { format, build } = recordedBy;
  if (format >= recordFormats.oldest && format <= recordFormats.newest) return undefined;
  const newer = format > recordFormats.newest ? ' or newer' : '';
  return `Run ${run} was recorded by ${build} in format ${format}. ${readsText} Read it with ${build}${newer}.`;
};

const describeRange = (oldest: number, newest: number): string =>
  oldest === newest ? `format ${newest}` : `formats ${oldest} to ${newest}`;

const readsText = `This build reads ${describeRange(recordFormats.oldest, recordFormats.newest)}.`;

/** Throws `run_format`. `first`: the first record of the run, of any format. */
export const checkRecordFormat = (run: RunId, first: unknown): void => {
  const problem = recordFormatProblem(run, readRecordedBy(first));
  if (problem !== undefined) throw new CloisterError('run_format', problem);
};

/** Null if the record does not say it. */
export const readRecordedBy = (first: unknown): RecordedBy | null => {
  const { format, build } = (first as { readonly recordedBy?: Partial<RecordedBy> } | null)?.recordedBy ?? {};
  return typeof format === 'number' && typeof build === 'string' ? { format, build } : null;
};
