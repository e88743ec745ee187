// Cuts through runs: taken, listed, gone back to, branched off from, compared.
//
//   C1. A checkpoint is a page in the book; taking one never touches the run.
//   C2. Going back or branching off is one page: before it nothing is changed, after it the rest follows from it.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Checkpoint, CheckpointDiff, Checkpoints, ConversationRef, Entry, Frame, RunSession } from '#contracts';
import { cutFrames } from '#core/orchestration';
import { checkOptionTypes, checkOptions, runId } from './check-options.ts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';
import { planBranch } from './branch.ts';
import type { BranchPlan } from './branch.ts';
import { inWords } from './conversation-names.ts';
import { diffCheckpoints } from './diff-checkpoints.ts';
import { exportCheckpoint, removeCheckpoints } from './export-checkpoint.ts';
import { updateConversationFile } from './update-conversation-file.ts';
import { findCheckpoint, readCut } from './find-checkpoint.ts';
import { checkMayContinueTurn } from './build-history.ts';
import { readWorkspaceLog, retryOnConflict } from './conversation-ports.ts';
import type { ContinueRun, ConversationPorts } from './conversation-ports.ts';
import { checkKnown } from './known-agents.ts';
import { OwnedRun } from './owned-run.ts';
import { expiredCheckpoints } from './retention.ts';
import { RunLocks, runStates } from './active-runs.ts';
import { takeCheckpoint } from './take-checkpoint.ts';
import { isSameLine, restoredLine, turnsAt } from './turn-chain.ts';

const labelCharsMax = 200;

export class LocalCheckpoints implements Checkpoints {
  readonly #keeping: ConversationPorts;
  readonly #goingOn: ContinueRun;

  constructor(keeping: ConversationPorts, goingOn: ContinueRun) {
    this.#keeping = keeping;
    this.#goingOn = goingOn;
  }

