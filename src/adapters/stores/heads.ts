// What was acknowledged, noted beside the database: number and hash of each run's newest frame, line by line.
//
// SQLite passes over all of a write-ahead log from its first damaged byte on, the list of runs with it, and says
// nothing. What these lines claim must be there.
//
//   H1. A line is written after the commit and before the acknowledgement, so nothing in it was ever untrue.
//   H2. Nothing syncs it: a power loss may take lines. It says how much was there at least, never how much at most.
//   H3. It goes only when all that it claims was found in the database, with no write-ahead log before it.
import { crc32 } from 'node:zlib';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import type { RunOwner } from './owner.ts';

export type Heads = {
  /** Who writes it; null when that cannot be read. */
  owner: RunOwner | null;
  /** The newest of each run, and the line that says so. */
  readonly ends: Map<RunId, Tail & { readonly line: number }>;
  readonly unreadable: { readonly line: number; readonly text: string }[];
  lines: number;
  /** After the last end of a line. */
  rest: string;
};

export const newHeads = (): Heads => ({ owner: null, ends: new Map(), unreadable: [], lines: 0, rest: '' });

export const ownerLine = (owner: RunOwner): string => checkedLine(JSON.stringify(owner));

export const headLine = (run: RunId, { no, hash }: Tail): string => checkedLine(`${no} ${hash} ${run}`);

const checkedLine = (text: string): string => `${sumOf(text)} ${text}\n`;

const sumOf = (text: string | Uint8Array): string => crc32(text).toString(16).padStart(8, '0');

/** Reads on. A line without an end was never finished, or is not yet: nobody was told of what it claims. */
export const addText = (heads: Heads, bytes: Buffer): void => {
  const lines = (heads.rest + bytes.toString('latin1')).split('\n');
  heads.rest = lines.pop() ?? '';
  for (const line of lines) addLine(heads, line);
};

const addLine = (heads: Heads, text: string): void => {
  const line = heads.lines++;
  const bytes = Buffer.from(text.slice(9), 'latin1');
  if (text.slice(0, 9) !== `${sumOf(bytes)} `) {
    // A stretch of zeros is what a power loss leaves where nothing was written yet.
    if (!text.includes('\0\0')) heads.unreadable.push({ line, text });
    return;
  }
  const said = bytes.toString();
  if (said.startsWith('{')) {
    heads.owner = JSON.parse(said) as RunOwner;
    return;
  }
  const [no, hash, run] = said.split(' ');
  if (hash !== undefined && run !== undefined) heads.ends.set(run as RunId, { no: Number(no), hash, line });
};

/** True when a line that cannot be read may be about this run, and no later one makes up for it. */
export const hidesHead = ({ ends, unreadable }: Heads, run: RunId): boolean =>
  unreadable.some(({ line, text }) => line > (ends.get(run)?.line ?? -1) && mayName(text, run));

/** Whether the name is in there with at most one character that is another. */
const mayName = (text: string, name: string): boolean => {
  for (let from = 0; from + name.length <= text.length; from++) {
    let others = 0;
    for (let at = 0; at < name.length && others < 2; at++) if (text[from + at] !== name[at]) others += 1;
    if (others < 2) return true;
  }
  return false;
};
