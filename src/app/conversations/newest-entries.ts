// The end of a conversation, as much as a turn can be told of it: older turns are counted by what the book says of them.
//
//   N1. What is left unread had ended before anything that is read was said; so the order is that of the whole.
//   N2. What was given to know is read however old it is.
import type { Entry, RunEnd } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import { inOrder } from './entries.ts';
import type { EntryReader } from './entry-reader.ts';
import { historyEntryBytes } from './build-history.ts';
import { turnsOf } from './turn-chain.ts';
import type { TurnNode } from './turn-chain.ts';

export type NewestEntries = {
  readonly entries: readonly Entry[];
  /** How many are not among them. */ readonly older: number;
};

export const newestEntries = async (
  conversation: ConversationState,
  bytesMax: number,
  reader: EntryReader,
): Promise<NewestEntries> => {
  const { branched, ended } = conversation;
  // What others said while its first run was under way stands between the entries of that.
  if (branched !== null && branched.before !== Infinity)
    return { entries: await reader.entries(conversation), older: 0 };
  const nodes = turnsOf(conversation);
  const ends = latestEnds(nodes, ended);
  const read: (readonly Entry[])[] = [];
  let [bytes, earliest] = [0, Infinity];
  while (read.length < nodes.length && !(bytes > bytesMax && ends[nodes.length - read.length]! <= earliest)) {
    const said = await reader.turn(nodes[nodes.length - read.length - 1]!);
    read.push(said);
    for (const entry of said) {
      earliest = Math.min(earliest, entry.at);
      if (entry.category === 'DIALOG') bytes += historyEntryBytes(entry, bytesMax);
    }
  }
  const older = nodes.slice(0, nodes.length - read.length);
  const known = await contextOf(older, ended, reader);
  const count = older.reduce((sum, { run }) => sum + ended.get(run)!.entries, 0);
  const kept = await reader.kept(conversation);
  return { entries: [...kept, ...known, ...inOrder([], read.toReversed())], older: count - known.length };
};

/** Of the first so many turns, when the last of them ended; what is not known to be over has no end. */
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
): Promise<readonly Entry[]> => {
  const turns: (readonly Entry[])[] = [];
  for (const node of nodes) if (ended.get(node.run)!.context > 0) turns.push(await reader.turn(node));
  return inOrder([], turns).filter(({ category }) => category === 'CONTEXT');
};
