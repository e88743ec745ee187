// Signals of runs: rows that any process may add, and that are removed once the owner of the run has carried them out.
//
//   signal-once. While a signal waits, another one of the same run with the same id changes nothing.
//   signals-bounded. Each run has a limit of its own, and so has the size of a signal.
import { CloisterError, deepFreeze, isName, isObject, utf8Bytes } from '#base';
import type { JsonObject, RunId } from '#base';
import type { Signal } from '#contracts';
import type { Item, SignalAck, SignalRow } from './messages.ts';

export type SignalTable = {
  /** How many signals of a run wait, and whether the one with this id is among them. */
  waitingSignals(run: RunId, id: string): { readonly count: number; readonly isKnown: boolean };
  insertSignal(signal: SignalRow): void;
  removeSignal(run: RunId, id: string): void;
};

export const waitingMax = 1_000;

const [bodyBytesMax, textCharsMax] = [1024 * 1024, 200];

/** Throws `name_invalid`, `options_invalid` or `request_too_large`. */
export const signalRow = ({ run, id, by, at, body }: Signal): SignalRow => {
  if (typeof run !== 'string' || !isName(run)) throw new CloisterError('name_invalid', String(run));
  for (const [field, text] of Object.entries({ id, by }))
    if (typeof text !== 'string' || text === '' || text.length > textCharsMax || !text.isWellFormed())
      throw new CloisterError('options_invalid', `${field}: expected a text of 1 to ${textCharsMax} characters.`);
  if (!Number.isSafeInteger(at)) throw new CloisterError('options_invalid', 'at: expected epoch milliseconds.');
  const json = bodyJson(body);
  const bytes = utf8Bytes(json);
  if (bytes > bodyBytesMax)
    throw new CloisterError('request_too_large', `A signal may have ${bodyBytesMax} bytes; this one has ${bytes}.`);
  return { run, id, by, at, body: json };
};

const bodyJson = (body: JsonObject): string => {
  const problem = new CloisterError('options_invalid', 'body: expected a JSON object.');
  if (!isObject(body)) throw problem;
  try {
    return JSON.stringify(body);
  } catch {
    throw problem;
  }
};

type SignalItem = Extract<Item, { do: 'signal' }>;

/** What becomes of a signal, given what waits for its run. */
export const decideSignal = ({ count, isKnown }: ReturnType<SignalTable['waitingSignals']>): SignalAck['decision'] => {
  if (isKnown) return 'known';
  return count >= waitingMax ? 'full' : 'stored';
};

export const addSignal = (table: SignalTable, { key, signal }: SignalItem): SignalAck => {
  const decision = decideSignal(table.waitingSignals(signal.run, signal.id));
  if (decision === 'stored') table.insertSignal(signal);
  return { key, decision };
};

/** False: the signal is known. Throws `mailbox_full`. */
export const isStored = (decision: SignalAck['decision'], run: RunId): boolean => {
  if (decision !== 'full') return decision === 'stored';
  throw new CloisterError('mailbox_full', `${waitingMax} signals wait for run ${run} to carry them out.`);
};

/** Frozen, because it may be handed out again. Throws `store_damaged`. */
export const parseSignal = ({ run, id, by, at, body }: SignalRow): Signal => {
  try {
    const parsed: unknown = JSON.parse(body);
    if (isObject(parsed)) return deepFreeze({ run, id, by, at, body: parsed as JsonObject });
  } catch {
    // Reported below.
  }
  throw new CloisterError('store_damaged', `signal ${id} of run ${run} is damaged`);
};

/** Listeners that are called through one watcher, which works only while there are any. */
export class SignalListeners {
  readonly #listeners = new Set<() => void>();
  readonly #watch: (notify: () => void) => () => void;
  #stop: (() => void) | undefined;

  constructor(watch: (notify: () => void) => () => void) {
    this.#watch = watch;
  }

  add(listener: () => void): () => void {
    // Wrapped, so that the same function can listen twice.
    const one = (): void => listener();
    this.#listeners.add(one);
    this.#stop ??= this.#watch(() => this.notify());
    return () => {
      this.#listeners.delete(one);
      if (this.#listeners.size === 0) this.#stopWatching();
    };
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  close(): void {
    this.#listeners.clear();
    this.#stopWatching();
  }

  #stopWatching(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}
