// The beginning of a turn: who may take it, what it is told, and its page in the book.
//
//   T1. An agent takes one turn at a time in a conversation, whatever the process: the run is owned before its page is
//       written, the page is refused when another came first, and meanwhile nobody goes on with an earlier one.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Agent, ConversationRef, History, RunLog } from '#contracts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';
import { inWords } from './conversation-names.ts';
import { checkMayReadConversation, historyFor } from './build-history.ts';
import { retryOnConflict } from './conversation-ports.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { newestEntries } from './newest-entries.ts';
import { RunLocks } from './active-runs.ts';

export type TurnRequest = {
  readonly agent: Agent;
  readonly conversation: ConversationRef;
  readonly context: readonly string[];
  /** At most so much of what was said is told. */
  readonly bytesMax: number;
};

export type StartedTurn = { readonly run: RunId; readonly log: RunLog; readonly history: History | undefined };

export const beginTurn = async (asked: TurnRequest, keeping: ConversationPorts): Promise<StartedTurn> => {
  const { agent, conversation: ref, context, bytesMax } = asked;
  const { store, ids, reader } = keeping;
  const run = ids.random() as RunId;
  const held = new RunLocks(store);
  let log: RunLog | undefined;
  try {
    return await retryOnConflict(store, async (state) => {
      const found = await mayTake(state, asked, { reader, held });
      const said = found === undefined ? { entries: [] } : await newestEntries(found, bytesMax, reader);
      const history = historyFor({ conversation: ref.name, ...said, context, bytesMax });
      log ??= await store.acquireRun(run);
      // probe: turn-note-page
      await store.appendRecord({ type: 'turn', conversation: ref, agent: agent.name, run }, state.page);
      return { run, log, history };
    });
  } catch (error) {
    await log?.close();
    throw error;
  } finally {
    await held.release();
  }
};

/** The conversation, if it is there already. Throws why the agent may not take a turn in it now. */
const mayTake = async (
  { conversations }: WorkspaceState,
  { agent, conversation: ref }: TurnRequest,
  { reader, held }: Pick<ConversationPorts, 'reader'> & { readonly held: RunLocks },
): Promise<ConversationState | undefined> => {
  const found = conversations.get(conversationKey(ref));
  if (found === undefined) {
    if (ref.agent === agent.name) return undefined;
    throw new CloisterError('conversation_unknown', `${inWords(ref)}.`);
  }
  if (found.deletedAt !== null) throw new CloisterError('conversation_deleted', `${inWords(ref)}.`);
  checkMayReadConversation(found, agent);
  // probe: turn-hold-runs
  await held.hold(found, (node) => node.agent === agent.name && !reader.ended(node.run));
  return found;
};
