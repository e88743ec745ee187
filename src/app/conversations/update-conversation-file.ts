// Updates the file of a conversation from the workspace log.
import type { ConversationRef } from '#contracts';
import { conversationKey } from './workspace-state.ts';
import { exportConversation, removeConversationFile } from './export-conversation.ts';
import { readWorkspaceState } from './conversation-ports.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { unfinishedRuns, runStates } from './active-runs.ts';
import { conversationSummary } from './conversation-summary.ts';

/** Removes the file of a deleted conversation. A failed write is ignored, because the workspace log is authoritative. */
export const updateConversationFile = async (ref: ConversationRef, ports: ConversationPorts): Promise<void> => {
  const { store, files, defaultAgent, reader } = ports;
  if (files === null) return;
  try {
    // Pending autosaves would overwrite the file with an older state.
    await ports.settled();
    const found = (await readWorkspaceState(store)).conversations.get(conversationKey(ref));
    if (found === undefined || found.deletedAt !== null) return await removeConversationFile(ref, files);
    const conversation = {
      ...conversationSummary(found, await runStates(store, unfinishedRuns(found))),
      entries: await reader.publicEntries(found),
    };
    await exportConversation(conversation, files, defaultAgent);
  } catch {
    // The next turn writes it again.
  }
};
