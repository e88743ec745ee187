// How a worker drives a run, and which runs wait for one.
import type { RunCall } from './run-engine.ts';

export type DriveOptions = {
  /** Aborting it gives the run back: it stops as soon as none of its steps is in flight, and another worker continues it. */
  readonly signal?: AbortSignal;
  /** How long everybody in the run must have waited before it is let go. Default: 5 seconds. */
  readonly restAfterMs?: number;
  /** How long to wait for steps in flight when it is given back. After that they are repeated elsewhere, where they may be. Default: 5 seconds. */
  readonly graceMs?: number;
};

/**
 * A run that nobody drives. `at`: when to call a worker; null: when something is asked of it. `isBegun`: it is more than a request.
 */
export type UndrivenRun = RunCall & { readonly at: number | null; readonly isBegun: boolean };
