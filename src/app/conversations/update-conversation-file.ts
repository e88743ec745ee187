// The file of a conversation, as the book has it now.
import type { ConversationRef } from '#contracts';
import { conversationKey } from './workspace-state.ts';
import { exportConversation, removeConversationFile } from './export-conversation.ts';
import { readWorkspaceLog } from './conversation-ports.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { openRuns, runStates } from './active-runs.ts';
import { summaryOf } from './conversation-summary.ts';

/** One that is deleted has none. A file that cannot be written now is written later: the book is the truth. */
export const updateConversationFile = async (ref: ConversationRef, keeping: ConversationPorts): Promise<void> => {
  const { store, files, defaultAgent, reader } = keeping;
  if (files === null) return;
  try {
    // What was being saved says what the book said before.
    await keeping.settled();
    const found = (await readWorkspaceLog(store)).conversations.get(conversationKey(ref));
    if (found === undefined || found.deletedAt !== null) return await removeConversationFile(ref, files);
    const conversation = {
      ...summaryOf(found, await runStates(store, openRuns(found))),
      entries: await reader.entries(found),
    };
    await exportConversation(conversation, files, defaultAgent);
  } catch {
    // The next turn writes it again.
  }
};
