// Whether a run waits for people, and nothing in it works.
//
//   wait-ends-when-admitted. What ends the wait (an answer from anywhere, or a question that expires) happens once the run may work.
import { CloisterError } from '#base';
import type { AdmitWork } from '#contracts';

type WaitListener = (waits: boolean) => void;

export class PeopleWait {
  waits = false;
  admit: AdmitWork | undefined;
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

  /** Rejects with what `act` or `admit` rejects with. */
  admitted<T>(act: () => Promise<T>): Promise<T> {
    // probe: wait-admitted
    return this.admit === undefined || !this.waits ? act() : this.admit(act);
  }

  /** Returns a function that takes it back. */
  whenAdmitted(act: () => void): () => void {
    let isTakenBack = false;
    const actOnce = async (): Promise<void> => {
      if (!isTakenBack) act();
    };
    void this.admitted(actOnce).catch((error: unknown) => {
      // Whoever resumes the run does this again.
      if (!(error instanceof CloisterError) || error.code !== 'server_stopping') throw error;
    });
    return () => void (isTakenBack = true);
  }
}
