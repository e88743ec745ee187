// Starts a turn: checks the agent, builds the history, and appends the turn to the workspace log.
//
//   conversation-one-turn-at-a-time. For each agent, across processes: the run is owned before its record is appended, the
//       record is refused if another one came first, and earlier runs are locked meanwhile.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Agent, ConversationRef, History, InheritedFiles, RunLog, RunEnd } from '#contracts';
import { RunLocks } from './active-runs.ts';
import { checkMayReadConversation, buildHistory, historyEntryBytes } from './build-history.ts';
import { describeConversation } from './conversation-names.ts';
import { retryOnConflict } from './conversation-ports.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { orderEntries, listTurns } from './entries.ts';
import type { TurnEntry, TurnNode } from './entries.ts';
import type { EntryReader } from './entry-reader.ts';
import { inheritFiles } from './inherit-files.ts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';

export type TurnRequest = {
  readonly agent: Agent;
  readonly conversation: ConversationRef;
  readonly context: readonly string[];
  /** The maximum size of the history. */
  readonly bytesMax: number;
  readonly run: RunId;
  /** There must be no such run yet: the request may come twice. */
  readonly isOnly: boolean;
};

export type StartedTurn = {
  readonly run: RunId;
  readonly log: RunLog;
  readonly history: History | undefined;
  readonly files: InheritedFiles | undefined;
};

export const beginTurn = async (request: TurnRequest, ports: ConversationPorts): Promise<StartedTurn> => {
  const { agent, conversation: ref, context, bytesMax, run, isOnly } = request;
  const { store, reader } = ports;
  const locks = new RunLocks(store);
  let log: RunLog | undefined;
  try {
    return await retryOnConflict(store, async (state) => {
      // First: of two requests with the same key, the second must find its own run taken, and not the conversation busy.
      log ??= await store.acquireRun(run);
      if (isOnly && (await store.list({ runs: [run] })).length > 0)
        throw new CloisterError('run_exists', `Run ${run}.`);
      const found = await checkMayTakeTurn(state, request, { reader, locks });
      const newest = found === undefined ? { entries: [] } : await newestEntries(found, bytesMax, reader);
      const history = buildHistory({ conversation: ref.name, agent: agent.name, ...newest, context, bytesMax });
      // probe: turn-files
      const files = found === undefined ? undefined : await inheritFiles(found, agent.name, store);
      // After a crash, the turn may be known already, and its run not.
      if (isOnly && found !== undefined && listTurns(found).some((turn) => turn.run === run))
        return { run, log, history, files };
      // probe: turn-note-page
      await store.appendRecord({ type: 'turn', conversation: ref, agent: agent.name, run }, state.lastEntryNo);
      return { run, log, history, files };
    });
  } catch (error) {
    await log?.close();
    throw error;
  } finally {
    await locks.release();
  }
};

/** Returns the conversation, if it exists. Throws if the agent may not take a turn in it now. */
const checkMayTakeTurn = async (
  { conversations }: WorkspaceState,
  { agent, conversation: ref, run }: TurnRequest,
  { reader, locks }: Pick<ConversationPorts, 'reader'> & { readonly locks: RunLocks },
): Promise<ConversationState | undefined> => {
  const found = conversations.get(conversationKey(ref));
  if (found === undefined) {
    if (ref.agent === agent.name) return undefined;
    throw new CloisterError('conversation_unknown', `${describeConversation(ref)}.`);
  }
  if (found.deletedAt !== null) throw new CloisterError('conversation_deleted', `${describeConversation(ref)}.`);
  checkMayReadConversation(found, agent);
  // probe: turn-hold-runs
  await locks.acquire(found, (node) => node.run !== run && node.agent === agent.name && !reader.isEnded(node.run));
  return found;
};

// The newest entries of a conversation, as many as a history can hold. Older turns are only counted, from the workspace log.
//
//   newest-entries-in-order. Turns that are not read ended before the first entry that is read, so the order is the same as
//       for the whole.
//   newest-entries-all-context. Context entries are read however old they are.
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
