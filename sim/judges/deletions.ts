// A deleted run leaves its tombstone and nothing else; what was not deleted, and what a refused deletion was about, stays as it was.
import type { RunId } from '#base';
import type { Tombstone, WorkspaceEntry } from '#contracts';
import type { History, RunRemains, StorageAction } from '../history.ts';
import type { Judge, ReportProblem } from './judge.ts';

// invariants: deletion-in-one-commit, deletion-names-the-log, deletion-all-or-none
export const deletions: Judge = {
  name: 'a deleted run leaves its tombstone only',
  check: (history, report) => {
    const states = deletionStates(history.workspaceLog.entries);
    for (const one of history.remains) {
      const state = states.get(one.run);
      if (state?.tombstone != null) judgeGone(one, state.tombstone, report);
      else judgeThere(history, one, state !== undefined, report);
    }
    judgeTwice(history, report);
    for (const action of history.storageActions) judgeTold(history, action, report);
    judgeBlobs(history, report);
    return history.remains.length + history.storageActions.length + history.storedBlobs.length;
  },
};

/** By run, the newest record about it: its tombstone, or null if it was brought back since. */
const deletionStates = (
  entries: readonly WorkspaceEntry[],
): ReadonlyMap<RunId, { readonly tombstone: Tombstone | null }> => {
  const states = new Map<RunId, { readonly tombstone: Tombstone | null }>();
  for (const { record } of entries) {
    if (record.type === 'tombstone') states.set(record.tombstone.run, { tombstone: record.tombstone });
    if (record.type === 'import') states.set(record.run, { tombstone: null });
  }
  return states;
};

/** What is gone is not deleted again. Only if its archive goes, too, another tombstone takes the place of the one that named it. */
const judgeTwice = ({ workspaceLog: { entries } }: History, report: ReportProblem): void => {
  const gone = new Map<RunId, Tombstone>();
  for (const { no, record } of entries) {
    if (record.type === 'import') gone.delete(record.run);
    if (record.type !== 'tombstone') continue;
    const { tombstone } = record;
    const { run } = tombstone;
    const before = gone.get(run);
    const isOfArchive = before?.archive !== undefined && tombstone.archive === undefined;
    if (before !== undefined && !isOfArchive)
      report(`one tombstone of run ${run} until it is brought back`, `record ${no} is another one`);
    gone.set(run, tombstone);
  }
};

const judgeGone = (left: RunRemains, { frames, archive }: Tombstone, report: ReportProblem): void => {
  const { run, former } = left;
  const rest = [
    ...(left.frames > 0 ? [`${left.frames} records`] : []),
    ...(left.isListed ? ['a row'] : []),
    ...(left.isOwned ? ['an owner'] : []),
    ...(left.signals > 0 ? [`${left.signals} signals`] : []),
    ...(left.hasFolder ? ['its folder'] : []),
    ...(left.isPending ? ['a deletion that nobody finishes'] : []),
  ];
  if (rest.length > 0) report(`nothing of run ${run}, which was deleted`, rest.join(', '));
  if (former !== null && former.length !== frames)
    report(`a tombstone of the ${former.length} records of run ${run}`, `it names ${frames}`);
  if (archive === undefined) return;
  const { archived } = left;
  if (archived === null || archived.sha256 !== archive.sha256)
    report(`the archive of run ${run}`, archived === null ? 'it cannot be read' : 'it has other bytes');
  else if (former !== null && archived.bodies.join('\n') !== former.join('\n'))
    report(`the archive of run ${run} to hold its ${former.length} records`, `${archived.bodies.length}, or others`);
};

/** Whatever was acknowledged is judged elsewhere; here, that a run came back byte for byte, and that none is gone without a tombstone. */
const judgeThere = (
  { runs }: History,
  { run, frames, former }: RunRemains,
  wasBroughtBack: boolean,
  report: ReportProblem,
): void => {
  if (former === null) return;
  if (!wasBroughtBack) return report(`a tombstone of run ${run}, which is gone`, 'there is none');
  const bodies = runs.find((one) => one.run === run)?.bodies ?? [];
  const first = former.findIndex((body, no) => body !== bodies[no]);
  if (first >= 0)
    report(`run ${run} to come back byte for byte`, frames === 0 ? 'it is not there' : `record ${first} differs`);
};

/** Whoever was told that something happened is right, and what was refused left no trace. */
const judgeTold = (
  { workspaceLog: { entries } }: History,
  { no, what, code, endedAt, deleted, broughtBack, message }: StorageAction,
  report: ReportProblem,
): void => {
  if (endedAt === null) return;
  const own = entries.flatMap(({ record }) =>
    record.type === 'tombstone' && record.tombstone.why === `action ${no}` ? [record.tombstone.run] : [],
  );
  // Who moves a run out and in again may be refused after the deletion.
  if (what !== 'move' && code !== null && refusals.includes(code) && own.length > 0)
    report(`no trace of a deletion that was refused: ${message}`, `a tombstone of ${own.join(', ')}`);
  const has = (run: RunId, type: 'tombstone' | 'import'): boolean =>
    entries.some(({ record }) =>
      record.type === 'tombstone'
        ? type === 'tombstone' && record.tombstone.run === run
        : record.type === type && record.run === run,
    );
  for (const run of deleted)
    if (!has(run, 'tombstone')) report(`a tombstone of run ${run}, whose deletion was told`, 'there is none');
  for (const run of broughtBack)
    if (!has(run, 'import')) report(`a record that run ${run} came back, as was told`, 'there is none');
};

/** Errors after which nothing has happened. Others may come after the commit. */
const refusals: readonly string[] = ['run_kept', 'run_owned', 'run_unknown', 'conversation_unknown'];

/** What only deleted runs have named goes with them, unless a branch of a conversation holds it. */
const judgeBlobs = ({ storedBlobs, workspaceLog }: History, report: ReportProblem): void => {
  const wholeLog = JSON.stringify(workspaceLog.entries);
  const states = deletionStates(workspaceLog.entries);
  const isGone = (run: RunId): boolean => states.get(run)?.tombstone != null;
  for (const { ref, usedBy, formerlyBy } of storedBlobs) {
    const owners = formerlyBy.filter(isGone);
    const isKept = usedBy.length > 0 || owners.length === 0 || wholeLog.includes(ref);
    if (!isKept) report(`no blob that only deleted runs have named (${owners.join(', ')})`, ref);
  }
};
