// With whom one chats, and where the next message goes.
import { computed, signal } from '@preact/signals';
import { address } from '../address.ts';
import { agents, run, source } from '../state.ts';
import type { Spent } from '#contracts';

export type ConversationRow = { readonly agent: string; readonly name: string; readonly turns: number };

export type ConversationTurn = {
  readonly run: string;
  readonly goal: string;
  readonly output: string;
  readonly status: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly spent: Spent | null;
  /** The runs that were this turn at some time, oldest first. */
  readonly versions?: readonly string[];
  /** Of the conversation that this one was branched from. */
  readonly inherited?: boolean;
};

/** `more`: there are turns before these. */
export type ConversationTurns = { readonly turns: readonly ConversationTurn[]; readonly more?: boolean };

export const shownAgent = computed(
  () => address.value.agent ?? run.value?.facts.value?.agent ?? agents.value[0]?.name ?? null,
);

/** Null: what is shown belongs to none. */
export const shownConversation = computed(
  () => address.value.conversation ?? run.value?.facts.value?.conversation?.name ?? null,
);

/** What becomes of a message while no conversation is shown: it begins one, or it stands alone. */
export const beginsConversation = signal(true);

/** Of the shown agent, newest first; null: not known yet, or the server cannot say. */
export const conversations = signal<readonly ConversationRow[] | null>(null);

export const readConversations = async (agent: string): Promise<void> => {
  if (isKeptFile) return;
  const read = await source.value
    .get<{ conversations: readonly ConversationRow[] }>('/conversations', { agent })
    .catch(() => null);
  conversations.value = read?.conversations.filter((one) => one.agent === agent) ?? null;
};

/** The turns of a conversation, oldest first; null: the server cannot say. */
export const readTurns = async (agent: string, name: string): Promise<ConversationTurns | null> => {
  if (isKeptFile) return null;
  const path = `/conversations/${encodeURIComponent(agent)}/${encodeURIComponent(name)}`;
  return source.value.get<ConversationTurns>(path).catch(() => null);
};
