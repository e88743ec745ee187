// Takes, lists, restores, branches and compares checkpoints.
//
//   checkpoint-touches-no-run. A checkpoint is a record in the workspace log.
//   restore-is-one-record. So is a branch: nothing changes before the record is appended, and everything else follows from it.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { checkOptionType, checkOptions, parseRunId } from '#base/shapes';
import type {
  Checkpoint,
  CheckpointDiff,
  CheckpointReport,
  Checkpoints,
  ConversationRef,
  Frame,
  RunSession,
  Store,
  TurnRef,
} from '#contracts';
import { cutFrames } from '#core/orchestration';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';
import { planBranch } from './branch.ts';
import type { BranchPlan } from './branch.ts';
import { describeConversation } from './conversation-names.ts';
import { checkAgentKnown, readWorkspaceState, retryOnConflict } from './conversation-ports.ts';
import { reportCheckpoint } from './checkpoint-view.ts';
import { diffCheckpoints } from './diff-checkpoints.ts';
import type { TurnEntry } from './entries.ts';
import { exportCheckpoint, removeCheckpoints } from './export-checkpoint.ts';
import { updateConversationFile } from './export-conversation.ts';
import { newestTurns } from './inherit-files.ts';
import { findCheckpoint, readCut, OwnedRun } from './find-checkpoint.ts';
import { checkMayContinueTurn } from './build-history.ts';
import type { RunContinuation, ContinueRun, ConversationPorts } from './conversation-ports.ts';
import { expiredCheckpoints, mayExceedCap } from './conversation-settings.ts';
import { RunLocks, runStates } from './active-runs.ts';
import { takeCheckpoint } from './take-checkpoint.ts';
import { isSameChain, linkTurns, restoredChain, turnsAt } from './entries.ts';

const labelCharsMax = 200;

type ContinuationOptions = NonNullable<Parameters<Checkpoints['restore']>[1]>;

const continuationFields = { env: 'any', caller: 'name', budgetMax: 'any' } as const;

export class LocalCheckpoints implements Checkpoints {
  readonly #ports: ConversationPorts;
  readonly #continueRun: ContinueRun;
  readonly #callers = new Map<RunId, string | null>();

  constructor(ports: ConversationPorts, continueRun: ContinueRun) {
    this.#ports = ports;
    this.#continueRun = continueRun;
  }

