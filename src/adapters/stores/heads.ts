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
import { crc32 } from 'node:zlib';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import type { RunOwner } from './owner.ts';

export type Heads = {
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
    heads.owner = JSON.parse(content) as RunOwner;
    return;
  }
  const [no, hash, run] = content.split(' ');
  if (hash !== undefined && run !== undefined) heads.tails.set(run as RunId, { no: Number(no), hash, line });
};

/** True when an unreadable line may be about this run and no later line replaces it. */
export const mayHideHead = ({ tails, unreadable }: Heads, run: RunId): boolean =>
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
