// What conversations and checkpoints hold of runs, and how it goes when the runs are deleted.
//
//   copies-from-records. What holds a run's messages follows from the workspace log, and from what branches have stored.
//   exports-forget. The exported files of conversations and checkpoints are written anew, or removed, and that may be repeated.
import type { JsonObject, RunId } from '#base';
import { isObject } from '#base';
import type { Checkpoint, ConversationRef, RunCopy, Tombstone } from '#contracts';
import { readWholeState, readWorkspaceState, retryOnConflict } from './conversation-ports.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { hashesOfCheckpoint, removeCheckpointFiles } from './export-checkpoint.ts';
import { writeConversationFile } from './export-conversation.ts';
import { conversationKey } from './workspace-state.ts';
import type { ConversationState, WorkspaceState } from './workspace-state.ts';
import { listTurns } from './entries.ts';

/** `copies` without forks, which only the logs of runs know. */
type ConversationCopies = {
  readonly copies: readonly RunCopy[];
  /** The state of the workspace log that this is about. */
  readonly lastEntryNo: number;
};

export class RunCopies {
  readonly #ports: ConversationPorts;

  constructor(ports: ConversationPorts) {
    this.#ports = ports;
  }

  async find(runs: ReadonlySet<RunId>): Promise<ConversationCopies> {
    const state = await readWorkspaceState(this.#ports.store);
    const copies: RunCopy[] = [];
    for (const one of state.conversations.values()) {
      copies.push(...laterTurns(one, runs));
      const stored = one.branched === null ? [] : await this.#ports.reader.branchEntries(one);
      if (stored.some(({ correlation }) => runs.has(correlation)))
        copies.push({ kind: 'branch', conversation: one.ref });
    }
    const whole = await readWholeState(this.#ports.store);
    for (const one of whole.conversations.values())
      for (const turn of laterTurns(one, runs))
        if (isArchived(whole, turn.run)) copies.push({ ...turn, isArchived: true });
    for (const { id, run, why } of state.checkpoints.values())
      if (why === 'asked' && runs.has(run)) copies.push({ kind: 'checkpoint', checkpoint: id, run });
    return { copies, lastEntryNo: state.lastEntryNo };
  }

  /** All runs that are or were turns of a conversation; null if there is none. */
  async runsOf(ref: ConversationRef): Promise<readonly RunId[] | null> {
    const found = (await readWorkspaceState(this.#ports.store)).conversations.get(conversationKey(ref));
    return found === undefined ? null : [...found.nodes.keys()];
  }

  /** The turns of a conversation that are in archives. */
  async archivedRunsOf(ref: ConversationRef): Promise<readonly RunId[]> {
    const whole = await readWholeState(this.#ports.store);
    const nodes = whole.conversations.get(conversationKey(ref))?.nodes ?? new Map<RunId, unknown>();
    return [...nodes.keys()].filter((run) => isArchived(whole, run));
  }

  /** The conversations whose names begin like this. */
  async named(prefix: string): Promise<readonly ConversationRef[]> {
    const { conversations } = await readWorkspaceState(this.#ports.store);
    return [...conversations.values()].flatMap(({ ref }) => (ref.name.startsWith(prefix) ? [ref] : []));
  }

  /** Conversations with their turns; the runs with a checkpoint that somebody asked for; those of which a branch has copies. */
  async kept(): Promise<{
    readonly conversations: readonly ConversationState[];
    readonly asked: ReadonlySet<RunId>;
    readonly branches: ReadonlySet<RunId>;
  }> {
    const { conversations, checkpoints } = await readWorkspaceState(this.#ports.store);
    const asked = [...checkpoints.values()].flatMap(({ why, run }) => (why === 'asked' ? [run] : []));
    const branches = new Set<RunId>();
    for (const one of conversations.values())
      for (const { correlation } of one.branched === null ? [] : await this.#ports.reader.branchEntries(one))
        branches.add(correlation);
    return { conversations: [...conversations.values()], asked: new Set(asked), branches };
  }

  /** What must be done in exported files once these runs are deleted; and the blobs that only the conversations refer to. */
  async planCleanup(
    runs: ReadonlySet<RunId>,
    purged: readonly ConversationRef[],
  ): Promise<{ readonly cleanup: JsonObject; readonly blobs: readonly string[] }> {
    const state = await readWorkspaceState(this.#ports.store);
    const gone = new Set(purged.map(conversationKey));
    const touched = [...state.conversations.values()].filter(
      (one) => gone.has(conversationKey(one.ref)) || [...one.nodes.keys()].some((run) => runs.has(run)),
    );
    const checkpoints = [...state.checkpoints.values()].filter((one) => isOfDeleted(one, runs, gone));
    const files: { agent: string; id: string; contents: readonly string[] }[] = [];
    for (const { agent, id } of checkpoints) files.push({ agent, id, contents: await this.#contentsOf({ agent, id }) });
    const cleanup = {
      conversations: touched.map(({ ref: { agent, name } }) => ({ agent, name })),
      purged: purged.map(({ agent, name }) => ({ agent, name })),
      checkpoints: files.map(({ contents, ...one }) => ({ ...one, contents: [...contents] })),
    };
    return { cleanup, blobs: blobsOf(state, gone) };
  }

  async #contentsOf(checkpoint: Pick<Checkpoint, 'agent' | 'id'>): Promise<readonly string[]> {
    const { files } = this.#ports;
    return files === null ? [] : hashesOfCheckpoint(checkpoint, files);
  }

  /** May be repeated. */
  async cleanUp(cleanup: JsonObject): Promise<void> {
    await this.#ports.settled();
    const { files, store } = this.#ports;
    for (const ref of refsIn(cleanup['purged']))
      await retryOnConflict(store, async ({ lastEntryNo }) => {
        if (!(await this.#mayPurge(ref))) return;
        await store.appendRecord({ type: 'purge', conversation: ref }, lastEntryNo);
      });
    if (files === null) return;
    for (const ref of refsIn(cleanup['conversations'])) await writeConversationFile(ref, { ...this.#ports, files });
    await removeCheckpointFiles(checkpointsIn(cleanup['checkpoints']), files);
  }

  /** Not if it has a turn again. */
  async #mayPurge(ref: ConversationRef): Promise<boolean> {
    const key = conversationKey(ref);
    const { store } = this.#ports;
    const visible = (await readWorkspaceState(store)).conversations.get(key);
    return (await readWholeState(store)).conversations.has(key) && (visible === undefined || visible.nodes.size === 0);
  }

  /** Of all runs that were deleted and not imported since. */
  async tombstones(): Promise<readonly Tombstone[]> {
    return [...(await readWholeState(this.#ports.store)).deleted.values()];
  }
}

const isArchived = ({ deleted }: WorkspaceState, run: RunId): boolean => deleted.get(run)?.archive !== undefined;

type TurnCopy = Extract<RunCopy, { kind: 'turn' }>;

/** A turn is shown the messages of those before it. */
const laterTurns = ({ ref, nodes }: ConversationState, runs: ReadonlySet<RunId>): readonly TurnCopy[] => {
  if (![...nodes.keys()].some((run) => runs.has(run))) return [];
  return [...nodes.values()].flatMap((node): readonly TurnCopy[] => {
    const isLater = listTurns({ newest: node.previous }).some(({ run }) => runs.has(run));
    return !runs.has(node.run) && isLater ? [{ kind: 'turn', run: node.run, conversation: ref }] : [];
  });
};

const isOfDeleted = ({ run, conversation }: Checkpoint, runs: ReadonlySet<RunId>, gone: ReadonlySet<string>): boolean =>
  runs.has(run) || (conversation !== null && gone.has(conversationKey(conversation)));

/** The stored messages of branches that go, unless another branch has the same. */
const blobsOf = ({ conversations }: WorkspaceState, gone: ReadonlySet<string>): readonly string[] => {
  const stored = [...conversations].map(([key, { branched }]) => ({ key, ref: branched?.entries ?? null }));
  const kept = new Set(stored.flatMap(({ key, ref }) => (gone.has(key) ? [] : [ref])));
  return [...new Set(stored.flatMap(({ key, ref }) => (ref === null || !gone.has(key) || kept.has(ref) ? [] : [ref])))];
};

const listIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((one): one is JsonObject => isObject(one)) : [];

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const refsIn = (value: unknown): readonly ConversationRef[] =>
  listIn(value).map(({ agent, name }) => ({ agent: textOf(agent), name: textOf(name) }));

const checkpointsIn = (value: unknown): Parameters<typeof removeCheckpointFiles>[0] =>
  listIn(value).map(({ agent, id, contents }) => ({
    agent: textOf(agent),
    id: textOf(id),
    contents: Array.isArray(contents) ? contents.map(textOf) : [],
  }));
