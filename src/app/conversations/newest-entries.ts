// The newest entries of a conversation, as many as a history can hold. Older turns are only counted, from the workspace log.
//
//   newest-entries-in-order. Turns that are not read ended before the first entry that is read, so the order is the same as
//       for the whole.
//   newest-entries-all-context. Context entries are read however old they are.
import type { RunEnd } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import { orderEntries } from './entries.ts';
import type { TurnEntry } from './entries.ts';
import type { EntryReader } from './entry-reader.ts';
import { historyEntryBytes } from './build-history.ts';
import { listTurns } from './turn-chain.ts';
import type { TurnNode } from './turn-chain.ts';

type NewestEntries = {
  readonly entries: readonly TurnEntry[];
  /** How many entries were not read. */
  readonly older: number;
};

export const newestEntries = async (
  conversation: ConversationState,
  bytesMax: number,
  reader: EntryReader,
): Promise<NewestEntries> => {
  const { branched, ended } = conversation;
  // Entries that other agents added during the first run are interleaved with the entries of that run.
  if (branched !== null && branched.before !== Infinity)
    return { entries: await reader.entries(conversation), older: 0 };
  const nodes = listTurns(conversation);
  const ends = latestEnds(nodes, ended);
  const read: (readonly TurnEntry[])[] = [];
  let [bytes, earliest] = [0, Infinity];
  while (read.length < nodes.length && !(bytes > bytesMax && ends[nodes.length - read.length]! <= earliest)) {
    const entries = await reader.turnEntries(nodes[nodes.length - read.length - 1]!);
    read.push(entries);
    for (const entry of entries) {
      earliest = Math.min(earliest, entry.at);
      if (entry.category === 'DIALOG') bytes += historyEntryBytes(entry, bytesMax);
    }
  }
  const older = nodes.slice(0, nodes.length - read.length);
  const context = await contextOf(older, ended, reader);
  const count = older.reduce((sum, { run }) => sum + ended.get(run)!.entries, 0);
  const initial = await reader.branchEntries(conversation);
  return { entries: [...initial, ...context, ...orderEntries([], read.toReversed())], older: count - context.length };
};

/** For the first n turns, the time when the last of them ended; Infinity if one is not known to have ended. */
const latestEnds = (nodes: readonly TurnNode[], ended: ReadonlyMap<string, RunEnd>): readonly number[] => {
  let latest = 0;
  const ends = [latest];
  for (const { run, frames } of nodes) {
    latest = Math.max(latest, frames === null ? (ended.get(run)?.at ?? Infinity) : Infinity);
    ends.push(latest);
  }
  return ends;
};

const contextOf = async (
  nodes: readonly TurnNode[],
  ended: ReadonlyMap<string, RunEnd>,
  reader: EntryReader,
): Promise<readonly TurnEntry[]> => {
  const turns: (readonly TurnEntry[])[] = [];
  for (const node of nodes) if (ended.get(node.run)!.context > 0) turns.push(await reader.turnEntries(node));
  return orderEntries([], turns).filter(({ category }) => category === 'CONTEXT');
};
