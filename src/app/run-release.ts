// Lets go of a driven run before it ends: when everybody in it only waits, and when its worker stops.
//
//   rest-only-if-recorded. A run is let go only in a state that its log says, and when nothing that was asked of it waits.
//   give-back-between-steps. A worker that stops lets steps in flight finish for a while, and starts no further one.
//   rest-without-timers. However many runs rest, this process holds nothing for them; those that work share one timer.
import { CloisterError } from '#base';
import type { Clock, DriveOptions, RunRest, Store } from '#contracts';
import { readRest } from '#core/events';
import type { EarliestTimer } from './earliest-timer.ts';
import type { LocalRunSession } from './run-session.ts';

type ReleasePorts = {
  readonly store: Pick<Store, 'read' | 'signals'>;
  readonly clock: Clock;
  readonly timer: EarliestTimer;
};

export class RunRelease {
  /** Set once the run was let go because everybody in it waits. */
  rest: RunRest | null = null;
  readonly #session: LocalRunSession;
  readonly #ports: ReleasePorts;
  readonly #restAfterMs: number;
  readonly #graceMs: number;
  #isStopping = false;
  #isLate = false;
  #lastFrameAt: number;
  #stopTimer: (() => void) | undefined;

  constructor(session: LocalRunSession, ports: ReleasePorts, options: DriveOptions) {
    this.#session = session;
    this.#ports = ports;
    this.#restAfterMs = options.restAfterMs ?? restAfterMsDefault;
    this.#graceMs = options.graceMs ?? graceMsDefault;
    this.#lastFrameAt = ports.clock.now();
    const afterFrame = (): void => this.#afterFrame();
    session.afterFrame = afterFrame;
    this.#lookAgain();
  }

  /** The run has ended, or was let go. */
  close(): void {
    this.#session.afterFrame = undefined;
    this.#stopTimer?.();
  }

  giveBack(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#stopTimer?.();
    const { clock, timer } = this.#ports;
    this.#stopTimer = timer.at(clock.now() + this.#graceMs, () => {
      this.#isLate = true;
      this.#letGo();
    });
    this.#letGoBetweenSteps();
  }

  #afterFrame(): void {
    // In a microtask: before any session continues, and after the frame has been written to its end.
    if (this.#isStopping) return queueMicrotask(() => this.#letGoBetweenSteps());
    this.#lastFrameAt = this.#ports.clock.now();
    if (this.#stopTimer === undefined) this.#lookAgain();
  }

  #letGoBetweenSteps(): void {
    if (this.#isLate || this.#session.live?.hasSteps === false) this.#letGo();
  }

  #letGo(): void {
    // Nothing more is written, and its cells stop: as after a crash.
    this.#session.live?.markBroken(new CloisterError('run_left', `Run ${this.#session.run}.`));
  }

  get #onlyWaits(): boolean {
    const { live, isStopping } = this.#session;
    return live?.onlyWaits === true && !isStopping;
  }

  #lookAgain(): void {
    const due = this.#lastFrameAt + this.#restAfterMs;
    this.#stopTimer = this.#ports.timer.at(due, () => {
      this.#stopTimer = undefined;
      if (this.#lastFrameAt + this.#restAfterMs > this.#ports.clock.now()) this.#lookAgain();
      else void this.#restIfItCan();
    });
  }

  async #restIfItCan(): Promise<void> {
    const session = this.#session;
    if (!this.#onlyWaits || this.#isStopping) return;
    const { store, clock } = this.#ports;
    const since = this.#lastFrameAt;
    try {
      await session.durable();
      const rest = readRest(await store.read(session.run));
      const isWorthIt = rest !== null && (rest.until ?? Infinity) - clock.now() >= this.#restAfterMs;
      const isAsked = (await store.signals(session.run)).length > 0;
      if (this.#lastFrameAt !== since || this.#isStopping || !this.#onlyWaits) return;
      if (isAsked) this.#lastFrameAt = clock.now();
      if (isAsked) return this.#lookAgain();
      if (!isWorthIt) return;
      this.rest = rest;
      this.#letGo();
    } catch {
      // The store cannot be read now. The run stays as it is.
      if (this.#stopTimer === undefined && !session.ended) {
        this.#lastFrameAt = clock.now();
        this.#lookAgain();
      }
    }
  }
}

const [restAfterMsDefault, graceMsDefault] = [5_000, 5_000];
