// Reads the heads files of a workspace: one for each store that is writing or has died while writing.
import { closeSync, fstatSync, openSync, readdirSync, readSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import type { RunOwner } from './processes.ts';
import { decodeOwner } from './decode-owner.ts';
import type { StoredRow } from './decode-owner.ts';

// What was acknowledged, recorded beside the database: number and hash of each run's newest frame, one line each.
//
// SQLite silently ignores a write-ahead log from its first damaged byte on, and the list of runs with it. What these lines
// claim must be there.
//
//   heads-line-is-true. A line is written after the commit and before the acknowledgement, so every line is true.
//   heads-lower-bound. Lines are not synced, so a power loss may lose some. They are a lower bound of what was there, never an
//       upper bound.
//   heads-removed-when-found. A file is removed only when everything it claims was found in the database and the write-ahead
//       log is empty.
type Heads = {
  /** The store that writes the file; null when that line is unreadable. */
  owner: RunOwner | null;
  /** The newest frame of each run, and the line that claims it. */
  readonly tails: Map<RunId, Tail & { readonly line: number }>;
  readonly unreadable: { readonly line: number; readonly text: string }[];
  lines: number;
  /** Text after the last line feed. */
  partialLine: string;
};

export const newHeads = (): Heads => ({ owner: null, tails: new Map(), unreadable: [], lines: 0, partialLine: '' });

export const ownerLine = (owner: RunOwner): string => checkedLine(JSON.stringify(owner));

export const headLine = (run: RunId, { no, hash }: Tail): string => checkedLine(`${no} ${hash} ${run}`);

const checkedLine = (text: string): string => `${checksum(text)} ${text}\n`;

const checksum = (text: string | Uint8Array): string => crc32(text).toString(16).padStart(8, '0');

/** Adds newly read bytes. A line without a line feed was not finished, so what it claims was never acknowledged. */
export const addText = (heads: Heads, bytes: Buffer): void => {
  const lines = (heads.partialLine + bytes.toString('latin1')).split('\n');
  heads.partialLine = lines.pop() ?? '';
  for (const line of lines) addLine(heads, line);
};

const addLine = (heads: Heads, text: string): void => {
  const line = heads.lines++;
  const bytes = Buffer.from(text.slice(9), 'latin1');
  if (text.slice(0, 9) !== `${checksum(bytes)} `) {
    // A power loss leaves zeros where nothing was written yet.
    if (!text.includes('\0\0')) heads.unreadable.push({ line, text });
    return;
  }
  const content = bytes.toString();
  if (content.startsWith('{')) {
    heads.owner = parseOwner(content);
    return;
  }
  const [no, hash, run] = content.split(' ');
  if (hash !== undefined && run !== undefined && Number.isSafeInteger(Number(no)))
    heads.tails.set(run as RunId, { no: Number(no), hash, line });
};

/** Null for text that no store has written, although its checksum fits. */
const parseOwner = (text: string): RunOwner | null => {
  try {
    return decodeOwner(JSON.parse(text) as StoredRow);
  } catch {
    return null;
  }
};

/** True when an unreadable line may be about this run and no later line replaces it. */
const mayHideHead = ({ tails, unreadable }: Heads, run: RunId): boolean =>
  unreadable.some(({ line, text }) => line > (tails.get(run)?.line ?? -1) && mayContainName(text, run));

/** Whether the text contains the name with at most one character changed. */
const mayContainName = (text: string, name: string): boolean => {
  for (let from = 0; from + name.length <= text.length; from++) {
    let differences = 0;
    for (let at = 0; at < name.length && differences < 2; at++) if (text[from + at] !== name[at]) differences += 1;
    if (differences < 2) return true;
  }
  return false;
};

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
