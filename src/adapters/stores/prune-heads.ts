// Removes heads files once the database itself holds everything they claim.
//
//   heads-pruned-with-empty-wal. Checkpointing the write-ahead log is not enough while the file has content: if damaged, its
//       older pages would hide newer pages of the database. So it must be empty, and each claim is looked up before a file is
//       removed.
//   heads-pruned-own-or-dead. A store removes only its own file and those of dead stores: a live store may be writing its next
//       line.
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import { workspaceLogName } from './workspace-log.ts';
import { removeHeads } from './heads-folder.ts';
import type { HeadsFolder } from './heads-folder.ts';
import type { Claims, OwnHeads } from './own-heads.ts';
import type { Owners } from './owner.ts';

export type PruneHeadsPorts = {
  readonly workspace: string;
  readonly database: DatabaseSync;
  readonly busyTimeoutMs: number;
  readonly folder: HeadsFolder;
  readonly own: OwnHeads;
  readonly owners: Owners;
  /** Whether the open database is still the one in the workspace. */
  readonly isInPlace: () => boolean;
};

export const pruneHeads = ({
  workspace,
  database,
  busyTimeoutMs,
  folder,
  own,
  owners,
  isInPlace,
}: PruneHeadsPorts): void => {
  // Read before the checkpoint, so that everything claimed is part of it.
  const dead = folder.readAll(own.name).filter(({ heads: { owner } }) => owner !== null && !owners.isAlive(owner));
  if (own.claims.tails.size + dead.length === 0 || !truncateWal(database, busyTimeoutMs) || !isInPlace()) return;
  if (holdsClaims(database, own.claims)) own.remove();
  for (const { name, heads } of dead) if (holdsClaims(database, heads)) removeHeads(workspace, name);
};

/** True when the write-ahead log is now empty. Does not wait for other connections: a later one can do it too. */
const truncateWal = (database: DatabaseSync, busyTimeoutMs: number): boolean => {
  database.exec('PRAGMA busy_timeout = 0');
  try {
    return database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
  } finally {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  }
};

const holdsClaims = (database: DatabaseSync, { tails, unreadable }: Claims): boolean => {
  const frame = database.prepare('SELECT hash FROM frames WHERE run = ? AND no = ?');
  const record = database.prepare('SELECT hash FROM book WHERE no = ?');
  const hashOf = (run: RunId, no: number): unknown =>
    (run === workspaceLogName ? record.get(no) : frame.get(run, no))?.['hash'];
  return unreadable.length === 0 && [...tails].every(([run, { no, hash }]) => hashOf(run, no) === hash);
};
