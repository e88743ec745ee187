// What an agent is told of a conversation when it takes its next turn in it.
import { CloisterError, utf8Bytes } from '#base';
import type { RunId } from '#base';
import type { Agent, Entry, History, HistoryEntry, DialogMessage } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import type { TurnNode } from './turn-chain.ts';

/** An attachment, or the agent's own grant, lets it hear what was said to and by others. Throws `conversation_refused`. */
export const checkMayReadConversation = (conversation: ConversationState, { name, grants }: Agent): void => {
  const { ref, attached, branched } = conversation;
  const own = ref.agent === name && branched?.foreign !== true;
  if (own || attached.includes(name) || grants.includes('history')) return;
  throw new CloisterError('conversation_refused', `"${name}", in the conversation "${ref.name}" of "${ref.agent}".`);
};

/** The same of a turn that was begun earlier: who was detached since, or what was deleted, is not gone on with. */
export const checkMayContinueTurn = (conversation: ConversationState, agent: Agent | undefined): void => {
  const { ref, deletedAt } = conversation;
  if (deletedAt !== null) throw new CloisterError('conversation_deleted', `"${ref.name}" of "${ref.agent}".`);
  if (agent !== undefined) checkMayReadConversation(conversation, agent);
};

/** The same of a run that is taken up again. The one that a branch began with is its agent's, also where that is not attached. */
export const checkMayResumeRun = (conversation: ConversationState, node: TurnNode, agent: Agent | undefined): void => {
  const { branched } = conversation;
  const beganIt = branched !== null && node.previous === null && node.from?.id === branched.checkpoint;
  checkMayContinueTurn(conversation, beganIt ? undefined : agent);
};

export type HistoryInput = {
  readonly conversation: string;
  readonly entries: readonly Entry[];
  /** How many older ones there are. */
  readonly older?: number;
  /** What the turn is given besides. */
  readonly context: readonly string[];
  readonly bytesMax: number;
};

/**
 * What was given to know, then the newest of what was said, each within its bounds; and all that comes with this turn. What
 * does not fit the window gives way there, in its order. Undefined when there is nothing to tell.
 */
export const historyFor = ({
  conversation,
  entries,
  older = 0,
  context,
  bytesMax,
}: HistoryInput): History | undefined => {
  if (entries.length + context.length === 0) return undefined;
  const told = new Set([...newestThatFit(entries, 'CONTEXT', bytesMax), ...newestThatFit(entries, 'DIALOG', bytesMax)]);
  const given = context.map((text): HistoryEntry => ({ agent: null, category: 'CONTEXT', text }));
  return {
    conversation,
    leftOut: older + entries.length - told.size,
    entries: [...entries.filter((entry) => told.has(entry)).map((entry) => toldOf(entry, bytesMax)), ...given],
    ...(given.length === 0 ? {} : { given: given.length }),
  };
};

const newestThatFit = (entries: readonly Entry[], category: Entry['category'], bytesMax: number): readonly Entry[] => {
  const fit: Entry[] = [];
  let bytes = 0;
  for (const entry of entries.toReversed()) {
    if (entry.category !== category) continue;
    bytes += historyEntryBytes(entry, bytesMax);
    if (bytes > bytesMax) break;
    fit.push(entry);
  }
  return fit;
};

/** What it takes of the room for such messages. */
export const historyEntryBytes = (entry: Entry, bytesMax: number): number =>
  utf8Bytes(JSON.stringify(toldOf(entry, bytesMax))) + 1;

/** One message alone takes a quarter at most: it must not push out all that was said before it. */
const toldOf = ({ agent_id: agent, message_type: type, category, text }: Entry, bytesMax: number): HistoryEntry => ({
  // What a person said is a message, what an agent said is a result, whatever its name.
  agent: type === 'message' ? null : agent,
  category,
  text: category === 'CONTEXT' ? text : shortened(text, Math.floor(bytesMax / 4)),
});

const shortened = (text: string, bytesMax: number): string => {
  const bytes = utf8Bytes(text);
  if (bytes <= bytesMax) return text;
  const beginning = Buffer.from(text)
    .subarray(0, Math.max(0, bytesMax - 60))
    .toString()
    .replace(/\uFFFD+$/u, '');
  return `${beginning} … [shortened: it had ${bytes} bytes]`;
};

/** What a caller tells of a dialog that nobody here has kept, as entries of a conversation. */
export const entriesOf = ({ name }: Agent, said: readonly DialogMessage[]): readonly Entry[] =>
  said.map(({ by, text }, place) => ({
    id: `told/${place}`,
    agent_id: by === 'agent' ? name : 'person',
    recipient_id: by === 'agent' ? 'person' : name,
    message_type: by === 'agent' ? 'result' : 'message',
    category: 'DIALOG',
    correlation: '' as RunId,
    at: 0,
    text,
  }));
