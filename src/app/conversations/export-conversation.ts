// A conversation as a file for people and other programs: `conversations/<name>.json`, or under its agent's id.
import type { Conversation, ConversationRef } from '#contracts';
import { pathPart } from './conversation-names.ts';
import type { ExportFolder } from './export-folder.ts';

/** That of the default agent lies at the top. */
export const conversationPath = ({ agent, name }: ConversationRef, defaultAgent: string | null): readonly string[] =>
  agent === defaultAgent
    ? ['conversations', `${pathPart(name)}.json`]
    : ['conversations', pathPart(agent), `${pathPart(name)}.json`];

/** Where it was written when another agent was the default one, it is no more. */
export const exportConversation = async (
  conversation: Conversation,
  files: ExportFolder,
  defaultAgent: string | null,
): Promise<string> => {
  const { agent } = conversation;
  const path = await files.write(conversationPath(conversation, defaultAgent), piecesOf(conversation));
  await removeOwn(conversation, conversationPath(conversation, agent === defaultAgent ? null : agent), files);
  return path;
};

/** Whichever agent was the default when it was written. */
export const removeConversationFile = async (ref: ConversationRef, files: ExportFolder): Promise<void> => {
  for (const defaultAgent of [ref.agent, null]) await removeOwn(ref, conversationPath(ref, defaultAgent), files);
};

/** At the top may lie one of the same name that is another agent's. */
const removeOwn = async (ref: ConversationRef, path: readonly string[], files: ExportFolder): Promise<void> => {
  if (files.has(path) && isOf(ref, await files.read(path))) await files.remove(path);
};

/** What cannot be read is nobody's any more. */
const isOf = ({ agent }: ConversationRef, text: string | null): boolean => {
  try {
    return (JSON.parse(text ?? '') as Partial<ConversationRef> | null)?.agent === agent;
  } catch {
    return true;
  }
};

function* piecesOf({ entries, ...facts }: Conversation): Generator<string> {
  yield `${JSON.stringify({ format: 1, ...facts }, null, 2).slice(0, -2)},\n  "entries": [`;
  for (const [index, entry] of entries.entries()) yield `${index === 0 ? '' : ','}\n    ${JSON.stringify(entry)}`;
  yield entries.length === 0 ? ']\n}\n' : '\n  ]\n}\n';
}
