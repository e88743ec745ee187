// A conversation as a file for people and other programs: `conversations/<name>.json`, or under its agent's id.
import type { Conversation, ConversationRef } from '#contracts';
import { pathPart } from './conversation-names.ts';
import type { ExportFolder } from './export-folder.ts';

/** That of the default agent lies at the top. */
export const conversationPath = ({ agent, name }: ConversationRef, defaultAgent: string | null): readonly string[] =>
  agent === defaultAgent
    ? ['conversations', `${pathPart(name)}.json`]
    : ['conversations', pathPart(agent), `${pathPart(name)}.json`];

export const exportConversation = (
  conversation: Conversation,
  files: ExportFolder,
  defaultAgent: string | null,
): Promise<string> => files.write(conversationPath(conversation, defaultAgent), piecesOf(conversation));

function* piecesOf({ entries, ...facts }: Conversation): Generator<string> {
  yield `${JSON.stringify({ format: 1, ...facts }, null, 2).slice(0, -2)},\n  "entries": [`;
  for (const [index, entry] of entries.entries()) yield `${index === 0 ? '' : ','}\n    ${JSON.stringify(entry)}`;
  yield entries.length === 0 ? ']\n}\n' : '\n  ]\n}\n';
}
