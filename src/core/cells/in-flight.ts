// The operations of one cell that are under way, and whoever waits for one of them.
import type { Failure } from '#base';
import type { InFlightOperation } from './step-runner.ts';

type Waiter = {
  readonly pending: readonly InFlightOperation[];
  resolve(one: InFlightOperation): void;
  reject(error: Error): void;
};

export class InFlight {
  #started: InFlightOperation[] = none;
  #waiter: Waiter | null = null;
  #drained: (() => void) | null = null;

  add(started: InFlightOperation): void {
    if (this.#started.length === 0) this.#started = [started];
    else this.#started.push(started);
  }

  wait(waiter: Waiter): void {
    this.#waiter = waiter;
  }

  /** It is over: whoever waits for it is handed it. */
  remove(started: InFlightOperation, handOut: (started: InFlightOperation) => InFlightOperation): void {
    if (this.#started.length === 1) this.#started = none;
    else this.#started.splice(this.#started.indexOf(started), 1);
    const waiter = this.#waiter;
    if (waiter !== null && waiter.pending.includes(started)) {
      this.#waiter = null;
      waiter.resolve(handOut(started));
    }
    if (this.#started.length === 0) this.#drained?.();
  }

  stopAll(failure: Failure, error: () => Error): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.reject(error());
    for (const started of this.#started.slice()) started.stop?.(failure);
  }

  /** Whether all that began has settled. */
  get isEmpty(): boolean {
    this.#started = this.#started.filter((started) => started.result === undefined);
    return this.#started.length === 0;
  }

  /** When it has. */
  emptied(): Promise<void> {
    return new Promise((resolve) => (this.#drained = resolve));
  }
}

/** Never pushed to: an array of its own is made with its first element. */
const none: InFlightOperation[] = [];
