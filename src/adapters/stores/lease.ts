// Whether this process may start what has effects: a lease on all of its runs, granted by the store's clock. No timers and no requests
// here: whoever renews the lease hands in the time, by a clock that never jumps.
//
//   lease-ends-here-first. It counts from the moment it was asked for. The store counts from later, so it lapses here before anybody may
//       take a run over, however late an answer comes.
//   lease-lapse-is-a-loss. A renewal that comes after a lapse, here or at the store, begins a new term. A run that was confirmed in an
//       earlier term must be confirmed again by the store: somebody may have acquired it meanwhile.
//
//                      renewed                     renewed in time
//     (no lease) ─ ask ─────────▶ valid, term 1 ──────────────────▶ valid, term 1
//                                      │ nothing heard for a lease       each run: owned
//                                      ▼                renewed
//                                   lapsed, term 1 ──────────────▶ valid, term 2
//                                      each run: lapsed                  each run: unconfirmed, until the store says whose it is

/** Two renewals in a row may be lost. */
export const leaseMs = 3000;
export const renewMs = 1000;

export type LeaseAnswer = {
  /** How often the store has found this lease lapsed when it was asked to renew it. So no answer may get lost unnoticed. */
  readonly lapses: number;
};

/**
 * `owned`: nobody else can have the run. `lapsed`: wait until the lease is renewed. `unconfirmed`: ask the store whether the run still has
 * its epoch.
 */
export type Standing = 'owned' | 'lapsed' | 'unconfirmed';

export class Lease {
  #validUntil = -Infinity;
  #lapses = 0;
  #term = 0;

  /** Changes whenever the lease may have lapsed. Runs are confirmed in the term in which the store was asked about them. */
  get term(): number {
    return this.#term;
  }

  isValid(now: number): boolean {
    return now < this.#validUntil;
  }

  /** The store has done what it was asked for then. An answer that never comes changes nothing. Returns whether a new term began. */
  renewed(askedAt: number, { lapses }: LeaseAnswer, now: number): boolean {
    // probe: lease-lapse
    const mayHaveLapsed = !this.isValid(now) || lapses !== this.#lapses;
    this.#lapses = lapses;
    this.#validUntil = Math.max(this.#validUntil, askedAt + leaseMs);
    if (mayHaveLapsed) this.#term++;
    return mayHaveLapsed;
  }

  /** Of a run that the store confirmed last when it was asked in this term. */
  standing(confirmedIn: number, now: number): Standing {
    if (!this.isValid(now)) return 'lapsed';
    return confirmedIn === this.#term ? 'owned' : 'unconfirmed';
  }
}
