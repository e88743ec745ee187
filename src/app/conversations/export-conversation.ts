// Exports a conversation as a file for people and other programs: `conversations/<name>.json`, or in a folder for its agent.
import type { Conversation, ConversationRef } from '#contracts';
import { pathPart } from './conversation-names.ts';
import type { ExportFolder } from './export-folder.ts';

/** Conversations of the default agent go to the top folder. */
const conversationPath = ({ agent, name }: ConversationRef, defaultAgent: string | null): readonly string[] =>
  agent === defaultAgent
    ? ['conversations', `${pathPart(name)}.json`]
    : ['conversations', pathPart(agent), `${pathPart(name)}.json`];

/** Also removes the file from where it was when another agent was the default. */
export const exportConversation = async (
  conversation: Conversation,
  files: ExportFolder,
  defaultAgent: string | null,
): Promise<string> => {
  const { agent } = conversation;
  const path = await files.write(conversationPath(conversation, defaultAgent), jsonPieces(conversation));
  await removeOwn(conversation, conversationPath(conversation, agent === defaultAgent ? null : agent), files);
  return path;
};

/** Removes the file from both folders, because the default agent may have changed since it was written. */
export const removeConversationFile = async (ref: ConversationRef, files: ExportFolder): Promise<void> => {
  for (const defaultAgent of [ref.agent, null]) await removeOwn(ref, conversationPath(ref, defaultAgent), files);
};

/** The top folder may hold another agent's conversation of the same name, which must stay. */
const removeOwn = async (ref: ConversationRef, path: readonly string[], files: ExportFolder): Promise<void> => {
  if (files.has(path) && belongsTo(ref, await files.read(path))) await files.remove(path);
};

/** An unreadable file belongs to no other agent. */
const belongsTo = ({ agent }: ConversationRef, text: string | null): boolean => {
  try {
    return (JSON.parse(text ?? '') as Partial<ConversationRef> | null)?.agent === agent;
  } catch {
    return true;
  }
};

function* jsonPieces({ entries, ...facts }: Conversation): Generator<string> {
  yield `${JSON.stringify({ format: 1, ...facts }, null, 2).slice(0, -2)},\n  "entries": [`;
  for (const [index, entry] of entries.entries()) yield `${index === 0 ? '' : ','}\n    ${JSON.stringify(entry)}`;
  yield entries.length === 0 ? ']\n}\n' : '\n  ]\n}\n';
}
