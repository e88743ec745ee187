// What an agent is told of a conversation when it takes its next turn in it.
import { CloisterError, utf8Bytes } from '#base';
import type { History, Agent, Entry, HistoryEntry } from '#contracts';
import type { ConversationState } from './book-state.ts';

/** An attachment, or the agent's own grant, lets it hear what was said to and by others. Throws `conversation_refused`. */
export const checkMayHear = (conversation: ConversationState, { name, grants }: Agent): void => {
  const { ref, attached, branched } = conversation;
  const own = ref.agent === name && branched?.foreign !== true;
  if (own || attached.includes(name) || grants.includes('history')) return;
  throw new CloisterError('conversation_refused', `"${name}", in the conversation "${ref.name}" of "${ref.agent}".`);
};

export type Told = {
  readonly conversation: string;
  readonly entries: readonly Entry[];
  /** What the turn is given besides. */
  readonly context: readonly string[];
  readonly bytesMax: number;
};

/** The newest entries that fit, and all of the context; undefined when there is nothing to tell. */
export const historyFor = ({ conversation, entries, context, bytesMax }: Told): History | undefined => {
  if (entries.length + context.length === 0) return undefined;
  const told: HistoryEntry[] = [];
  let bytes = 0;
  for (const entry of entries.toReversed()) {
    const one = toldOf(entry);
    bytes += utf8Bytes(JSON.stringify(one)) + 1;
    if (bytes > bytesMax) break;
    told.push(one);
  }
  const given = context.map((text): HistoryEntry => ({ agent: null, category: 'CONTEXT', text }));
  return {
    conversation,
    leftOut: entries.length - told.length,
    entries: [...told.toReversed(), ...given],
    ...(given.length === 0 ? {} : { given: given.length }),
  };
};

const toldOf = ({ agent_id: agent, category, text }: Entry): HistoryEntry => ({
  agent: agent === 'person' ? null : agent,
  category,
  text,
});
