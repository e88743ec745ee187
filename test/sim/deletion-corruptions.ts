// Corruptions of histories in which runs were deleted, archived and brought back, which the judge of deletions must detect.
import type { History } from '../../sim/index.ts';

/** An untyped copy, so that tests can change anything. */
type Loose = any;
type Corruption = { readonly to: (history: History) => boolean; readonly change: (history: Loose) => void };

const tombstoneOf = (history: Loose, run: string): Loose => {
  const about = history.workspaceLog.entries
    .map(({ record }: Loose) => record)
    .findLast(({ type, run: of, tombstone }: Loose) =>
      type === 'tombstone' ? tombstone.run === run : type === 'import' && of === run,
    );
  return about?.tombstone;
};

/** What is left of a run that was deleted and not brought back, once it had records. */
const goneOf = (history: Loose): Loose =>
  history.remains.find(({ run, former }: Loose) => former !== null && tombstoneOf(history, run) !== undefined);
const archivedOf = (history: Loose): Loose =>
  history.remains.find(({ run, former }: Loose) => former !== null && tombstoneOf(history, run)?.archive !== undefined);
const broughtBackOf = (history: Loose): Loose =>
  history.remains.find(
    ({ run, former, frames }: Loose) => former !== null && frames > 0 && tombstoneOf(history, run) === undefined,
  );

const onGone = (change: (gone: Loose, history: Loose) => void): Corruption => ({
  to: (history) => goneOf(history) !== undefined,
  change: (history) => change(goneOf(history), history),
});
const told = (history: Loose): Loose =>
  history.storageActions.find(({ what, deleted }: Loose) => what === 'delete' && deleted.length > 0);

export const deletionCorruptions: Readonly<Record<string, readonly Corruption[]>> = {
  'a deleted run leaves its tombstone only': [
    onGone((gone) => (gone.frames = 1)),
    onGone((gone) => (gone.isListed = true)),
    onGone((gone) => (gone.isOwned = true)),
    onGone((gone) => (gone.signals = 1)),
    onGone((gone) => (gone.hasFolder = true)),
    onGone((gone) => (gone.isPending = true)),
    onGone((gone) => gone.former.pop()),
    // The same run is deleted twice, and one is gone without a tombstone.
    onGone(({ run }, { workspaceLog: { entries } }) =>
      entries.push({ no: entries.length, at: 0, record: { type: 'tombstone', tombstone: { run } } }),
    ),
    onGone((_gone, history) => (history.workspaceLog.entries = [])),
    onGone(({ run }, { storedBlobs }) => storedBlobs.push({ ref: 'ab'.repeat(32), usedBy: [], formerlyBy: [run] })),
    { to: (history) => archivedOf(history) !== undefined, change: (history) => (archivedOf(history).archived = null) },
    {
      to: (history) => archivedOf(history) !== undefined,
      change: (history) => archivedOf(history).archived.bodies.pop(),
    },
    {
      to: (history) => broughtBackOf(history) !== undefined,
      change: (history) => (broughtBackOf(history).former[0] += ' '),
    },
    { to: (history) => told(history) !== undefined, change: (history) => told(history).deleted.push('never') },
    { to: (history) => told(history) !== undefined, change: (history) => told(history).broughtBack.push('never') },
    { to: (history) => told(history) !== undefined, change: (history) => (told(history).code = 'run_kept') },
  ],
};
