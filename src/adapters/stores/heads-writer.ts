// Writes the heads of one connection's commits, and reads what all stores of the workspace have recorded.
import { closeSync, constants, ftruncateSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { hasDeletions } from './database.ts';
import {
  findAcknowledgedHeads,
  openHeadsFolder,
  headsFileName,
  headsFolderPath,
  removeHeads,
  addText,
  headLine,
  newHeads,
  ownerLine,
} from './heads-folder.ts';
import type { HeadsFile, HeadsFolder } from './heads-folder.ts';
import type { RunOwner, Owners } from './processes.ts';
import { workspaceLogName } from './workspace-log.ts';

type HeadsWriter = {
  /** Called when a transaction begins. Heads of other stores are read again when first needed. */
  begin(): void;
  readonly append: (tails: ReadonlyMap<RunId, Tail>) => void;
  readonly newestTail: (run: RunId) => Tail | undefined;
  readonly prune: () => void;
  close(): void;
};

/** Past this size the file is compacted. */
const bytesMax = 256 * 1024;

export const openHeadsWriter = (
  ports: Omit<PruneHeadsPorts, 'folder' | 'own'> & { readonly self: RunOwner },
): HeadsWriter => {
  const folder = openHeadsFolder(ports.workspace);
  const own = openOwnHeads(ports.workspace, ports.self);
  let others: readonly HeadsFile[] | undefined;
  let tidyAt = bytesMax;

  const settle = (): void => {
    try {
      pruneHeads({ ...ports, folder, own });
    } catch {
      // A file that stays makes no false claim.
    }
  };
  /** With very many runs even the newest lines are too long; then lines are removed whose frames are safely in the database. */
  const tidy = (): void => {
    try {
      own.compact();
    } catch {
      // Writing continues in the longer file.
    }
    if (own.bytes() > bytesMax / 2) settle();
    tidyAt = Math.max(bytesMax, 2 * own.bytes());
  };

  return {
    begin: () => void (others = undefined),
    append(tails) {
      own.append(tails);
      if (own.bytes() > tidyAt) tidy();
    },
    newestTail(run) {
      others ??= folder.readAll(own.name);
      const tails = [...findAcknowledgedHeads(others, run).tails, own.claims.tails.get(run)].filter(
        (tail) => tail !== undefined,
      );
      return tails.toSorted((one, other) => other.no - one.no)[0];
    },
    prune: settle,
    close: () => own.close(),
  };
};

// The heads file of one store. The writer thread appends to it; it is created with the first frame.
/** What a heads file claims, and lines that may claim more. */
type Claims = { readonly tails: ReadonlyMap<RunId, Tail>; readonly unreadable: readonly unknown[] };

type OwnHeads = {
  readonly name: string;
  readonly claims: Claims;
  /** A single write. Throws when it was not written completely. */
  append(tails: ReadonlyMap<RunId, Tail>): void;
  bytes(): number;
  /** Keeps only the newest line of each run. */
  compact(): void;
  /** The next append creates a new file. */
  remove(): void;
  close(): void;
};

const { O_RDWR, O_CREAT, O_APPEND, O_TRUNC, O_NOFOLLOW } = constants;

const openOwnHeads = (workspace: string, self: RunOwner): OwnHeads => {
  const folder = headsFolderPath(workspace);
  const name = headsFileName(self.instance);
  const path = join(folder, name);
  const { tails, unreadable } = readOwnHeads(path);
  let descriptor: number | undefined;
  let bytes = 0;

  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  const open = (): number => {
    const opened = (descriptor = openInFolder(folder, path, O_RDWR | O_CREAT | O_APPEND));
    // A thread that died, or a full disk, may have left an unfinished line.
    bytes = readFileSync(opened).lastIndexOf('\n') + 1;
    ftruncateSync(opened, bytes);
    return opened;
  };

  return {
    name,
    claims: { tails, unreadable },
    append(newer) {
      if (newer.size === 0) return;
      const opened = descriptor ?? open();
      let text = bytes === 0 ? ownerLine(self) : '';
      for (const [run, end] of newer) {
        tails.set(run, end);
        text += headLine(run, end);
      }
      bytes += writeFully(opened, text);
    },
    bytes: () => bytes,
    compact() {
      let text = ownerLine(self);
      for (const [run, end] of tails) text += headLine(run, end);
      const next = openInFolder(folder, `${path}.new`, O_RDWR | O_CREAT | O_APPEND | O_TRUNC);
      try {
        writeFully(next, text);
        renameSync(`${path}.new`, path);
      } catch (error) {
        closeSync(next);
        throw error;
      }
      close();
      descriptor = next;
      bytes = Buffer.byteLength(text);
    },
    remove() {
      close();
      removeHeads(workspace, name);
      tails.clear();
      bytes = 0;
    },
    close,
  };
};

/** What an earlier connection of this store has recorded. */
const readOwnHeads = (path: string): Claims & { readonly tails: Map<RunId, Tail> } => {
  const heads = newHeads();
  try {
    addText(heads, readFileSync(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return heads;
};

/** Retries, because another store may remove the folder with its own file between mkdir and open. */
const openInFolder = (folder: string, path: string, flags: number): number => {
  for (let left = 100; ; left--) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return openSync(path, flags | O_NOFOLLOW, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || left === 0) throw error;
    }
  }
};

const writeFully = (descriptor: number, text: string): number => {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
  return bytes.length;
};

// Removes heads files once the database itself holds everything they claim.
//
//   heads-pruned-with-empty-wal. Checkpointing the write-ahead log is not enough while the file has content: if damaged, its
//       older pages would hide newer pages of the database. So it must be empty, and each claim is looked up before a file is
//       removed.
//   heads-pruned-own-or-dead. A store removes only its own file and those of dead stores: a live store may be writing its next
//       line.
type PruneHeadsPorts = {
  readonly workspace: string;
  /** Its busy timeout is 0. */
  readonly database: DatabaseSync;
  readonly folder: HeadsFolder;
  readonly own: OwnHeads;
  readonly owners: Owners;
  /** Whether the open database is still the one in the workspace. */
  readonly isInPlace: () => boolean;
};

const pruneHeads = ({ workspace, database, folder, own, owners, isInPlace }: PruneHeadsPorts): void => {
  // Read before the checkpoint, so that everything claimed is part of it.
  const dead = folder.readAll(own.name).filter(({ heads: { owner } }) => owner !== null && !owners.isAlive(owner));
  if (own.claims.tails.size + dead.length === 0 || !truncateWal(database) || !isInPlace()) return;
  if (holdsClaims(database, own.claims)) own.remove();
  for (const { name, heads } of dead) if (holdsClaims(database, heads)) removeHeads(workspace, name);
};

/** True when the write-ahead log is now empty. Does not wait for other connections: a later one can do it too. */
const truncateWal = (database: DatabaseSync): boolean =>
  database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;

const holdsClaims = (database: DatabaseSync, { tails, unreadable }: Claims): boolean => {
  const frame = database.prepare('SELECT hash FROM frames WHERE run = ? AND no = ?');
  const record = database.prepare('SELECT hash FROM book WHERE no = ?');
  const hashOf = (run: RunId, no: number): unknown =>
    (run === workspaceLogName ? record.get(no) : frame.get(run, no))?.['hash'];
  // Of a deleted run, the workspace log says what its log was.
  const deleted = hasDeletions(database) ? database.prepare('SELECT no FROM deleted WHERE run = ?') : undefined;
  const isHeld = (run: RunId, { no, hash }: Tail): boolean =>
    hashOf(run, no) === hash || deleted?.get(run) !== undefined;
  return unreadable.length === 0 && [...tails].every(([run, tail]) => isHeld(run, tail));
};
