// Starts a turn: checks the agent, builds the history, and appends the turn to the workspace log.
//
//   conversation-one-turn-at-a-time. For each agent, across processes: the run is owned before its record is appended, the
//       record is refused if another one came first, and earlier runs are locked meanwhile.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Agent, ConversationRef, History, InheritedFiles, RunLog } from '#contracts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';
import { describeConversation } from './conversation-names.ts';
import { checkMayReadConversation, buildHistory } from './build-history.ts';
import { retryOnConflict } from './conversation-ports.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { inheritFiles } from './inherit-files.ts';
import { newestEntries } from './newest-entries.ts';
import { RunLocks } from './active-runs.ts';

export type TurnRequest = {
  readonly agent: Agent;
  readonly conversation: ConversationRef;
  readonly context: readonly string[];
  /** The maximum size of the history. */
  readonly bytesMax: number;
};

export type StartedTurn = {
  readonly run: RunId;
  readonly log: RunLog;
  readonly history: History | undefined;
  readonly files: InheritedFiles | undefined;
};

export const beginTurn = async (request: TurnRequest, ports: ConversationPorts): Promise<StartedTurn> => {
  const { agent, conversation: ref, context, bytesMax } = request;
  const { store, ids, reader } = ports;
  const run = ids.random() as RunId;
  const locks = new RunLocks(store);
  let log: RunLog | undefined;
  try {
    return await retryOnConflict(store, async (state) => {
      const found = await checkMayTakeTurn(state, request, { reader, locks });
      const newest = found === undefined ? { entries: [] } : await newestEntries(found, bytesMax, reader);
      const history = buildHistory({ conversation: ref.name, agent: agent.name, ...newest, context, bytesMax });
      // probe: turn-files
      const files = found === undefined ? undefined : await inheritFiles(found, agent.name, store);
      log ??= await store.acquireRun(run);
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
  { agent, conversation: ref }: TurnRequest,
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
  await locks.acquire(found, (node) => node.agent === agent.name && !reader.isEnded(node.run));
  return found;
};
