// Builds the history that an agent gets for its next turn of a conversation.
import { CloisterError, utf8Bytes } from '#base';
import type { RunId } from '#base';
import type { Agent, Entry, History, HistoryEntry, StoredAttachment, StoredDialogMessage } from '#contracts';
import { cutBytes } from '#core/rules';
import type { ConversationState } from './workspace-state.ts';
import { isPublic } from './entries.ts';
import type { TurnEntry, TurnNode } from './entries.ts';

/** An attachment, or the agent's own grant, lets it read other agents' entries. Throws `conversation_refused`. */
export const checkMayReadConversation = (
  conversation: ConversationState,
  { name, permissions: { grants } }: Agent,
): void => {
  const { ref, attached, branched } = conversation;
  const own = ref.agent === name && branched?.foreign !== true;
  if (own || attached.includes(name) || grants.includes('history')) return;
  throw new CloisterError('conversation_refused', `"${name}", in the conversation "${ref.name}" of "${ref.agent}".`);
};

/** The same check for an earlier turn: it cannot continue if its agent was detached or the conversation deleted since. */
export const checkMayContinueTurn = (conversation: ConversationState, agent: Agent | undefined): void => {
  const { ref, deletedAt } = conversation;
  if (deletedAt !== null) throw new CloisterError('conversation_deleted', `"${ref.name}" of "${ref.agent}".`);
  if (agent !== undefined) checkMayReadConversation(conversation, agent);
};

/** The same check for a resumed run. The run that a branch started with may continue even if its agent is not attached. */
export const checkMayResumeRun = (conversation: ConversationState, node: TurnNode, agent: Agent | undefined): void => {
  const { branched } = conversation;
  const beganIt = branched !== null && node.previous === null && node.from?.id === branched.checkpoint;
  checkMayContinueTurn(conversation, beganIt ? undefined : agent);
};

type HistoryInput = {
  readonly conversation: string;
  /** The name of the agent that gets it. */
  readonly agent: string;
  readonly entries: readonly TurnEntry[];
  /** How many older entries there are. */
  readonly older?: number;
  /** Context added to this turn. */
  readonly context: readonly string[];
  readonly bytesMax: number;
};

/**
 * The newest context, the newest dialog and the newest tool calls of the agent itself, each within `bytesMax`, and all context of
 * this turn. If the history does not fit the window, it is reduced there. Undefined when there is no history.
 */
export const buildHistory = ({
  conversation,
  agent,
  entries,
  older = 0,
  context,
  bytesMax,
}: HistoryInput): History | undefined => {
  const messages = entries.filter(isPublic);
  if (messages.length + context.length === 0) return undefined;
  const dialog = newestThatFit(messages, 'DIALOG', bytesMax);
  // Calls are shown with the messages of their turn: those of turns that are left out are not even read.
  const turns = new Set(dialog.map(({ correlation }) => correlation));
  // probe: history-own-calls
  const calls = entries.filter(({ agent_id: by, correlation }) => by === agent && turns.has(correlation));
  const shown = [...newestThatFit(messages, 'CONTEXT', bytesMax), ...dialog];
  const chosen = new Set([...shown, ...newestThatFit(calls, 'TOOLS', bytesMax)]);
  const given = context.map((text): HistoryEntry => ({ agent: null, category: 'CONTEXT', text }));
  return {
    conversation,
    leftOut: older + messages.length - shown.length,
    entries: [
      ...entries.filter((entry) => chosen.has(entry)).map((entry) => toHistoryEntry(entry, bytesMax)),
      ...given,
    ],
    ...(given.length === 0 ? {} : { given: given.length }),
  };
};

const newestThatFit = (
  entries: readonly TurnEntry[],
  category: TurnEntry['category'],
  bytesMax: number,
): readonly TurnEntry[] => {
  const fit: TurnEntry[] = [];
  let bytes = 0;
  for (const entry of entries.toReversed()) {
    if (entry.category !== category) continue;
    bytes += historyEntryBytes(entry, bytesMax);
    if (bytes > bytesMax) break;
    fit.push(entry);
  }
  return fit;
};

/** How much of `bytesMax` the entry uses. */
export const historyEntryBytes = (entry: TurnEntry, bytesMax: number): number =>
  utf8Bytes(JSON.stringify(toHistoryEntry(entry, bytesMax))) + 1;

/** One message may use at most a quarter of the space, so that it does not push out all earlier ones. */
const toHistoryEntry = (
  { agent_id: agent, message_type: type, category, text, call, attachments }: TurnEntry,
  bytesMax: number,
): HistoryEntry => ({
  // `message` entries come from a person and `result` entries from an agent, whatever the agent's name.
  agent: type === 'message' ? null : agent,
  category,
  text: category === 'CONTEXT' ? text : shorten(text, Math.floor(bytesMax / 4)),
  ...(call === undefined ? {} : { call }),
  ...(attachments === undefined || type !== 'message'
    ? {}
    : { attachments: attachments.map((one) => shortenText(one, Math.floor(bytesMax / 4 / attachments.length))) }),
});

/** Of a long text only the beginning, as of a long message. */
const shortenText = (attachment: StoredAttachment, bytesMax: number): StoredAttachment =>
  'text' in attachment ? { ...attachment, text: shorten(attachment.text, bytesMax) } : attachment;

const shorten = (text: string, bytesMax: number): string => {
  const bytes = utf8Bytes(text);
  if (bytes <= bytesMax) return text;
  return `${cutBytes(text, Math.max(0, bytesMax - 60))} … [shortened from ${bytes} bytes]`;
};

/** Turns a dialog that a caller sent, and that is not stored here, into entries of a conversation. */
export const dialogEntries = ({ name }: Agent, dialog: readonly StoredDialogMessage[]): readonly Entry[] =>
  dialog.map(({ by, text, attachments }, index) => ({
    id: `dialog/${index}`,
    agent_id: by === 'agent' ? name : 'person',
    recipient_id: by === 'agent' ? 'person' : name,
    message_type: by === 'agent' ? 'result' : 'message',
    category: 'DIALOG',
    correlation: '' as RunId,
    at: 0,
    text,
    ...(attachments === undefined ? {} : { attachments }),
  }));
