// A run id of our own, whose log is taken when it is needed and given back if nobody goes on with it.
import type { RunId } from '#base';
import type { RunLog, Store } from '#contracts';

export class OwnedRun {
  readonly run: RunId;
  readonly #store: Store;
  #log: RunLog | undefined;

  constructor(store: Store, run: RunId) {
    this.#store = store;
    this.run = run;
  }

  async acquire(): Promise<void> {
    this.#log ??= await this.#store.acquireRun(this.run);
  }

  /** From here on it is the caller's to close. */
  transfer(): RunLog {
    const log = this.#log;
    if (log === undefined) throw new Error('The run was not taken.');
    this.#log = undefined;
    return log;
  }

  async release(): Promise<void> {
    await this.#log?.close();
    this.#log = undefined;
  }
}
