// What the pages of the book add up to: the conversations with their turns, and the checkpoints.
//
//   S1. A conversation goes on from its newest turn; each turn knows the one before it. Going back moves only that pointer, so
//       what was left behind can be gone back to.
//   S2. What was purged is not there any more, nor are its checkpoints; its name can be used anew.
import type { RunId } from '#base';
import type { BookPage, BookRecord, Checkpoint, ConversationRef } from '#contracts';

export type TurnNode = {
  readonly run: RunId;
  readonly agent: string;
  readonly at: number;
  readonly previous: TurnNode | null;
  /** The cut that its log begins with, if it goes on from one. */
  readonly from: Checkpoint | null;
};

export type Branched = {
  readonly checkpoint: string;
  readonly origin: ConversationRef | null;
  /** Where its first entries are kept; null when it has none. */
  readonly entries: string | null;
  /** Whether those are of another agent's conversation. */
  readonly foreign: boolean;
};

export type ConversationState = {
  readonly ref: ConversationRef;
  readonly attached: readonly string[];
  readonly startedAt: number;
  readonly newestAt: number;
  readonly deletedAt: number | null;
  readonly branched: Branched | null;
  readonly newest: TurnNode | null;
  /** All that were ever taken, those that no longer count too. */
  readonly nodes: ReadonlyMap<RunId, TurnNode>;
};

export type BookState = {
  /** By `keyOf`, in the order of their beginnings. */
  readonly conversations: ReadonlyMap<string, ConversationState>;
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  /** The number of the newest page; -1 when there is none. */
  readonly page: number;
};

export const keyOf = ({ agent, name }: ConversationRef): string => JSON.stringify([agent, name]);

export const foldBook = (pages: readonly BookPage[]): BookState => {
  const draft: Draft = { conversations: new Map(), checkpoints: new Map() };
  for (const page of pages) readPage(draft, page);
  return { ...draft, page: pages.at(-1)?.no ?? -1 };
};

/** The turns that count, oldest first. */
export const turnsOf = ({ newest }: Pick<ConversationState, 'newest'>): readonly TurnNode[] => {
  const turns: TurnNode[] = [];
  for (let node = newest; node !== null; node = node.previous) turns.push(node);
  return turns.toReversed();
};

type Kept = { -readonly [K in keyof ConversationState]: ConversationState[K] } & { nodes: Map<RunId, TurnNode> };
type Draft = { readonly conversations: Map<string, Kept>; readonly checkpoints: Map<string, Checkpoint> };

const readPage = (draft: Draft, { at, record }: BookPage): void => {
  switch (record.type) {
    case 'turn': {
      const kept = begin(draft, record.conversation, at);
      addTurn(kept, { run: record.run, agent: record.agent, at, previous: kept.newest, from: null });
      return;
    }
    case 'attach':
    case 'detach':
      return readAttached(draft, record);
    case 'delete':
    case 'undelete': {
      const kept = draft.conversations.get(keyOf(record.conversation));
      if (kept !== undefined) kept.deletedAt = record.type === 'delete' ? at : null;
      return;
    }
    case 'purge':
      return readPurge(draft, record.conversation);
    case 'checkpoint':
      draft.checkpoints.set(record.checkpoint.id, record.checkpoint);
      return;
    case 'forget':
      for (const id of record.checkpoints) draft.checkpoints.delete(id);
      return;
    case 'restore':
      return readRestore(draft, record, at);
    case 'branch':
      return readBranch(draft, record, at);
  }
};

const begin = ({ conversations }: Draft, ref: ConversationRef, at: number): Kept => {
  const known = conversations.get(keyOf(ref));
  if (known !== undefined) return known;
  const { agent, name } = ref;
  const made: Kept = {
    ref: { agent, name },
    attached: [],
    startedAt: at,
    newestAt: at,
    deletedAt: null,
    branched: null,
    newest: null,
    nodes: new Map(),
  };
  conversations.set(keyOf(ref), made);
  return made;
};

const addTurn = (kept: Kept, node: TurnNode): void => {
  kept.nodes.set(node.run, node);
  kept.newest = node;
  kept.newestAt = node.at;
};

const readAttached = (
  { conversations }: Draft,
  { type, conversation, agent }: Extract<BookRecord, { type: 'attach' | 'detach' }>,
): void => {
  const kept = conversations.get(keyOf(conversation));
  if (kept === undefined) return;
  const others = kept.attached.filter((one) => one !== agent);
  kept.attached = type === 'attach' ? [...others, agent] : others;
};

const readPurge = ({ conversations, checkpoints }: Draft, ref: ConversationRef): void => {
  conversations.delete(keyOf(ref));
  for (const [id, { conversation }] of checkpoints)
    if (conversation !== null && keyOf(conversation) === keyOf(ref)) checkpoints.delete(id);
};

const readRestore = (draft: Draft, record: Extract<BookRecord, { type: 'restore' }>, at: number): void => {
  const { conversation, run } = record;
  const kept = conversation === null ? undefined : draft.conversations.get(keyOf(conversation));
  const from = draft.checkpoints.get(record.checkpoint);
  const node = from === undefined ? undefined : kept?.nodes.get(from.run);
  if (kept === undefined || from === undefined || node === undefined) return;
  if (run !== null) return addTurn(kept, { run, agent: node.agent, at, previous: node.previous, from });
  kept.newest = node;
  kept.newestAt = at;
};

const readBranch = (draft: Draft, record: Extract<BookRecord, { type: 'branch' }>, at: number): void => {
  const { conversation, entries, run } = record;
  const from = draft.checkpoints.get(record.checkpoint);
  if (conversation === null || from === undefined) return;
  const origin = from.conversation;
  const before = origin === null ? undefined : draft.conversations.get(keyOf(origin));
  const foreign = (origin?.agent ?? from.agent) !== conversation.agent || before?.branched?.foreign === true;
  const kept = begin(draft, conversation, at);
  kept.branched = { checkpoint: from.id, origin, entries, foreign };
  if (run !== null) addTurn(kept, { run, agent: from.agent, at, previous: null, from });
};
