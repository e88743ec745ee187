// Signals that wait in a store in memory.
import type { RunId } from '#base';
import type { Signal, Store } from '#contracts';
import { decideSignal, isStored, parseSignal, SignalListeners, signalRow } from './signals.ts';
import type { MemoryRuns } from './memory-run-log.ts';

export class MemorySignals {
  readonly listeners = new SignalListeners(() => () => undefined);
  readonly store: Pick<Store, 'putSignal' | 'signals' | 'removeSignal' | 'watchSignals'> = {
    putSignal: (signal) => this.#put(signal),
    signals: async (run) => (run === undefined ? this.#waiting : this.#waiting.filter((one) => one.run === run)),
    removeSignal: async (run, id) => {
      this.#waiting = this.#waiting.filter((one) => one.run !== run || one.id !== id);
    },
    watchSignals: (listener) => this.listeners.add(listener),
  };
  #waiting: readonly Signal[] = [];

  async #put(given: Signal): Promise<boolean> {
    const signal = parseSignal(signalRow(given));
    const { run, id } = signal;
    const ofRun = this.#waiting.filter((one) => one.run === run);
    const decision = decideSignal({ count: ofRun.length, isKnown: ofRun.some((one) => one.id === id) });
    if (!isStored(decision, run)) return false;
    this.#waiting = [...this.#waiting, signal];
    queueMicrotask(() => this.listeners.notify());
    return true;
  }

  forget(run: RunId): void {
    this.#waiting = this.#waiting.filter((one) => one.run !== run);
  }
}

/** Unless it was resumed. */
export const dropRun = (runs: MemoryRuns, signals: MemorySignals, run: RunId): void => {
  if (runs.get(run)?.owned !== false) return;
  runs.delete(run);
  signals.forget(run);
};
