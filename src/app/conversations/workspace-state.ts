// What the pages of the book add up to: the conversations with their turns, and the checkpoints.
//
//   S1. A conversation goes on from its newest turn; each turn knows the one before it. Going back moves only that pointer, so
//       what was left behind can be gone back to.
//   S3. A checkpoint is a moment of its whole conversation: where the line of turns ended then, and how far each had come.
//   S2. What was purged is not there any more, nor are its checkpoints; its name can be used anew.
import type { RunId } from '#base';
import type { WorkspaceEntry, WorkspaceRecord, Checkpoint, ConversationRef, RunEnd } from '#contracts';
import { restoredLine, turnsAt, turnsOf } from './turn-chain.ts';
import type { TurnNode } from './turn-chain.ts';

export type BranchInfo = {
  readonly checkpoint: string;
  readonly origin: ConversationRef | null;
  /** Where its first entries are kept; null when it has none. */
  readonly entries: string | null;
  /** So many of them were said before the run that goes on with it began; the others while it was under way. */
  readonly before: number;
  /** Whether those are of another agent's conversation. */
  readonly foreign: boolean;
};

export type ConversationState = {
  readonly ref: ConversationRef;
  readonly attached: readonly string[];
  readonly startedAt: number;
  readonly newestAt: number;
  readonly deletedAt: number | null;
  readonly branched: BranchInfo | null;
  readonly newest: TurnNode | null;
  /** All that were ever taken, those that no longer count too. */
  readonly nodes: ReadonlyMap<RunId, TurnNode>;
  /** Those of them that are known to be over. */
  readonly ended: ReadonlyMap<RunId, RunEnd>;
};

export type WorkspaceState = {
  /** By `keyOf`, in the order of their beginnings. */
  readonly conversations: ReadonlyMap<string, ConversationState>;
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  /** Of those of conversations: the newest turn when they were taken. */
  readonly takenAt: ReadonlyMap<string, TurnNode | null>;
  /** The number of the newest page; -1 when there is none. */
  readonly page: number;
};

export const conversationKey = ({ agent, name }: ConversationRef): string => JSON.stringify([agent, name]);

export const emptyWorkspaceState: WorkspaceState = {
  conversations: new Map(),
  checkpoints: new Map(),
  takenAt: new Map(),
  page: -1,
};

/** `before`: what the pages before these add up to. It stays as it is. */
export const foldWorkspaceLog = (
  pages: readonly WorkspaceEntry[],
  before: WorkspaceState = emptyWorkspaceState,
): WorkspaceState => {
  if (pages.length === 0) return before;
  const draft: Draft = {
    conversations: new Map(before.conversations as ReadonlyMap<string, Kept>),
    checkpoints: new Map(before.checkpoints),
    takenAt: new Map(before.takenAt),
    own: new Set(),
  };
  for (const page of pages) readPage(draft, page);
  const { conversations, checkpoints, takenAt } = draft;
  return { conversations, checkpoints, takenAt, page: pages.at(-1)!.no };
};

type Kept = { -readonly [K in keyof ConversationState]: ConversationState[K] } & {
  nodes: Map<RunId, TurnNode>;
  ended: Map<RunId, RunEnd>;
};
type Draft = {
  readonly conversations: Map<string, Kept>;
  readonly checkpoints: Map<string, Checkpoint>;
  readonly takenAt: Map<string, TurnNode | null>;
  /** Those that were made or copied here: only they may be changed. */
  readonly own: Set<Kept>;
};

const toChange = ({ conversations, own }: Draft, ref: ConversationRef): Kept | undefined => {
  const key = conversationKey(ref);
  const kept = conversations.get(key);
  if (kept === undefined || own.has(kept)) return kept;
  const copy = { ...kept, nodes: new Map(kept.nodes), ended: new Map(kept.ended) };
  own.add(copy);
  conversations.set(key, copy);
  return copy;
};

