// Whether a run waits for people, and nothing in it works.
type WaitListener = (waits: boolean) => void;

export class PeopleWait {
  waits = false;
  readonly #listeners = new Set<WaitListener>();

  /** Returns a function that removes the listener. */
  listen(listener: WaitListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Whoever is told that the run waits must find its questions in the log. `durable`: resolves when they are there. Rejects if they
   * cannot be recorded.
   */
  async set(waits: boolean, durable: () => Promise<void>): Promise<void> {
    this.waits = waits;
    if (waits) await durable();
    if (this.waits === waits) for (const listener of this.#listeners) listener(waits);
  }
}
