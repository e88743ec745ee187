// Reads the heads files of a workspace: one for each store that is writing or has died while writing.
import { closeSync, fstatSync, openSync, readdirSync, readSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { addText, mayHideHead, newHeads } from './heads.ts';
import type { Heads } from './heads.ts';

/** What was acknowledged for a run, independent of its rows. At least this must be there. */
export type AcknowledgedHeads = { readonly tails: readonly Tail[]; readonly problems: readonly string[] };

export type HeadsFile = {
  readonly name: string;
  readonly heads: Heads;
  /** Epoch milliseconds; not earlier than the last line. */
  readonly changedAt: number;
};

export type HeadsFolder = {
  /** All files, or all but one. Creates nothing; reads only what was added since the last call. */
  readAll(except?: string): readonly HeadsFile[];
};

const suffix = '.log';

export const headsFolderPath = (workspace: string): string => join(workspace, 'heads');

export const headsFileName = (instance: string): string => `${instance}${suffix}`;

export const openHeadsFolder = (workspace: string): HeadsFolder => {
  const folder = headsFolderPath(workspace);
  let cache = new Map<string, CachedFile>();
  return {
    readAll(except) {
      const found = new Map<string, CachedFile>();
      for (const name of listHeadsFiles(folder)) {
        if (name === except) continue;
        const file = unlessMissing(() => readAppended(join(folder, name), cache.get(name)));
        if (file !== undefined) found.set(name, file);
      }
      cache = found;
      return [...found].map(([name, { heads, changedAt }]) => ({ name, heads, changedAt }));
    },
  };
};

export const findAcknowledgedHeads = (files: readonly HeadsFile[], run: RunId): AcknowledgedHeads => ({
  tails: files.flatMap(({ heads }) => heads.tails.get(run) ?? []),
  problems: files
    .filter(({ heads }) => mayHideHead(heads, run))
    .map(
      ({ name }) =>
        `heads/${name} has an unreadable line that may be about run ${run}: frames at the end of that run may be missing`,
    ),
});

/** Removes a file, and the folder when it becomes empty. */
export const removeHeads = (workspace: string, name: string): void => {
  const folder = headsFolderPath(workspace);
  rmSync(join(folder, `${name}.new`), { force: true });
  rmSync(join(folder, name), { force: true });
  try {
    rmdirSync(folder);
  } catch {
    // Other files remain.
  }
};

type CachedFile = { readonly inode: number; readonly bytes: number; readonly heads: Heads; readonly changedAt: number };

const listHeadsFiles = (folder: string): readonly string[] =>
  (unlessMissing(() => readdirSync(folder)) ?? []).filter((name) => name.endsWith(suffix));

const readAppended = (path: string, cached: CachedFile | undefined): CachedFile => {
  const descriptor = openSync(path, 'r');
  try {
    const { ino: inode, size, mtimeMs: changedAt } = fstatSync(descriptor);
    const same = cached !== undefined && cached.inode === inode && cached.bytes <= size;
    const heads = same ? cached.heads : newHeads();
    let bytes = same ? cached.bytes : 0;
    while (bytes < size) {
      const chunk = Buffer.alloc(size - bytes);
      const read = readSync(descriptor, chunk, 0, chunk.length, bytes);
      if (read === 0) break;
      addText(heads, chunk.subarray(0, read));
      bytes += read;
    }
    return { inode, bytes, heads, changedAt };
  } finally {
    closeSync(descriptor);
  }
};

const unlessMissing = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    return undefined;
  }
};
