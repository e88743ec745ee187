// The heads file of one store: appended to by the thread that writes, made with its first frame.
import { closeSync, constants, ftruncateSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { headsName, headsPath, removeHeads } from './heads-folder.ts';
import { addText, headLine, newHeads, ownerLine } from './heads.ts';
import type { RunOwner } from './owner.ts';

/** What a heads file claims, and lines that may claim more. */
export type Claims = { readonly ends: ReadonlyMap<RunId, Tail>; readonly unreadable: readonly unknown[] };

export type OwnHeads = {
  readonly name: string;
  readonly claims: Claims;
  /** One write. Throws when it was not written as a whole. */
  note(ends: ReadonlyMap<RunId, Tail>): void;
  bytes(): number;
  /** Only the newest line of each run stays. */
  compact(): void;
  /** The next note makes a new one. */
  remove(): void;
  close(): void;
};

const { O_RDWR, O_CREAT, O_APPEND, O_TRUNC, O_NOFOLLOW } = constants;

export const openOwnHeads = (workspace: string, self: RunOwner): OwnHeads => {
  const folder = headsPath(workspace);
  const name = headsName(self.instance);
  const path = join(folder, name);
  const { ends, unreadable } = readOwn(path);
  let descriptor: number | undefined;
  let bytes = 0;

  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  const open = (): number => {
    const opened = (descriptor = openIn(folder, path, O_RDWR | O_CREAT | O_APPEND));
    // A thread of this store that died, or a full disk, may have left the beginning of a line.
    bytes = readFileSync(opened).lastIndexOf('\n') + 1;
    ftruncateSync(opened, bytes);
    return opened;
  };

  return {
    name,
    claims: { ends, unreadable },
    note(newer) {
      if (newer.size === 0) return;
      const opened = descriptor ?? open();
      let text = bytes === 0 ? ownerLine(self) : '';
      for (const [run, end] of newer) {
        ends.set(run, end);
        text += headLine(run, end);
      }
      bytes += writeWhole(opened, text);
    },
    bytes: () => bytes,
    compact() {
      let text = ownerLine(self);
      for (const [run, end] of ends) text += headLine(run, end);
      const next = openIn(folder, `${path}.new`, O_RDWR | O_CREAT | O_APPEND | O_TRUNC);
      try {
        writeWhole(next, text);
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
      ends.clear();
      bytes = 0;
    },
    close,
  };
};

/** What an earlier connection of this store has noted. */
const readOwn = (path: string): Claims & { readonly ends: Map<RunId, Tail> } => {
  const heads = newHeads();
  try {
    addText(heads, readFileSync(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return heads;
};

/** Another store may remove the folder with its own file, between the making and the opening. */
const openIn = (folder: string, path: string, flags: number): number => {
  for (let left = 100; ; left--) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return openSync(path, flags | O_NOFOLLOW, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || left === 0) throw error;
    }
  }
};

const writeWhole = (descriptor: number, text: string): number => {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
  return bytes.length;
};
