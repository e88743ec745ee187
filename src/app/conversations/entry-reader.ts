// Reads what was said in a conversation out of the logs of its turns.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Entry, Store } from '#contracts';
import { turnsOf } from './book-state.ts';
import type { ConversationState, TurnNode } from './book-state.ts';
import { entriesOfRun, inOrder } from './entries.ts';

/** So many runs that have ended are remembered: they do not change any more. */
const rememberedMax = 1_000;

/** Where a conversation is cut: in this turn, after so many frames of it. */
export type CutTurn = { readonly node: TurnNode; readonly frames: number };

export class EntryReader {
  readonly #store: Store;
  readonly #ended = new Map<RunId, readonly Entry[]>();

  constructor(store: Store) {
    this.#store = store;
  }

  async entries(conversation: ConversationState): Promise<readonly Entry[]> {
    const turns: (readonly Entry[])[] = [];
    for (const node of turnsOf(conversation)) turns.push(await this.#turn(node));
    return inOrder(await this.#kept(conversation), turns);
  }

  /** What had been said by the cut; without the turn itself when somebody goes on with that. */
  async entriesUpTo(conversation: ConversationState, cut: CutTurn, withTurn: boolean): Promise<readonly Entry[]> {
    const { node, frames } = cut;
    const turns: (readonly Entry[])[] = [];
    for (const before of turnsOf({ newest: node.previous })) turns.push(await this.#turn(before));
    if (withTurn) turns.push(await this.ofRun(node.run, frames));
    return inOrder(await this.#kept(conversation), turns);
  }

  /** Of a run, or of its first so many frames. */
  async ofRun(run: RunId, frames?: number): Promise<readonly Entry[]> {
    const known = frames === undefined ? this.#ended.get(run) : undefined;
    if (known !== undefined) return known;
    const all = await this.#store.read(run);
    const entries = entriesOfRun(frames === undefined ? all : all.slice(0, frames));
    if (frames === undefined && all.at(-1)?.record.type === 'close') this.#remember(run, entries);
    return entries;
  }

  /** Whether a run is known to have ended. */
  ended(run: RunId): boolean {
    return this.#ended.has(run);
  }

  async #turn({ run, from }: TurnNode): Promise<readonly Entry[]> {
    try {
      return await this.ofRun(run);
    } catch (error) {
      if (!isUnknown(error)) throw error;
      // Its process died before the first record: then it says what it was to go on from, or nothing.
      return from === null ? [] : this.ofRun(from.run, from.frames);
    }
  }

  async #kept({ branched }: ConversationState): Promise<readonly Entry[]> {
    const ref = branched?.entries ?? null;
    if (ref === null) return [];
    return JSON.parse(Buffer.from(await this.#store.blob(ref)).toString()) as readonly Entry[];
  }

  #remember(run: RunId, entries: readonly Entry[]): void {
    this.#ended.set(run, entries);
    if (this.#ended.size <= rememberedMax) return;
    const [oldest] = this.#ended.keys();
    if (oldest !== undefined) this.#ended.delete(oldest);
  }
}

const isUnknown = (error: unknown): boolean => error instanceof CloisterError && error.code === 'run_unknown';
