// One cell's operations in flight, and the caller that waits for one of them.
import type { Failure } from '#base';
import type { Operation } from '#contracts';
import type { InFlightOperation } from './step-runner.ts';

type Waiter = {
  readonly pending: readonly InFlightOperation[];
  resolve(one: InFlightOperation): void;
  reject(error: Error): void;
};

export class InFlight {
  #started: InFlightOperation[] = none;
  #waiter: Waiter | null = null;
  #onEmpty: (() => void) | null = null;

  add(no: number, operation: Operation): InFlightOperation {
    const started = { no, operation, settled: undefined, result: undefined, order: 0, stop: undefined };
    if (this.#started.length === 0) this.#started = [started];
    else this.#started.push(started);
    return started;
  }

  wait(waiter: Waiter): void {
    this.#waiter = waiter;
  }

  /** Removes a settled operation and hands it to the waiter, if the waiter waits for it. */
  remove(started: InFlightOperation, handOut: (started: InFlightOperation) => InFlightOperation): void {
    if (this.#started.length === 1) this.#started = none;
    else this.#started.splice(this.#started.indexOf(started), 1);
    const waiter = this.#waiter;
    if (waiter !== null && waiter.pending.includes(started)) {
      this.#waiter = null;
      waiter.resolve(handOut(started));
    }
    if (this.#started.length === 0) this.#onEmpty?.();
  }

  stopAll(failure: Failure, error: () => Error): void {
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.reject(error());
    for (const started of this.#started.slice()) started.stop?.(failure);
  }

  /** Whether every operation that began has settled. */
  get isEmpty(): boolean {
    this.#started = this.#started.filter((started) => started.result === undefined);
    return this.#started.length === 0;
  }

  /** Resolves when every operation that began has settled. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => (this.#onEmpty = resolve));
  }
}

/** Shared, so never pushed to: the first operation creates a new array. */
const none: InFlightOperation[] = [];
