// Reads what was said in a conversation out of the logs of its turns.
import { CloisterError } from '#base';
import type { ErrorCode, RunId } from '#base';
import type { ConversationRef, Entry, RunEnd, Store } from '#contracts';
import type { ConversationState } from './workspace-state.ts';
import { inWords } from './conversation-names.ts';
import { byTurn, entriesOfRun, inOrder } from './entries.ts';
import { turnsOf } from './turn-chain.ts';
import type { TurnNode } from './turn-chain.ts';

/** So many turns that are over, and cuts, are remembered: they do not change any more. */
const rememberedMax = 1_000;

export type KnownEnd = { readonly frames: number; readonly end: RunEnd };

/** `end`: of a whole run. */
type SettledEntries = { readonly entries: readonly Entry[]; readonly end?: KnownEnd };

export class EntryReader {
  readonly #store: Store;
  /** By the run, by the run and how much of it, or by where a branch's first entries are kept. */
  readonly #settled = new Map<string, SettledEntries>();

  constructor(store: Store) {
    this.#store = store;
  }

  entries(conversation: ConversationState): Promise<readonly Entry[]> {
    return this.entriesOf(conversation, turnsOf(conversation));
  }

  /** What was said in these turns of it, as far as each counts. */
  async entriesOf(conversation: ConversationState, nodes: readonly TurnNode[]): Promise<readonly Entry[]> {
    const turns: (readonly Entry[])[] = [];
    for (const node of nodes) turns.push(await this.turn(node));
    const { branched } = conversation;
    const kept = await this.kept(conversation);
    const [before, meanwhile] = [kept.slice(0, branched?.before), kept.slice(branched?.before ?? kept.length)];
    return inOrder(before, [...turns.slice(0, 1), ...byTurn(meanwhile), ...turns.slice(1)]);
  }

  /** Of a run, or of its first so many frames. */
  async ofRun(run: RunId, frames?: number): Promise<readonly Entry[]> {
    const key = frames === undefined ? run : `${run}/${frames}`;
    const known = this.#settled.get(key);
    if (known !== undefined) return known.entries;
    const all = await this.#store.read(run);
    const entries = entriesOfRun(frames === undefined ? all : all.slice(0, frames));
    const last = all.at(-1);
    if (frames !== undefined) this.#remember(key, { entries });
    else if (last?.record.type === 'close')
      this.#remember(key, { entries, end: { frames: all.length, end: endWith(entries, last.at) } });
    return entries;
  }

  /** Whether a run is known to have ended. */
  ended(run: RunId): boolean {
    return this.#settled.get(run)?.end !== undefined;
  }

  /** How it ended, and after how many frames; undefined while it has not. */
  async endOf(run: RunId): Promise<KnownEnd | undefined> {
    if (!this.ended(run)) await this.ofRun(run);
    return this.#settled.get(run)?.end;
  }

  /** How many frames of a run there were by then; null when it was over. */
  async framesBy(run: RunId, at: number): Promise<number | null> {
    const end = this.#settled.get(run)?.end;
    if (end !== undefined && end.end.at <= at) return null;
    try {
      const frames = await this.#store.read(run);
      const count = frames.findIndex((frame) => frame.at > at);
      const isWhole = count < 0 && frames.at(-1)?.record.type === 'close';
      return isWhole ? null : count < 0 ? frames.length : count;
    } catch (error) {
      if (!isCode(error, 'run_unknown')) throw error;
      return 0;
    }
  }

  /** What was said in a turn, as far as it counts. */
  async turn({ run, from, frames }: TurnNode): Promise<readonly Entry[]> {
    try {
      if (frames !== 0) return await this.ofRun(run, frames ?? undefined);
    } catch (error) {
      if (!isCode(error, 'run_unknown')) throw error;
    }
    // Its process died before the first record, or it had none then: it says what it was to go on from, or nothing.
    return from === null ? [] : this.ofRun(from.run, from.frames);
  }

  /** What a branch began with. */
  async kept({ ref: of, branched }: ConversationState): Promise<readonly Entry[]> {
    const ref = branched?.entries ?? null;
    if (branched === null || ref === null) return [];
    const known = this.#settled.get(ref);
    if (known !== undefined) return known.entries;
    try {
      const kept = JSON.parse(Buffer.from(await this.#store.getBlob(ref)).toString()) as readonly Entry[];
      this.#remember(ref, { entries: kept });
      return kept;
    } catch (error) {
      if (!isCode(error, 'file_missing')) throw error;
      throw new CloisterError('store_damaged', lostWords(of, branched.checkpoint, ref));
    }
  }

  #remember(key: string, settled: SettledEntries): void {
    this.#settled.set(key, settled);
    if (this.#settled.size <= rememberedMax) return;
    const [oldest] = this.#settled.keys();
    if (oldest !== undefined) this.#settled.delete(oldest);
  }
}

const endWith = (entries: readonly Entry[], at: number): RunEnd => ({
  at,
  entries: entries.length,
  context: entries.filter(({ category }) => category === 'CONTEXT').length,
});

const isCode = (error: unknown, code: ErrorCode): boolean => error instanceof CloisterError && error.code === code;

const lostWords = (of: ConversationRef, checkpoint: string, ref: string): string =>
  `What ${inWords(of)} began with (blob ${ref}) is missing. Put that back from a copy of the workspace; or delete and purge the conversation, and branch again from checkpoint ${checkpoint}.`;