const readPage = (draft: Draft, { at, record }: WorkspaceEntry): void => {
  switch (record.type) {
    case 'turn': {
      const kept = begin(draft, record.conversation, at);
      addTurn(kept, { run: record.run, agent: record.agent, at, previous: kept.newest, from: null, frames: null });
      return;
    }
    case 'attach':
    case 'detach':
      return readAttached(draft, record);
    case 'delete':
    case 'undelete': {
      const kept = toChange(draft, record.conversation);
      if (kept !== undefined) kept.deletedAt = record.type === 'delete' ? at : null;
      return;
    }
    case 'purge':
      return readPurge(draft, record.conversation);
    case 'checkpoint':
      return readCheckpoint(draft, record.checkpoint);
    case 'forget':
      for (const id of record.checkpoints) forget(draft, id);
      return;
    case 'restore':
      return readRestore(draft, record, at);
    case 'branch':
      return readBranch(draft, record, at);
  }
};

const begin = (draft: Draft, ref: ConversationRef, at: number): Kept => {
  const known = toChange(draft, ref);
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
    ended: new Map(),
  };
  draft.own.add(made);
  draft.conversations.set(conversationKey(ref), made);
  return made;
};

const addTurn = (kept: Kept, node: TurnNode): void => {
  kept.nodes.set(node.run, node);
  kept.newest = node;
  kept.newestAt = node.at;
};

const readAttached = (
  draft: Draft,
  { type, conversation, agent }: Extract<WorkspaceRecord, { type: 'attach' | 'detach' }>,
): void => {
  const kept = toChange(draft, conversation);
  if (kept === undefined) return;
  const others = kept.attached.filter((one) => one !== agent);
  kept.attached = type === 'attach' ? [...others, agent] : others;
};

const readPurge = (draft: Draft, ref: ConversationRef): void => {
  draft.conversations.delete(conversationKey(ref));
  for (const [id, { conversation }] of draft.checkpoints)
    if (conversation !== null && conversationKey(conversation) === conversationKey(ref)) forget(draft, id);
};

const readCheckpoint = (draft: Draft, checkpoint: Checkpoint): void => {
  const { id, conversation, run, ended } = checkpoint;
  draft.checkpoints.set(id, checkpoint);
  if (conversation === null) return;
  const kept = toChange(draft, conversation);
  draft.takenAt.set(id, kept?.newest ?? null);
  if (ended !== undefined) kept?.ended.set(run, ended);
};

const forget = ({ checkpoints, takenAt }: Draft, id: string): void => {
  checkpoints.delete(id);
  takenAt.delete(id);
};

const readRestore = (draft: Draft, record: Extract<WorkspaceRecord, { type: 'restore' }>, at: number): void => {
  const { conversation, run } = record;
  const kept = conversation === null ? undefined : toChange(draft, conversation);
  const from = draft.checkpoints.get(record.checkpoint);
  const node = from === undefined ? undefined : kept?.nodes.get(from.run);
  if (kept === undefined || from === undefined || node === undefined) return;
  const turns = turnsAt(from, node, /* probe: restore-taken-at */ draft.takenAt.get(from.id) ?? null);
  // probe: restore-newest-turn
  kept.newest = restoredLine(turns, from.run, run === null ? {} : { run, at, from });
  kept.newestAt = at;
  if (run !== null)
    kept.nodes.set(
      run,
      turnsOf(kept).find((turn) => turn.run === run)!,
    );
};

const readBranch = (draft: Draft, record: Extract<WorkspaceRecord, { type: 'branch' }>, at: number): void => {
  const { conversation, entries, run } = record;
  const from = draft.checkpoints.get(record.checkpoint);
  if (conversation === null || from === undefined) return;
  const origin = from.conversation;
  const before = origin === null ? undefined : draft.conversations.get(conversationKey(origin));
  const foreign = (origin?.agent ?? from.agent) !== conversation.agent || before?.branched?.foreign === true;
  const kept = begin(draft, conversation, at);
  kept.branched = { checkpoint: from.id, origin, entries, before: record.before ?? Infinity, foreign };
  // probe: branch-first-turn
  if (run !== null) addTurn(kept, { run, agent: from.agent, at, previous: null, from, frames: null });
};
