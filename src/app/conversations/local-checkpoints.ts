// Cuts through runs: taken, listed, gone back to, branched off from, compared.
//
//   C1. A checkpoint is a page in the book; taking one never touches the run.
//   C2. Going back or branching off is one page: before it nothing is changed, after it the rest follows from it.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Checkpoint, CheckpointDiff, Checkpoints, ConversationRef, Frame, RunSession } from '#contracts';
import { cutFrames } from '#core/orchestration';
import { keyOf } from './book-state.ts';
import type { BookState, ConversationState, TurnNode } from './book-state.ts';
import { planBranch } from './branch.ts';
import { inWords } from './conversation-names.ts';
import { diffCheckpoints } from './diff-checkpoints.ts';
import { exportCheckpoint, removeCheckpoints } from './export-checkpoint.ts';
import { findCheckpoint, readCut } from './find-checkpoint.ts';
import { checkMayGoOn } from './history-for.ts';
import { readBook, withBook } from './keeping.ts';
import type { GoingOn, Keeping } from './keeping.ts';
import { OwnedRun } from './owned-run.ts';
import { pastTheirTime } from './retention.ts';
import { HeldRuns } from './running.ts';

const labelCharsMax = 200;

export class LocalCheckpoints implements Checkpoints {
  readonly #keeping: Keeping;
  readonly #goingOn: GoingOn;

  constructor(keeping: Keeping, goingOn: GoingOn) {
    this.#keeping = keeping;
    this.#goingOn = goingOn;
  }

  async list({ agent }: { agent?: string } = {}): Promise<readonly Checkpoint[]> {
    const { store } = this.#keeping;
    await this.#keeping.settled();
    const all = [...(await readBook(store)).checkpoints.values()];
    if (agent !== undefined && all.every((one) => one.agent !== agent)) this.#keeping.checkAgent(agent);
    return all.filter((one) => agent === undefined || one.agent === agent).toReversed();
  }

