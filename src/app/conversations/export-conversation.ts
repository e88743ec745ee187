// Exports a conversation as a file for people and other programs: `conversations/<name>.json`, or in a folder for its agent.
import type { Conversation, ConversationRef, ConversationSummary } from '#contracts';
import { unfinishedRuns, runStates } from './active-runs.ts';
import type { RunStates } from './active-runs.ts';
import { pathPart } from './conversation-names.ts';
import { readWorkspaceState } from './conversation-ports.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import type { ExportFolder } from './export-folder.ts';
import { listTurns } from './entries.ts';
import { conversationKey } from './workspace-state.ts';
import type { ConversationState } from './workspace-state.ts';

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
const removeConversationFile = async (ref: ConversationRef, files: ExportFolder): Promise<void> => {
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

/** A conversation for lists. `states`: of the runs that have not ended according to the workspace log. */
export const conversationSummary = (found: ConversationState, states: RunStates): ConversationSummary => {
  const turns = listTurns(found);
  const times = turns.map(({ run }) => found.ended.get(run)?.at ?? states.get(run)?.endedAt ?? 0);
  return {
    ...found.ref,
    attached: found.attached,
    turns: turns.length,
    startedAt: found.startedAt,
    newestAt: times.reduce((newest, at) => Math.max(newest, at), found.newestAt),
    running: [...found.nodes.keys()].filter((run) => states.get(run)?.state === 'running'),
    branchedFrom: found.branched?.checkpoint ?? null,
    deletedAt: found.deletedAt,
  };
};

// Updates the file of a conversation from the workspace log.
/** Removes the file of a deleted conversation. A failed write is ignored, because the workspace log is authoritative. */
export const updateConversationFile = async (ref: ConversationRef, ports: ConversationPorts): Promise<void> => {
  const { files } = ports;
  if (files === null) return;
  try {
    // Pending autosaves would overwrite the file with an older state.
    await ports.settled();
    await writeConversationFile(ref, { ...ports, files });
  } catch {
    // The next turn writes it again.
  }
};

/** The same, but fails if the file cannot be written. */
export const writeConversationFile = async (
  ref: ConversationRef,
  {
    store,
    files,
    defaultAgent,
    reader,
  }: Pick<ConversationPorts, 'store' | 'defaultAgent' | 'reader'> & {
    readonly files: ExportFolder;
  },
): Promise<void> => {
  const found = (await readWorkspaceState(store)).conversations.get(conversationKey(ref));
  if (found === undefined || found.deletedAt !== null) return removeConversationFile(ref, files);
  const conversation = {
    ...conversationSummary(found, await runStates(store, unfinishedRuns(found))),
    entries: await reader.publicEntries(found),
  };
  await exportConversation(conversation, files, defaultAgent);
};
