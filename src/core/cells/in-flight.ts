// One cell's operations in flight, and the order in which it hears of their ends.
//
//   settlements-in-recorded-order. So a replay takes the same path.
//   cell-time-by-settlement. The cell's time is that of the newest settlement that was handed out.
//   stopped-cell-hears-nothing. What settled after the cell was stopped is no longer handed out.
import { CloisterError } from '#base';
import type { Json } from '#base';
import type { Operation, Settlement } from '#contracts';
import type { Halt } from './recorded-run.ts';
import type { InFlightOperation } from './step-runner.ts';

type Waiter = {
  readonly pending: readonly InFlightOperation[];
  resolve(one: InFlightOperation): void;
  reject(error: Error): void;
};

export class InFlight {
  now: number;
  /** The number of the frame whose time is `now`. */
  nowFrame = 0;
  /** For how long the cell had nothing to do. */
  idleMs = 0;
  halted: Halt | null = null;
  #started: InFlightOperation[] = none;
  #waiter: Waiter | null = null;
  #onEmpty: (() => void) | null = null;

  constructor(now: number) {
    this.now = now;
  }

  add(no: number, operation: Operation): InFlightOperation {
    const started = { no, operation, settled: undefined, result: undefined, order: 0, stop: undefined };
    if (this.#started.length === 0) this.#started = [started];
    else this.#started.push(started);
    return started;
  }

  /** The first of these to settle. Rejects only when the cell was stopped. `onWait`: none of them has settled yet. */
  first(pending: readonly InFlightOperation[], onWait: () => void): Promise<InFlightOperation> {
    const earliest = earliestSettled(pending, this.halted?.frame ?? Infinity);
    if (earliest !== undefined) return Promise.resolve(this.#handOut(earliest));
    if (this.halted !== null) return Promise.reject(this.#haltError(this.halted));
    onWait();
    return new Promise((resolve, reject) => (this.#waiter = { pending, resolve, reject }));
  }

  /** Hands the operation to the waiter, if the waiter waits for it. `order`: the number of the frame that settled it. */
  settle(started: InFlightOperation, result: Settlement<Json>, order: number): void {
    started.result = result;
    started.order = order;
    started.stop = undefined;
    if (this.#started.length === 1) this.#started = none;
    else this.#started.splice(this.#started.indexOf(started), 1);
    const waiter = this.#waiter;
    if (waiter !== null && waiter.pending.includes(started)) {
      this.#waiter = null;
      waiter.resolve(this.#handOut(started));
    }
    if (this.#started.length === 0) this.#onEmpty?.();
  }

  #handOut(started: InFlightOperation): InFlightOperation {
    started.settled = started.result as Settlement<never>;
    const waitedMs = Math.max(0, started.result!.at - this.now);
    this.now += waitedMs;
    this.nowFrame = Math.max(this.nowFrame, started.order);
    if (isIdleWait(started.operation)) this.idleMs += waitedMs;
    return started;
  }

  /** Stops everything that is in flight. */
  halt(halt: Halt): void {
    this.halted = halt;
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.reject(this.#haltError(halt));
    for (const started of this.#started.slice()) started.stop?.(halt.failure);
  }

  /** Also moves the cell's time forward to when it was stopped. */
  #haltError({ failure, at, frame }: Halt): CloisterError {
    this.now = Math.max(this.now, at);
    this.nowFrame = Math.max(this.nowFrame, frame);
    return new CloisterError(failure.code);
  }

  /** Whether every operation that began has settled. */
  get isEmpty(): boolean {
    this.#started = this.#started.filter((started) => started.result === undefined);
    return this.#started.length === 0;
  }

  /** Whether it does work outside now. */
  get hasSteps(): boolean {
    return this.#started.some(({ operation, result }) => operation.do === 'step' && result === undefined);
  }

  /** Whether its session waits for its operations, and none of them does work outside. */
  get onlyWaits(): boolean {
    return (this.#waiter !== null || this.#onEmpty !== null) && !this.hasSteps;
  }

  /** Resolves when every operation that began has settled. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => (this.#onEmpty = resolve));
  }
}

/** How a resident waits between two pieces of work. */
const isIdleWait = (operation: Operation): boolean =>
  operation.do === 'receive' &&
  (operation.wanted.kind === 'deferred' || (operation.wanted.kind === 'any' && operation.wanted.oneWork === true));

/** Shared, so never pushed to: the first operation creates a new array. */
const none: InFlightOperation[] = [];

export const isSettledBefore = ({ result, order }: InFlightOperation, frame: number): boolean =>
  result !== undefined && order < frame;

/** The operation that settled first, before that frame, and has not been handed out yet. */
const earliestSettled = (all: readonly InFlightOperation[], before: number): InFlightOperation | undefined => {
  let earliest: InFlightOperation | undefined;
  for (const one of all)
    // probe: replay-earliest
    if (
      one.result !== undefined &&
      one.settled === undefined &&
      one.order < before &&
      (earliest === undefined || one.order < earliest.order)
    )
      earliest = one;
  return earliest;
};
