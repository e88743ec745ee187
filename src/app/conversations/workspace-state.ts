// The state that follows from the workspace log: conversations with their turns, and checkpoints.
//
//   conversation-continues-newest. A conversation continues from its newest turn; each turn refers to the previous one. A
//       restore only moves that pointer, so the turns left behind can still be restored.
//   conversation-purged-is-gone. A purged conversation and its checkpoints are gone; its name can be reused.
//   checkpoint-covers-conversation. A checkpoint covers its whole conversation: the newest turn at that time, and how far each
//       turn had progressed.
import type { RunId } from '#base';
import type {
  Checkpoint,
  ConversationRef,
  RunEnd,
  Tombstone,
  TurnRef,
  WorkspaceEntry,
  WorkspaceRecord,
} from '#contracts';
import { restoredChain, turnsAt, listTurns } from './entries.ts';
import type { TurnNode } from './entries.ts';

type BranchInfo = {
  readonly checkpoint: string;
  readonly origin: ConversationRef | null;
  /** The blob with its first entries; null when it has none. */
  readonly entries: string | null;
  /** How many of them precede the run that continues in the branch; the others were added during that run. */
  readonly before: number;
  /** The newest turn of each agent at the checkpoint. */
  readonly turns: readonly TurnRef[];
  /** Whether the entries come from another agent's conversation. */
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
  /** All turns ever taken, including those that no longer count. */
  readonly nodes: ReadonlyMap<RunId, TurnNode>;
  /** The turns that are known to have ended. */
  readonly ended: ReadonlyMap<RunId, RunEnd>;
};

export type WorkspaceState = {
  /** By `conversationKey`, in order of creation. */
  readonly conversations: ReadonlyMap<string, ConversationState>;
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  /** For checkpoints of conversations: the newest turn when the checkpoint was taken. */
  readonly newestTurnByCheckpoint: ReadonlyMap<string, TurnNode | null>;
  /** Runs that were deleted. What follows from them is still here: `withoutDeleted` leaves it out. */
  readonly deleted: ReadonlyMap<RunId, Tombstone>;
  /** The number of the newest entry; -1 when the log is empty. */
  readonly lastEntryNo: number;
};

export const conversationKey = ({ agent, name }: ConversationRef): string => JSON.stringify([agent, name]);

const emptyWorkspaceState: WorkspaceState = {
  conversations: new Map(),
  checkpoints: new Map(),
  newestTurnByCheckpoint: new Map(),
  deleted: new Map(),
  lastEntryNo: -1,
};

/** `before`: the state before these entries; it is not modified. */
export const foldWorkspaceLog = (
  entries: readonly WorkspaceEntry[],
  before: WorkspaceState = emptyWorkspaceState,
): WorkspaceState => {
  if (entries.length === 0) return before;
  const draft: StateDraft = {
    conversations: new Map(before.conversations as ReadonlyMap<string, MutableConversation>),
    checkpoints: new Map(before.checkpoints),
    newestTurnByCheckpoint: new Map(before.newestTurnByCheckpoint),
    deleted: new Map(before.deleted),
    own: new Set(),
  };
  for (const entry of entries) applyEntry(draft, entry);
  const { conversations, checkpoints, newestTurnByCheckpoint, deleted } = draft;
  return { conversations, checkpoints, newestTurnByCheckpoint, deleted, lastEntryNo: entries.at(-1)!.no };
};

type MutableConversation = { -readonly [K in keyof ConversationState]: ConversationState[K] } & {
  nodes: Map<RunId, TurnNode>;
  ended: Map<RunId, RunEnd>;
};
type StateDraft = {
  readonly conversations: Map<string, MutableConversation>;
  readonly checkpoints: Map<string, Checkpoint>;
  readonly newestTurnByCheckpoint: Map<string, TurnNode | null>;
  readonly deleted: Map<RunId, Tombstone>;
  /** Conversations that were created or copied here; only these may be modified. */
  readonly own: Set<MutableConversation>;
};

const getMutable = ({ conversations, own }: StateDraft, ref: ConversationRef): MutableConversation | undefined => {
  const key = conversationKey(ref);
  const conversationState = conversations.get(key);
  if (conversationState === undefined || own.has(conversationState)) return conversationState;
  const copy = {
    ...conversationState,
    nodes: new Map(conversationState.nodes),
    ended: new Map(conversationState.ended),
  };
  own.add(copy);
  conversations.set(key, copy);
  return copy;
};

