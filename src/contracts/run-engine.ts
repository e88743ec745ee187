// What calls workers to drive runs, on any of several machines.
//
//   store-decides. Who may write a run, whether it has begun and whether it has ended is in the store. An engine may call twice, too late,
//       or two workers at once, and may lose all it knows: nothing is done twice, and `reconcile` finds again what is open.
//   engine-carries-no-content. An engine is told ids and names. What a request says stays in the store.
import type { ErrorCode, RunId } from '#base';

export interface RunEngine {
  readonly name: string;
  /** Has a worker drive a run that was requested in the store: one call for each id, however often it is asked. */
  start(call: RunCall): Promise<void>;
  /** Has a worker drive a run that nobody drives now: soon, or at that time (epoch milliseconds). */
  wake(call: RunCall, at?: number): Promise<void>;
  /** This process drives runs from now on: of these agents, so many at once. The returned function ends that. */
  work(worker: EngineWorker): Promise<StopWork>;
  close(): Promise<void>;
}

export type EngineWorker = {
  /** The names of the agents that it has. */
  readonly agents: readonly string[];
  readonly slots: number;
  /** Never rejects. */
  readonly drive: (call: RunCall) => Promise<DriveEnd>;
};

/** A run, and the agent of its root. */
export type RunCall = { readonly run: RunId; readonly agent: string };

/** Takes no more calls, and resolves when those that were taken have returned. */
export type StopWork = () => Promise<void>;

/**
 * Why a worker drives a run no longer. `ended`: nobody needs to any more. `rests`: everybody in it only waits; call again at that time, or
 * when something is asked of it. `lost`: another process has it, or this one had to stop; call again soon. `refused`: it cannot continue
 * with the agents of this worker; others may have them. Its `until`: nobody has begun it; if nobody can until then, the next call refuses
 * it for good.
 */
export type DriveEnd =
  | { readonly end: 'ended' }
  | ({ readonly end: 'rests' } & RunRest)
  | { readonly end: 'lost' }
  | { readonly end: 'refused'; readonly code: ErrorCode; readonly detail: string; readonly until?: number };

/** A run in which every cell only waits. `until`: epoch milliseconds; null: for mail or people, however long. */
export type RunRest = { readonly until: number | null };
