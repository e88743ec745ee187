// The heads file of one store. The writer thread appends to it; it is created with the first frame.
import { closeSync, constants, ftruncateSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { headsFileName, headsFolderPath, removeHeads } from './heads-folder.ts';
import { addText, headLine, newHeads, ownerLine } from './heads.ts';
import type { RunOwner } from './owner.ts';

/** What a heads file claims, and lines that may claim more. */
export type Claims = { readonly tails: ReadonlyMap<RunId, Tail>; readonly unreadable: readonly unknown[] };

export type OwnHeads = {
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

export const openOwnHeads = (workspace: string, self: RunOwner): OwnHeads => {
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