const applyEntry = (draft: StateDraft, { at, record }: WorkspaceEntry): void => {
  switch (record.type) {
    case 'turn': {
      const conversationState = getOrCreate(draft, record.conversation, at);
      addTurn(conversationState, {
        run: record.run,
        agent: record.agent,
        at,
        previous: conversationState.newest,
        from: null,
        frames: null,
      });
      return;
    }
    case 'attach':
    case 'detach':
      return applyAttachment(draft, record);
    case 'delete':
    case 'undelete': {
      const conversationState = getMutable(draft, record.conversation);
      if (conversationState !== undefined) conversationState.deletedAt = record.type === 'delete' ? at : null;
      return;
    }
    case 'purge':
      return applyPurge(draft, record.conversation);
    case 'checkpoint':
      return applyCheckpoint(draft, record.checkpoint);
    case 'forget':
      for (const id of record.checkpoints) forget(draft, id);
      return;
    case 'restore':
      return applyRestore(draft, record, at);
    case 'branch':
      return applyBranch(draft, record, at);
    case 'tombstone':
      return void draft.deleted.set(record.tombstone.run, record.tombstone);
    case 'import':
      return void draft.deleted.delete(record.run);
  }
};

const getOrCreate = (draft: StateDraft, ref: ConversationRef, at: number): MutableConversation => {
  const known = getMutable(draft, ref);
  if (known !== undefined) return known;
  const { agent, name } = ref;
  const created: MutableConversation = {
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
  draft.own.add(created);
  draft.conversations.set(conversationKey(ref), created);
  return created;
};

const addTurn = (conversationState: MutableConversation, node: TurnNode): void => {
  conversationState.nodes.set(node.run, node);
  conversationState.newest = node;
  conversationState.newestAt = node.at;
};

const applyAttachment = (
  draft: StateDraft,
  { type, conversation, agent }: Extract<WorkspaceRecord, { type: 'attach' | 'detach' }>,
): void => {
  const conversationState = getMutable(draft, conversation);
  if (conversationState === undefined) return;
  const others = conversationState.attached.filter((one) => one !== agent);
  conversationState.attached = type === 'attach' ? [...others, agent] : others;
};

const applyPurge = (draft: StateDraft, ref: ConversationRef): void => {
  draft.conversations.delete(conversationKey(ref));
  for (const [id, { conversation }] of draft.checkpoints)
    if (conversation !== null && conversationKey(conversation) === conversationKey(ref)) forget(draft, id);
};

const applyCheckpoint = (draft: StateDraft, checkpoint: Checkpoint): void => {
  const { id, conversation, run, ended } = checkpoint;
  draft.checkpoints.set(id, checkpoint);
  if (conversation === null) return;
  const conversationState = getMutable(draft, conversation);
  draft.newestTurnByCheckpoint.set(id, conversationState?.newest ?? null);
  if (ended !== undefined) conversationState?.ended.set(run, ended);
};

const forget = ({ checkpoints, newestTurnByCheckpoint }: StateDraft, id: string): void => {
  checkpoints.delete(id);
  newestTurnByCheckpoint.delete(id);
};

const applyRestore = (draft: StateDraft, record: Extract<WorkspaceRecord, { type: 'restore' }>, at: number): void => {
  const { conversation, run } = record;
  const conversationState = conversation === null ? undefined : getMutable(draft, conversation);
  const from = draft.checkpoints.get(record.checkpoint);
  const node = from === undefined ? undefined : conversationState?.nodes.get(from.run);
  if (conversationState === undefined || from === undefined || node === undefined) return;
  const turns = turnsAt(from, node, /* probe: restore-taken-at */ draft.newestTurnByCheckpoint.get(from.id) ?? null);
  // probe: restore-newest-turn
  conversationState.newest = restoredChain(turns, from.run, run === null ? {} : { run, at, from });
  conversationState.newestAt = at;
  if (run !== null)
    conversationState.nodes.set(
      run,
      listTurns(conversationState).find((turn) => turn.run === run)!,
    );
};

const applyBranch = (draft: StateDraft, record: Extract<WorkspaceRecord, { type: 'branch' }>, at: number): void => {
  const { conversation, entries, run, turns = [] } = record;
  const from = draft.checkpoints.get(record.checkpoint);
  if (conversation === null || from === undefined) return;
  const origin = from.conversation;
  const before = origin === null ? undefined : draft.conversations.get(conversationKey(origin));
  const foreign = (origin?.agent ?? from.agent) !== conversation.agent || before?.branched?.foreign === true;
  const conversationState = getOrCreate(draft, conversation, at);
  conversationState.branched = {
    checkpoint: from.id,
    origin,
    entries,
    before: record.before ?? Infinity,
    turns,
    foreign,
  };
  // probe: branch-first-turn
  if (run !== null) addTurn(conversationState, { run, agent: from.agent, at, previous: null, from, frames: null });
};