  async create(run: string, { label = '' }: { label?: string } = {}): Promise<Checkpoint> {
    if (label.length > labelCharsMax)
      throw new CloisterError(
        'name_invalid',
        `The label has ${label.length} characters; at most ${labelCharsMax} are taken.`,
      );
    const checkpoint = await this.#take(run as RunId, {
      why: 'asked',
      label: this.#keeping.redact(label),
      state: await readBook(this.#keeping.store),
    });
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
    const state = await readBook(store);
    const { frames } = await store.cut(run);
    const newest = [...state.checkpoints.values()].findLast((one) => one.run === run);
    if (newest?.frames === frames) return;
    const made = await this.#take(run, { why: 'autosave', label: '', state });
    await this.#export(made);
    await this.#thinOut([...state.checkpoints.values(), made]);
  }

  restore(id: string): Promise<RunSession | null> {
    const { store } = this.#keeping;
    return this.#owning((owned, held) =>
      withBook(store, async (state) => {
        const { checkpoint, frames } = await this.#cut(id, state);
        const { conversation } = checkpoint;
        const found = await this.#placeOf(checkpoint, state, held);
        const run = hasEnded(frames) ? null : owned.run;
        if (run === null && (found === null || found.newest === found.nodes.get(checkpoint.run))) return null;
        const kept = run === null ? null : await this.#prepare(frames, run);
        if (run !== null) await owned.take();
        await store.note({ type: 'restore', checkpoint: checkpoint.id, conversation, run }, state.page);
        return kept === null ? null : this.#goOn(owned, kept, conversation);
      }),
    );
  }

  branch(
    id: string,
    options: { name?: string; agent?: string } = {},
  ): Promise<{ readonly conversation: ConversationRef | null; readonly session: RunSession | null }> {
    const { store, reader } = this.#keeping;
    return this.#owning((owned) =>
      withBook(store, async (state) => {
        const { checkpoint, frames } = await this.#cut(id, state);
        const plan = planBranch({ checkpoint, ended: hasEnded(frames), options, state }, this.#keeping);
        const { conversation, origin, goesOn } = plan;
        const kept = goesOn ? await this.#prepare(frames, owned.run) : null;
        const said = origin
          ? await reader.entriesUpTo(origin.conversation, { node: origin.node, frames: checkpoint.frames }, !goesOn)
          : goesOn
            ? []
            : await reader.ofRun(checkpoint.run, checkpoint.frames);
        const entries = said.length === 0 ? null : await store.keep(Buffer.from(JSON.stringify(said)));
        if (goesOn) await owned.take();
        const run = goesOn ? owned.run : null;
        await store.note({ type: 'branch', checkpoint: checkpoint.id, conversation, entries, run }, state.page);
        return { conversation, session: kept === null ? null : await this.#goOn(owned, kept, conversation) };
      }),
    );
  }

  async diff(one: string, other: string): Promise<CheckpointDiff> {
    const state = await readBook(this.#keeping.store);
    return diffCheckpoints(await this.#cut(one, state), await this.#cut(other, state));
  }

  async thinOut(): Promise<readonly string[]> {
    const { checkpoints } = await readBook(this.#keeping.store);
    return this.#thinOut([...checkpoints.values()]);
  }

  async #thinOut(checkpoints: readonly Checkpoint[]): Promise<readonly string[]> {
    const { store, clock, retention, files } = this.#keeping;
    const ids = pastTheirTime(checkpoints, clock.now(), retention);
    if (ids.length === 0) return [];
    await store.note({ type: 'forget', checkpoints: ids });
    const gone = new Set(ids);
    const forgotten = checkpoints.filter(({ id }) => gone.has(id));
    if (files !== null) await removeCheckpoints(forgotten, files);
    return ids;
  }

  async #take(run: RunId, { why, label, state }: Taking): Promise<Checkpoint> {
    const { store, clock, ids } = this.#keeping;
    await this.#keeping.durable(run);
    const { frames, hash } = await store.cut(run);
    const { node, conversation } = nodeOf(run, state);
    const agent = node?.agent ?? (await this.#agentOf(run));
    const id = ids.random();
    const checkpoint: Checkpoint = {
      format: 1,
      id,
      agent,
      run,
      conversation,
      frames,
      hash,
      at: clock.now(),
      why,
      label,
    };
    await store.note({ type: 'checkpoint', checkpoint });
    return checkpoint;
  }

  async #agentOf(run: RunId): Promise<string> {
    const [first] = await this.#keeping.store.read(run);
    if (first?.record.type === 'open') return first.record.birth.agent;
    throw new CloisterError('store_damaged', 'The log does not begin with the start of a run.');
  }

  async #export(checkpoint: Checkpoint): Promise<void> {
    const { files, store } = this.#keeping;
    if (files !== null) await exportCheckpoint(checkpoint, await readCut(store, checkpoint), files);
  }

  async #cut(id: string, state: BookState): Promise<{ checkpoint: Checkpoint; frames: readonly Frame[] }> {
    const checkpoint = await findCheckpoint(id, state);
    return { checkpoint, frames: await readCut(this.#keeping.store, checkpoint) };
  }

  /** The conversation that is to be set back; null when the run had none. Throws why that cannot be now. */
  async #placeOf(
    checkpoint: Checkpoint,
    { conversations }: BookState,
    held: HeldRuns,
  ): Promise<ConversationState | null> {
    const { store } = this.#keeping;
    const { conversation: ref, run } = checkpoint;
    if (ref === null) {
      const state = (await store.list()).find((one) => one.run === run)?.state;
      if (state === 'running')
        throw new CloisterError('run_owned', `Run ${run} is under way: branch it, or stop it first.`);
      return null;
    }
    const found = conversations.get(keyOf(ref));
    if (found === undefined || !found.nodes.has(run))
      throw new CloisterError('checkpoint_invalid', `Its conversation, ${inWords(ref)}, is gone.`);
    checkMayGoOn(found, this.#keeping.agent(found.nodes.get(run)!.agent));
    await held.hold(found, () => true);
    return found;
  }

  async #prepare(frames: readonly Frame[], run: RunId): Promise<readonly Frame[]> {
    const kept = cutFrames(frames, frames.length, { run, now: this.#keeping.clock.now() });
    await this.#goingOn.check(kept);
    return kept;
  }

  #goOn(owned: OwnedRun, frames: readonly Frame[], conversation: ConversationRef | null): Promise<RunSession> {
    return this.#goingOn.start(owned.run, owned.handOver(), { frames, conversation });
  }

  /** A run that is owned before its page is written, so that nobody takes it for one that has ended; given back if it comes to nothing. */
  async #owning<T>(work: (owned: OwnedRun, held: HeldRuns) => Promise<T>): Promise<T> {
    const { store, ids } = this.#keeping;
    const owned = new OwnedRun(store, ids.random() as RunId);
    const held = new HeldRuns(store);
    try {
      return await work(owned, held);
    } finally {
      await held.release();
      await owned.giveBack();
    }
  }
}

type Taking = Pick<Checkpoint, 'why' | 'label'> & { readonly state: BookState };

const hasEnded = (frames: readonly Frame[]): boolean => frames.at(-1)?.record.type === 'close';

const nodeOf = (
  run: RunId,
  { conversations }: BookState,
): { readonly node: TurnNode | undefined; readonly conversation: ConversationRef | null } => {
  for (const { ref, nodes } of conversations.values()) {
    const node = nodes.get(run);
    if (node !== undefined) return { node, conversation: ref };
  }
  return { node: undefined, conversation: null };
};
