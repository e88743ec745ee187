// Remembers the responses of runs with client tools, so that they can be read again.
//
//   responses-own-only. A caller can only read its own responses.
//   responses-bounded. The size is bounded: the newest responses of each run, and the newest ended runs of each caller.
import type { RunId } from '#base';
import type { Caller, SpentTokens, RequestState } from '#contracts';

const [charsMax, endedMax] = [256 * 1024, 16];

/** The responses of one run, counted from 1. */
export class RequestStates {
  readonly #states = new Map<number, { readonly state: RequestState; readonly chars: number }>();
  #newest: number;
  #chars = 0;

  /** `before`: at least as many as requests were answered before, by another process. */
  constructor(before = 0) {
    this.#newest = before;
  }

  /** Returns the number of the new request. */
  begin(): number {
    this.#newest += 1;
    this.#put(this.#newest, { state: 'running' });
    return this.#newest;
  }

  record(nth: number, state: RequestState): void {
    this.#put(nth, state);
  }

  /** The run has ended, and with it its open requests. */
  end(spent: SpentTokens): void {
    for (const [nth, { state }] of this.#states)
      if (state.state === 'running') this.#put(nth, { state: 'ended', spent });
  }

  get(nth: number): RequestState | undefined {
    return this.#states.get(nth)?.state;
  }

  #put(nth: number, state: RequestState): void {
    this.#chars -= this.#states.get(nth)?.chars ?? 0;
    const chars = JSON.stringify(state).length;
    this.#states.set(nth, { state, chars });
    this.#chars += chars;
    for (const [oldest, tracked] of this.#states) {
      if (this.#chars <= charsMax || oldest === this.#newest) return;
      this.#states.delete(oldest);
      this.#chars -= tracked.chars;
    }
  }
}

type TrackedRun = { readonly states: RequestStates; isOver: boolean };

export class RunRequestStates {
  /** By caller; ended runs in the order in which they ended. */
  readonly #runs = new Map<string, Map<RunId, TrackedRun>>();

  begin(caller: string, run: RunId, states: RequestStates): void {
    const own = this.#runs.get(caller) ?? new Map<RunId, TrackedRun>();
    this.#runs.set(caller, own);
    own.set(run, { states, isOver: false });
  }

  end(caller: string, run: RunId): void {
    const own = this.#runs.get(caller);
    const tracked = own?.get(run);
    if (own === undefined || tracked === undefined) return;
    own.delete(run);
    own.set(run, { ...tracked, isOver: true });
    const ended = [...own].filter(([, { isOver }]) => isOver);
    for (const [old] of ended.slice(0, Math.max(0, ended.length - endedMax))) own.delete(old);
  }

  get({ name }: Caller, run: string, nth: number): RequestState | undefined {
    return this.#runs
      .get(name)
      ?.get(run as RunId)
      ?.states.get(nth);
  }
}
