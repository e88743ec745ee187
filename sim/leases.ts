// Who owns which run on the disk, seen from outside: leases by the disk's clock, and in which order runs were acquired and written.
import type { RunId } from '#base';

/** In the order in which it happened on the disk. What was deleted may come back from an archive, which nobody owns. */
export type OwnershipEvent = {
  readonly what: 'acquired' | 'wrote' | 'released' | 'deleted';
  readonly run: RunId;
  readonly process: number;
  readonly at: number;
  /** Its place among these events and all calls of models and tools. */
  readonly nth: number;
  /** Set where a run was acquired while another process owned it whose lease had not lapsed, or that was alive where there are no leases. */
  readonly takenFrom: number | null;
};

const leaseMs = 3000;

export class DiskLeases {
  readonly #leases = new Map<number, { readonly until: number; readonly lapses: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  hasLapsed(process: number): boolean {
    return this.#now() >= (this.#leases.get(process)?.until ?? 0);
  }

  renew(process: number): { readonly lapses: number } {
    const before = this.#leases.get(process)?.lapses ?? 0;
    const lapses = this.hasLapsed(process) ? before + 1 : before;
    this.#leases.set(process, { until: this.#now() + leaseMs, lapses });
    return { lapses };
  }
}

type OwnershipPorts = {
  readonly now: () => number;
  readonly nextNth: () => number;
  /** Whether this process is still the owner of its runs, as the disk sees it. */
  readonly ownsStill: (process: number) => boolean;
  /** A run was acquired that this process had. */
  readonly onLost: (process: number) => void;
};

export class OwnershipRecord {
  readonly events: OwnershipEvent[] = [];
  readonly #ports: OwnershipPorts;

  constructor(ports: OwnershipPorts) {
    this.#ports = ports;
  }

  /** Returns a function that takes it back after `undo`, because its transaction failed. */
  note(what: OwnershipEvent['what'], run: RunId, process: number, undo: () => void): () => void {
    const { now, nextNth, ownsStill, onLost } = this.#ports;
    const newest = this.events.findLast((one) => one.run === run && one.what !== 'wrote');
    const former =
      what === 'acquired' && newest?.what === 'acquired' && newest.process !== process ? newest : undefined;
    const takenFrom = former !== undefined && ownsStill(former.process) ? former.process : null;
    const event = { what, run, process, at: now(), nth: nextNth(), takenFrom };
    this.events.push(event);
    if (former !== undefined) onLost(former.process);
    return () => {
      undo();
      this.events.splice(this.events.indexOf(event), 1);
    };
  }
}
