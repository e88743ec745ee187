// The heads files of a workspace, one for each store that writes or has died writing, as they are now.
import { closeSync, fstatSync, openSync, readdirSync, readSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { addText, hidesHead, newHeads } from './heads.ts';
import type { Heads } from './heads.ts';

/** What was acknowledged of a run, apart from its rows: at least that must be there. */
export type AcknowledgedHeads = { readonly ends: readonly Tail[]; readonly problems: readonly string[] };

export type HeadsFile = {
  readonly name: string;
  readonly heads: Heads;
  /** Epoch milliseconds of the last line, or later. */
  readonly changedAt: number;
};

export type HeadsFolder = {
  /** All files, or all but one. Makes nothing; reads only what was added since the last look. */
  look(except?: string): readonly HeadsFile[];
};

const suffix = '.log';

export const headsPath = (workspace: string): string => join(workspace, 'heads');

export const headsName = (instance: string): string => `${instance}${suffix}`;

export const openHeadsFolder = (workspace: string): HeadsFolder => {
  const folder = headsPath(workspace);
  let known = new Map<string, Known>();
  return {
    look(except) {
      const found = new Map<string, Known>();
      for (const name of namesIn(folder)) {
        if (name === except) continue;
        const file = unlessGone(() => readOn(join(folder, name), known.get(name)));
        if (file !== undefined) found.set(name, file);
      }
      known = found;
      return [...found].map(([name, { heads, changedAt }]) => ({ name, heads, changedAt }));
    },
  };
};

export const notedOf = (files: readonly HeadsFile[], run: RunId): AcknowledgedHeads => ({
  ends: files.flatMap(({ heads }) => heads.ends.get(run) ?? []),
  problems: files
    .filter(({ heads }) => hidesHead(heads, run))
    .map(({ name }) => `heads/${name} cannot be read where it may name run ${run}: frames at its end may be missing`),
});

/** Removes a file, and the folder with the last one. */
export const removeHeads = (workspace: string, name: string): void => {
  const folder = headsPath(workspace);
  rmSync(join(folder, `${name}.new`), { force: true });
  rmSync(join(folder, name), { force: true });
  try {
    rmdirSync(folder);
  } catch {
    // There are others.
  }
};

type Known = { readonly inode: number; readonly bytes: number; readonly heads: Heads; readonly changedAt: number };

const namesIn = (folder: string): readonly string[] =>
  (unlessGone(() => readdirSync(folder)) ?? []).filter((name) => name.endsWith(suffix));

const readOn = (path: string, known: Known | undefined): Known => {
  const descriptor = openSync(path, 'r');
  try {
    const { ino: inode, size, mtimeMs: changedAt } = fstatSync(descriptor);
    const same = known !== undefined && known.inode === inode && known.bytes <= size;
    const heads = same ? known.heads : newHeads();
    let bytes = same ? known.bytes : 0;
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

const unlessGone = <T>(look: () => T): T | undefined => {
  try {
    return look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    return undefined;
  }
};