  async list(options: NonNullable<Parameters<Checkpoints['list']>[0]> = {}): Promise<readonly Checkpoint[]> {
    checkOptions(options, { agent: 'name', caller: 'name' });
    const { agent, caller } = options;
    const { store } = this.#ports;
    await this.#ports.settled();
    const state = await readWorkspaceState(store);
    if (agent !== undefined) await checkAgentKnown(agent, state, this.#ports);
    const found = [...state.checkpoints.values()]
      .filter((one) => agent === undefined || one.agent === agent)
      .toReversed();
    if (caller === undefined) return found;
    const callers = await this.#callersOf(found);
    return found.filter(({ run }) => callers.get(run) === caller);
  }

  async show(id: string): Promise<CheckpointReport> {
    const { checkpoint, frames } = await this.#cut(id, await readWorkspaceState(this.#ports.store));
    return reportCheckpoint(checkpoint, frames, !hasEnded(frames));
  }

  async create(run: string, options: { label?: string; atStart?: boolean } = {}): Promise<Checkpoint> {
    checkOptions(options, { label: 'text', atStart: 'flag' });
    const { label = '', atStart = false } = options;
    if (label.length > labelCharsMax)
      throw new CloisterError(
        'name_invalid',
        `The label has ${label.length} characters; the limit is ${labelCharsMax}.`,
      );
    const [id, redacted] = [parseRunId(run), this.#ports.redact(label)];
    const checkpoint = await retryOnConflict(this.#ports.store, (state) =>
      takeCheckpoint(id, { why: 'asked', label: redacted, atStart, state }, this.#ports),
    );
    try {
      await this.#export(checkpoint);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      throw new CloisterError('store_failed', `Checkpoint ${checkpoint.id} was saved, but its file was not: ${words}`);
    }
    return checkpoint;
  }

  /** Autosave: takes a checkpoint if the run has recorded something since its last one, then applies retention. */
  async save(run: RunId): Promise<void> {
    const { store } = this.#ports;
    const { frames } = await store.hashPrefix(run);
    const all = await retryOnConflict(store, async (state) => {
      const checkpoints = [...state.checkpoints.values()];
      const newest = checkpoints.findLast((one) => one.run === run);
      if (newest?.frames === frames) return null;
      return [...checkpoints, await takeCheckpoint(run, { why: 'autosave', label: '', state }, this.#ports)];
    });
    if (all === null) return;
    await this.#export(all.at(-1)!);
    await this.#applyRetention(all);
  }

  async restore(id: string, options: ContinuationOptions = {}): Promise<RunSession | null> {
    checkOptions(options, continuationFields);
    const { store } = this.#ports;
    return this.#withOwnedRun((owned, locks) =>
      retryOnConflict(store, async (state) => {
        const { checkpoint, frames } = await this.#cut(id, state);
        const { conversation } = checkpoint;
        const found = await this.#lockConversation(checkpoint, state, locks);
        const run = hasEnded(frames) ? null : owned.run;
        if (run === null && (found === null || wouldChangeNothing(found, checkpoint, state))) return null;
        const continued = run === null ? null : await this.#prepare(frames, run, options);
        if (run !== null) await owned.acquire();
        await store.appendRecord({ type: 'restore', checkpoint: checkpoint.id, conversation, run }, state.lastEntryNo);
        return this.#startContinuation(owned, continued, conversation);
      }),
    );
  }

  async branch(
    id: string,
    options: NonNullable<Parameters<Checkpoints['branch']>[1]> = {},
  ): Promise<{ readonly conversation: ConversationRef | null; readonly session: RunSession | null }> {
    checkOptions(options, { name: 'text', agent: 'name', ...continuationFields });
    const { store } = this.#ports;
    return this.#withOwnedRun((owned) =>
      retryOnConflict(store, async (state) => {
        const { checkpoint, frames } = await this.#cut(id, state);
        const plan = planBranch({ checkpoint, ended: hasEnded(frames), options, state }, this.#ports);
        const { conversation, continuesRun } = plan;
        const continued = continuesRun ? await this.#prepare(frames, owned.run, options) : null;
        const { entries: copied, ...before } = await this.#entriesAtCheckpoint(checkpoint, plan, state);
        // probe: branch-keep-said
        const entries = copied.length === 0 ? null : await store.putBlob(Buffer.from(JSON.stringify(copied)));
        const turns = await turnsToContinue(checkpoint, plan, { store, state });
        if (continuesRun) await owned.acquire();
        const run = continuesRun ? owned.run : null;
        await store.appendRecord(
          { type: 'branch', checkpoint: checkpoint.id, conversation, entries, ...before, turns, run },
          state.lastEntryNo,
        );
        return { conversation, session: await this.#startContinuation(owned, continued, conversation) };
      }),
    );
  }

  async diff(one: string, other: string): Promise<CheckpointDiff> {
    for (const id of [one, other]) checkOptionType('checkpoint', id, 'name');
    const state = await readWorkspaceState(this.#ports.store);
    return diffCheckpoints(await this.#cut(one, state), await this.#cut(other, state));
  }

  async applyRetention(): Promise<readonly string[]> {
    const { checkpoints } = await readWorkspaceState(this.#ports.store);
    return this.#applyRetention([...checkpoints.values()]);
  }

  async #applyRetention(checkpoints: readonly Checkpoint[]): Promise<readonly string[]> {
    const { store, clock, retention, files } = this.#ports;
    const callers = mayExceedCap(checkpoints, retention)
      ? await this.#callersOf(checkpoints)
      : new Map<RunId, string>();
    const callerOf = (run: RunId): string | null => callers.get(run) ?? null;
    const ids = expiredCheckpoints(checkpoints, { now: clock.now(), callerOf }, retention);
    if (ids.length === 0) return [];
    await store.appendRecord({ type: 'forget', checkpoints: ids });
    const gone = new Set(ids);
    const forgotten = checkpoints.filter(({ id }) => gone.has(id));
    const kept = new Set(checkpoints.flatMap(({ id, run }) => (gone.has(id) ? [] : [run])));
    for (const { run } of forgotten) if (!kept.has(run)) this.#callers.delete(run);
    if (files !== null) await removeCheckpoints(forgotten, files);
    return ids;
  }

  /** The entries at the time of the checkpoint, without those of the run itself if it continues. */
  async #entriesAtCheckpoint(
    checkpoint: Checkpoint,
    { origin, continuesRun }: BranchPlan,
    { newestTurnByCheckpoint }: WorkspaceState,
  ): Promise<{ readonly entries: readonly TurnEntry[]; readonly before?: number }> {
    const { reader } = this.#ports;
    const { id, run, frames } = checkpoint;
    if (origin === null) return { entries: continuesRun ? [] : await reader.runEntries(run, frames) };
    const turns = turnsAt(checkpoint, origin.node, newestTurnByCheckpoint.get(id) ?? null);
    const all = await reader.entriesOf(origin.conversation, turns);
    if (!continuesRun) return { entries: all };
    const entries = all.filter(({ correlation }) => correlation !== run);
    const before = all.findIndex(({ correlation }) => correlation === run);
    return before < 0 || before === entries.length ? { entries } : { entries, before };
  }

  async #export(checkpoint: Checkpoint): Promise<void> {
    const { files, store } = this.#ports;
    if (files !== null) await exportCheckpoint(checkpoint, await readCut(store, checkpoint), { files, store });
  }

  async #cut(id: string, state: WorkspaceState): Promise<{ checkpoint: Checkpoint; frames: readonly Frame[] }> {
    checkOptionType('checkpoint', id, 'name');
    const checkpoint = await findCheckpoint(id, state);
    return { checkpoint, frames: await readCut(this.#ports.store, checkpoint) };
  }

  /** The conversation to restore; null when the run has none. Throws if it cannot be restored now. */
  async #lockConversation(
    checkpoint: Checkpoint,
    { conversations }: WorkspaceState,
    locks: RunLocks,
  ): Promise<ConversationState | null> {
    const { store } = this.#ports;
    const { conversation: ref, run } = checkpoint;
    if (ref === null) {
      const state = (await runStates(store, [run])).get(run)?.state;
      if (state === 'running')
        throw new CloisterError('run_owned', `Run ${run} is still running: branch it, or stop it first.`);
      return null;
    }
    const found = conversations.get(conversationKey(ref));
    if (found === undefined || !found.nodes.has(run))
      throw new CloisterError(
        'checkpoint_invalid',
        `Its conversation, ${describeConversation(ref)}, no longer exists.`,
      );
    checkMayContinueTurn(found, this.#ports.agent(found.nodes.get(run)!.agent));
    // probe: restore-hold-runs
    await locks.acquire(found, () => true);
    return found;
  }

  #prepare(frames: readonly Frame[], run: RunId, options: ContinuationOptions): Promise<RunContinuation> {
    const { env, caller, budgetMax } = options;
    const cut = { run, now: this.#ports.clock.now(), caller, budgetMax };
    return this.#continueRun.check(cutFrames(frames, /* probe: cut-length */ frames.length, cut), env);
  }

  /** Whom the runs of these checkpoints belong to. A run keeps its caller, so each is looked up once. */
  async #callersOf(checkpoints: readonly Checkpoint[]): Promise<ReadonlyMap<RunId, string | null>> {
    const runs = [...new Set(checkpoints.map(({ run }) => run))];
    const found = await runStates(
      this.#ports.store,
      runs.filter((run) => !this.#callers.has(run)),
    );
    for (const { run, caller } of found.values()) this.#callers.set(run, caller);
    return this.#callers;
  }

  /** After the record is appended: updates the file of the conversation and continues the run, if there is one. */
  async #startContinuation(
    owned: OwnedRun,
    continued: RunContinuation | null,
    conversation: ConversationRef | null,
  ): Promise<RunSession | null> {
    if (conversation !== null) await updateConversationFile(conversation, this.#ports);
    if (continued === null) return null;
    return continued.start(owned.run, owned.transfer(), conversation);
  }

  /** Owns a new run before its record is appended, so that it does not look ended. Releases it if it was not started. */
  async #withOwnedRun<T>(work: (owned: OwnedRun, locks: RunLocks) => Promise<T>): Promise<T> {
    const { store, ids } = this.#ports;
    const owned = new OwnedRun(store, ids.random() as RunId);
    const locks = new RunLocks(store);
    try {
      return await work(owned, locks);
    } finally {
      await locks.release();
      await owned.release();
    }
  }
}

/** The newest turn of each agent at the checkpoint, each as far as it counts. */
const turnsToContinue = async (
  checkpoint: Checkpoint,
  { origin }: BranchPlan,
  { store, state: { newestTurnByCheckpoint } }: { readonly store: Store; readonly state: WorkspaceState },
): Promise<readonly TurnRef[]> => {
  const { id, agent, run, frames } = checkpoint;
  if (origin === null) return [{ agent, run, frames }];
  const turns = turnsAt(checkpoint, origin.node, newestTurnByCheckpoint.get(id) ?? null);
  // probe: branch-turns
  return newestTurns({ newest: linkTurns(turns), branched: origin.conversation.branched }, store);
};

const hasEnded = (frames: readonly Frame[]): boolean => frames.at(-1)?.record.type === 'close';

/** Whether restoring the conversation would change nothing. */
const wouldChangeNothing = (
  { newest, nodes }: ConversationState,
  checkpoint: Checkpoint,
  { newestTurnByCheckpoint }: WorkspaceState,
): boolean => {
  const node = nodes.get(checkpoint.run);
  if (node === undefined) return false;
  const turns = turnsAt(checkpoint, node, newestTurnByCheckpoint.get(checkpoint.id) ?? null);
  return isSameChain(newest, restoredChain(turns, checkpoint.run, {}));
};
