// A conversation's name as people type it.
import type { ConversationRef } from '#contracts';

/** `<agent>/<name>`. */
export const conversationWords = ({ agent, name }: ConversationRef): string => `${agent}/${name}`;

/** In full, whichever way it was given; `main` is the one that needs no name. */
export const fullConversation = (given: string | ConversationRef | null, agent: string): ConversationRef =>
  given === null || typeof given === 'string' ? { agent, name: given ?? 'main' } : given;