  async list(options: { agent?: string } = {}): Promise<readonly Checkpoint[]> {
    checkOptions(options, { agent: 'name' });
    const { agent } = options;
    const { store } = this.#keeping;
    await this.#keeping.settled();
    const state = await readWorkspaceLog(store);
    if (agent !== undefined) await checkKnown(agent, state, this.#keeping);
    return [...state.checkpoints.values()].filter((one) => agent === undefined || one.agent === agent).toReversed();
  }

  async create(run: string, options: { label?: string } = {}): Promise<Checkpoint> {
    checkOptions(options, { label: 'text' });
    const { label = '' } = options;
    if (label.length > labelCharsMax)
      throw new CloisterError(
        'name_invalid',
        `The label has ${label.length} characters; at most ${labelCharsMax} are taken.`,
      );
    const [asked, redacted] = [runId(run), this.#keeping.redact(label)];
    const checkpoint = await retryOnConflict(this.#keeping.store, (state) =>
      takeCheckpoint(asked, { why: 'asked', label: redacted, state }, this.#keeping),
    );
    try {
      await this.#export(checkpoint);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      throw new CloisterError('store_failed', `Checkpoint ${checkpoint.id} is kept, but not its file: ${words}`);
    }
    return checkpoint;
  }

  /** By itself: none when nothing was recorded since the last one of this run. Then those past their time go. */
  async save(run: RunId): Promise<void> {
    const { store } = this.#keeping;
    const { frames } = await store.hashPrefix(run);
    const all = await retryOnConflict(store, async (state) => {
      const checkpoints = [...state.checkpoints.values()];
      const newest = checkpoints.findLast((one) => one.run === run);
      if (newest?.frames === frames) return null;
      return [...checkpoints, await takeCheckpoint(run, { why: 'autosave', label: '', state }, this.#keeping)];
    });
    if (all === null) return;
    await this.#export(all.at(-1)!);
    await this.#thinOut(all);
  }

  async restore(id: string): Promise<RunSession | null> {
    const { store } = this.#keeping;
    return this.#owning((owned, held) =>
      retryOnConflict(store, async (state) => {
        const { checkpoint, frames } = await this.#cut(id, state);
        const { conversation } = checkpoint;
        const found = await this.#placeOf(checkpoint, state, held);
        const run = hasEnded(frames) ? null : owned.run;
        if (run === null && (found === null || isThereNow(found, checkpoint, state))) return null;
        const kept = run === null ? null : await this.#prepare(frames, run);
        if (run !== null) await owned.acquire();
        await store.appendRecord({ type: 'restore', checkpoint: checkpoint.id, conversation, run }, state.page);
        return this.#goOn(owned, kept, conversation);
      }),
    );
  }

  async branch(
    id: string,
    options: { name?: string; agent?: string } = {},
  ): Promise<{ readonly conversation: ConversationRef | null; readonly session: RunSession | null }> {
    checkOptions(options, { name: 'text', agent: 'name' });
    const { store } = this.#keeping;
    return this.#owning((owned) =>
      retryOnConflict(store, async (state) => {
        const { checkpoint, frames } = await this.#cut(id, state);
        const plan = planBranch({ checkpoint, ended: hasEnded(frames), options, state }, this.#keeping);
        const { conversation, goesOn } = plan;
        const kept = goesOn ? await this.#prepare(frames, owned.run) : null;
        const { said, ...before } = await this.#saidBy(checkpoint, plan, state);
        // probe: branch-keep-said
        const entries = said.length === 0 ? null : await store.putBlob(Buffer.from(JSON.stringify(said)));
        if (goesOn) await owned.acquire();
        const run = goesOn ? owned.run : null;
        await store.appendRecord(
          { type: 'branch', checkpoint: checkpoint.id, conversation, entries, ...before, run },
          state.page,
        );
        return { conversation, session: await this.#goOn(owned, kept, conversation) };
      }),
    );
  }

  async diff(one: string, other: string): Promise<CheckpointDiff> {
    for (const id of [one, other]) checkOptionTypes('checkpoint', id, 'name');
    const state = await readWorkspaceLog(this.#keeping.store);
    return diffCheckpoints(await this.#cut(one, state), await this.#cut(other, state));
  }

  async thinOut(): Promise<readonly string[]> {
    const { checkpoints } = await readWorkspaceLog(this.#keeping.store);
    return this.#thinOut([...checkpoints.values()]);
  }

  async #thinOut(checkpoints: readonly Checkpoint[]): Promise<readonly string[]> {
    const { store, clock, retention, files } = this.#keeping;
    const ids = expiredCheckpoints(checkpoints, clock.now(), retention);
    if (ids.length === 0) return [];
    await store.appendRecord({ type: 'forget', checkpoints: ids });
    const gone = new Set(ids);
    const forgotten = checkpoints.filter(({ id }) => gone.has(id));
    if (files !== null) await removeCheckpoints(forgotten, files);
    return ids;
  }

  /** What had been said by then; what a run goes on with itself is left to it. */
  async #saidBy(
    checkpoint: Checkpoint,
    { origin, goesOn }: BranchPlan,
    { takenAt }: WorkspaceState,
  ): Promise<{ readonly said: readonly Entry[]; readonly before?: number }> {
    const { reader } = this.#keeping;
    const { id, run, frames } = checkpoint;
    if (origin === null) return { said: goesOn ? [] : await reader.ofRun(run, frames) };
    const turns = turnsAt(checkpoint, origin.node, takenAt.get(id) ?? null);
    const all = await reader.entriesOf(origin.conversation, turns);
    if (!goesOn) return { said: all };
    const said = all.filter(({ correlation }) => correlation !== run);
    const before = all.findIndex(({ correlation }) => correlation === run);
    return before < 0 || before === said.length ? { said } : { said, before };
  }

  async #export(checkpoint: Checkpoint): Promise<void> {
    const { files, store } = this.#keeping;
    if (files !== null) await exportCheckpoint(checkpoint, await readCut(store, checkpoint), files);
  }

  async #cut(id: string, state: WorkspaceState): Promise<{ checkpoint: Checkpoint; frames: readonly Frame[] }> {
    checkOptionTypes('checkpoint', id, 'name');
    const checkpoint = await findCheckpoint(id, state);
    return { checkpoint, frames: await readCut(this.#keeping.store, checkpoint) };
  }

  /** The conversation that is to be set back; null when the run had none. Throws why that cannot be now. */
  async #placeOf(
    checkpoint: Checkpoint,
    { conversations }: WorkspaceState,
    held: RunLocks,
  ): Promise<ConversationState | null> {
    const { store } = this.#keeping;
    const { conversation: ref, run } = checkpoint;
    if (ref === null) {
      const state = (await runStates(store, [run])).get(run)?.state;
      if (state === 'running')
        throw new CloisterError('run_owned', `Run ${run} is under way: branch it, or stop it first.`);
      return null;
    }
    const found = conversations.get(conversationKey(ref));
    if (found === undefined || !found.nodes.has(run))
      throw new CloisterError('checkpoint_invalid', `Its conversation, ${inWords(ref)}, is gone.`);
    checkMayContinueTurn(found, this.#keeping.agent(found.nodes.get(run)!.agent));
    // probe: restore-hold-runs
    await held.hold(found, () => true);
    return found;
  }

  async #prepare(frames: readonly Frame[], run: RunId): Promise<readonly Frame[]> {
    const kept = cutFrames(frames, /* probe: cut-length */ frames.length, { run, now: this.#keeping.clock.now() });
    await this.#goingOn.check(kept);
    return kept;
  }

  /** After the page: the file of the conversation follows, and what is to go on goes on. */
  async #goOn(
    owned: OwnedRun,
    frames: readonly Frame[] | null,
    conversation: ConversationRef | null,
  ): Promise<RunSession | null> {
    if (conversation !== null) await updateConversationFile(conversation, this.#keeping);
    return frames === null ? null : this.#goingOn.start(owned.run, owned.transfer(), { frames, conversation });
  }

  /** A run that is owned before its page is written, so that nobody takes it for one that has ended; given back if it comes to nothing. */
  async #owning<T>(work: (owned: OwnedRun, held: RunLocks) => Promise<T>): Promise<T> {
    const { store, ids } = this.#keeping;
    const owned = new OwnedRun(store, ids.random() as RunId);
    const held = new RunLocks(store);
    try {
      return await work(owned, held);
    } finally {
      await held.release();
      await owned.release();
    }
  }
}

const hasEnded = (frames: readonly Frame[]): boolean => frames.at(-1)?.record.type === 'close';

/** Whether nothing would change if the conversation were set back. */
const isThereNow = (
  { newest, nodes }: ConversationState,
  checkpoint: Checkpoint,
  { takenAt }: WorkspaceState,
): boolean => {
  const node = nodes.get(checkpoint.run);
  if (node === undefined) return false;
  const turns = turnsAt(checkpoint, node, takenAt.get(checkpoint.id) ?? null);
  return isSameLine(newest, restoredLine(turns, checkpoint.run, {}));
};
