// Keeps the lease of this process while its store is open and owns runs.
//
//   lease-asked-each-second. It is asked for again each second, whether or not the last request was answered: one that hangs must not
//       let it lapse.
import { Lease, renewMs } from './lease.ts';
import type { LeaseAnswer, Standing } from './lease.ts';

export type LeasePorts = {
  /** Milliseconds of a clock that never jumps. */
  now(): number;
  /** Calls back once, `ms` from now. The returned function stops it. */
  timer(ms: number, due: () => void): () => void;
  /** Asks the store to renew the lease. Rejects if the store did not answer: then nothing is known. */
  renew(): Promise<LeaseAnswer>;
};

export class LeaseKeeper {
  readonly #ports: LeasePorts;
  readonly #onNewTerm: () => void;
  readonly #lease = new Lease();
  #waiting: PromiseWithResolvers<void> | undefined;
  #stopTimer: (() => void) | undefined;
  #isStopped = false;

  /** `onNewTerm`: the lease may have lapsed, so the store must be asked about each run. */
  constructor(ports: LeasePorts, onNewTerm: () => void) {
    this.#ports = ports;
    this.#onNewTerm = onNewTerm;
  }

  get term(): number {
    return this.#lease.term;
  }

  standing(confirmedIn: number): Standing {
    return this.#lease.standing(confirmedIn, this.#ports.now());
  }

  /** Resolves once the lease is valid, or nobody keeps it any more. Asks for it from the first call on. */
  valid(): Promise<void> {
    if (this.#isStopped || this.#lease.isValid(this.#ports.now())) return Promise.resolve();
    if (this.#stopTimer === undefined) this.#ask();
    return (this.#waiting ??= Promise.withResolvers<void>()).promise;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer?.();
    this.#wake();
  }

  #ask(): void {
    const askedAt = this.#ports.now();
    this.#stopTimer = this.#ports.timer(renewMs, () => this.#ask());
    this.#ports.renew().then(
      (answer) => this.#renewed(askedAt, answer),
      () => undefined,
    );
  }

  #renewed(askedAt: number, answer: LeaseAnswer): void {
    if (this.#isStopped) return;
    const now = this.#ports.now();
    if (this.#lease.renewed(askedAt, answer, now)) this.#onNewTerm();
    if (this.#lease.isValid(now)) this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve();
  }
}
