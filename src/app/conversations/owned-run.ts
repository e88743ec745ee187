// A new run id whose log is acquired when needed, and released if the run is not started.
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

  /** The caller must close the log from here on. */
  transfer(): RunLog {
    const log = this.#log;
    if (log === undefined) throw new Error('The run was not acquired.');
    this.#log = undefined;
    return log;
  }

  async release(): Promise<void> {
    await this.#log?.close();
    this.#log = undefined;
  }
}
