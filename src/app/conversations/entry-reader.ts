// Reads the entries of a conversation from the logs of its turns.
import { CloisterError, fromRecords } from '#base';
import type { ErrorCode, RunId } from '#base';
import type { ConversationRef, Entry, RunEnd, Store } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import { describeConversation } from './conversation-names.ts';
import { groupByTurn, entriesOfRun, isPublic, orderEntries, listTurns } from './entries.ts';
import type { TurnEntry, TurnNode } from './entries.ts';

/** How many ended turns and cuts are cached; they no longer change. */
const rememberedMax = 1_000;

type RecordedEnd = { readonly frames: number; readonly end: RunEnd };

/** `end` is set for whole runs only. */
type SettledEntries = { readonly entries: readonly TurnEntry[]; readonly end?: RecordedEnd };

export class EntryReader {
  readonly #store: Store;
  /** Keyed by run, by run and number of frames, or by the blob of a branch's first entries. */
  readonly #settled = new Map<string, SettledEntries>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** What people see of it. */
  async publicEntries(conversation: ConversationState): Promise<readonly Entry[]> {
    return (await this.entries(conversation)).filter(isPublic);
  }

  entries(conversation: ConversationState): Promise<readonly TurnEntry[]> {
    return this.entriesOf(conversation, listTurns(conversation));
  }

  /** The entries of these turns, each as far as it counts. */
  async entriesOf(conversation: ConversationState, nodes: readonly TurnNode[]): Promise<readonly TurnEntry[]> {
    const turns: (readonly TurnEntry[])[] = [];
    for (const node of nodes) turns.push(await this.turnEntries(node));
    const { branched } = conversation;
    const initial = await this.branchEntries(conversation);
    const [before, meanwhile] = [initial.slice(0, branched?.before), initial.slice(branched?.before ?? initial.length)];
    return orderEntries(before, [...turns.slice(0, 1), ...groupByTurn(meanwhile), ...turns.slice(1)]);
  }

  /** The entries of a run, or of its first `frames` frames. */
  async runEntries(run: RunId, frames?: number): Promise<readonly TurnEntry[]> {
    const key = frames === undefined ? run : `${run}/${frames}`;
    const known = this.#settled.get(key);
    if (known !== undefined) return known.entries;
    const all = await this.#store.read(run);
    const entries = await fromRecords(run, () => entriesOfRun(frames === undefined ? all : all.slice(0, frames)));
    const last = all.at(-1);
    if (frames !== undefined) this.#remember(key, { entries });
    else if (last?.record.type === 'close')
      this.#remember(key, { entries, end: { frames: all.length, end: describeEnd(entries, last.at) } });
    return entries;
  }

  /** Whether a run is known to have ended. */
  isEnded(run: RunId): boolean {
    return this.#settled.get(run)?.end !== undefined;
  }

  /** How the run ended and after how many frames; undefined while it has not ended. */
  async findEnd(run: RunId): Promise<RecordedEnd | undefined> {
    if (!this.isEnded(run)) await this.runEntries(run);
    return this.#settled.get(run)?.end;
  }

  /** How many frames the run had at that time; null if it had ended. */
  async framesUntil(run: RunId, at: number): Promise<number | null> {
    const end = this.#settled.get(run)?.end;
    if (end !== undefined && end.end.at <= at) return null;
    try {
      const frames = await this.#store.read(run);
      const count = frames.findIndex((frame) => frame.at > at);
      const isWhole = count < 0 && frames.at(-1)?.record.type === 'close';
      return isWhole ? null : count < 0 ? frames.length : count;
    } catch (error) {
      if (!hasCode(error, 'run_unknown')) throw error;
      return 0;
    }
  }

  /** The entries of a turn, as far as it counts. */
  async turnEntries({ run, from, frames }: TurnNode): Promise<readonly TurnEntry[]> {
    try {
      if (frames !== 0) return await this.runEntries(run, frames ?? undefined);
    } catch (error) {
      if (!hasCode(error, 'run_unknown')) throw error;
    }
    // The run has no frames, then or because its process died early: use the entries of the cut that it continues, if any.
    return from === null ? [] : this.runEntries(from.run, from.frames);
  }

  /** The entries that a branch started with. */
  async branchEntries({ ref: of, branched }: ConversationState): Promise<readonly TurnEntry[]> {
    const ref = branched?.entries ?? null;
    if (branched === null || ref === null) return [];
    const known = this.#settled.get(ref);
    if (known !== undefined) return known.entries;
    try {
      const initial = JSON.parse(Buffer.from(await this.#store.getBlob(ref)).toString()) as readonly TurnEntry[];
      this.#remember(ref, { entries: initial });
      return initial;
    } catch (error) {
      if (!hasCode(error, 'file_missing')) throw error;
      throw new CloisterError('store_damaged', missingEntriesText(of, branched.checkpoint, ref));
    }
  }

  #remember(key: string, settled: SettledEntries): void {
    this.#settled.set(key, settled);
    if (this.#settled.size <= rememberedMax) return;
    const [oldest] = this.#settled.keys();
    if (oldest !== undefined) this.#settled.delete(oldest);
  }
}

const describeEnd = (entries: readonly TurnEntry[], at: number): RunEnd => ({
  at,
  entries: entries.filter(isPublic).length,
  context: entries.filter(({ category }) => category === 'CONTEXT').length,
});

const hasCode = (error: unknown, code: ErrorCode): boolean => error instanceof CloisterError && error.code === code;

const missingEntriesText = (of: ConversationRef, checkpoint: string, ref: string): string =>
  `The first entries of ${describeConversation(of)} (blob ${ref}) are missing. Restore the blob from a copy of the workspace; or delete and purge the conversation, and branch again from checkpoint ${checkpoint}.`;
