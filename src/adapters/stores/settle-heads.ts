// Removes heads files once the database alone holds what they claim.
//
//   H3. Folding the write-ahead log in is not enough while it lies there: damaged, it would hide newer pages of the
//       database behind its own older ones. So it must be empty, and each claim is looked up before a file goes.
//   H4. Only its own file and those of stores that are gone: whoever lives may be writing the next line.
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import { workspaceLogName } from './workspace-log.ts';
import { removeHeads } from './heads-folder.ts';
import type { HeadsFolder } from './heads-folder.ts';
import type { Claims, OwnHeads } from './own-heads.ts';
import type { Owners } from './owner.ts';

export type SettleHeads = {
  readonly workspace: string;
  readonly database: DatabaseSync;
  readonly busyTimeoutMs: number;
  readonly folder: HeadsFolder;
  readonly own: OwnHeads;
  readonly owners: Owners;
  /** Whether the database is still the one in the workspace. */
  readonly stillThere: () => boolean;
};

export const settleHeads = ({
  workspace,
  database,
  busyTimeoutMs,
  folder,
  own,
  owners,
  stillThere,
}: SettleHeads): void => {
  // Looked at before the fold: what is claimed by now is part of it.
  const gone = folder.look(own.name).filter(({ heads: { owner } }) => owner !== null && !owners.lives(owner));
  if (own.claims.ends.size + gone.length === 0 || !foldWal(database, busyTimeoutMs) || !stillThere()) return;
  if (isFulfilled(database, own.claims)) own.remove();
  for (const { name, heads } of gone) if (isFulfilled(database, heads)) removeHeads(workspace, name);
};

/** True when the write-ahead log is empty now. Waits for nobody: who comes later can do it too. */
const foldWal = (database: DatabaseSync, busyTimeoutMs: number): boolean => {
  database.exec('PRAGMA busy_timeout = 0');
  try {
    return database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
  } finally {
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  }
};

const isFulfilled = (database: DatabaseSync, { ends, unreadable }: Claims): boolean => {
  const frame = database.prepare('SELECT hash FROM frames WHERE run = ? AND no = ?');
  const page = database.prepare('SELECT hash FROM book WHERE no = ?');
  const hashOf = (run: RunId, no: number): unknown =>
    (run === workspaceLogName ? page.get(no) : frame.get(run, no))?.['hash'];
  return unreadable.length === 0 && [...ends].every(([run, { no, hash }]) => hashOf(run, no) === hash);
};
