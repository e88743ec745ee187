// Bugs to plant where runs are deleted, archived and given up. Each is a small mistake that could happen in a hurry.
import type { Bug } from './planted-bugs.ts';

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

export const deletionBugs: readonly Bug[] = [
  // invariant: deletion-in-one-commit
  bug(
    'a run goes without its tombstone',
    'deletion-appends-tombstone',
    'const ack = { key, no: (after ?? -1) + 1 } as { readonly key: number; readonly no: number };',
  ),
  bug('a deletion that a crash has interrupted is not finished', 'deletion-finished-later', ''),
  bug('a deleted run is started again under its id', 'own-not-deleted', ''),
  // invariant: archive-before-deletion
  bug(
    'an archived run is deleted although its archive was not written',
    'archive-saved',
    "for (const run of runs.map((one) => parseRunId(one))) archives.set(run, { file: `${run}.cloister.gz`, sha256: '0' as never });",
  ),

  // Nobody is left with a run that cannot be recorded, and nobody is told of one that is not.
  // invariant: failed-log-ends-run
  bug('a run whose agents wait does not notice that its records cannot be written', 'failed-log-ends-run', ''),
  // invariant: receipt-after-commit
  bug('a run that could not be begun counts as durable', 'durable-without-log', 'await this.#log?.durable();'),
];
