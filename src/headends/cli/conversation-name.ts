// The name of a conversation, as users type it.
import type { ConversationRef } from '#contracts';

/** `<agent>/<name>`. */
export const formatConversation = ({ agent, name }: ConversationRef): string => `${agent}/${name}`;

/** Completes a name with its agent; without a name, `main`. */
export const fullConversation = (given: string | ConversationRef | null, agent: string): ConversationRef =>
  given === null || typeof given === 'string' ? { agent, name: given ?? 'main' } : given;
