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

  /** Whoever is told that the run waits must find its questions in the log. `durable`: resolves when they are there. */
  async set(waits: boolean, durable: () => Promise<void>): Promise<void> {
    this.waits = waits;
    if (this.#listeners.size === 0) return;
    try {
      if (waits) await durable();
    } catch {
      // The outcome says that the run could not be recorded.
      return;
    }
    if (this.waits === waits) for (const listener of this.#listeners) listener(waits);
  }
}
