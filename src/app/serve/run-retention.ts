// Deletes the runs that the operator's rules no longer keep, for as long as a server runs.
//
//   retention-keeps-allowances. What counts for a caller's allowance now stays until it no longer does: the sum is read from the runs.
//   retention-in-passes. A pass deletes a bounded number of runs, in batches, and ends with its batch when the server stops. Servers of
//       one workspace may do the same at the same time: what one has deleted is no longer there for another.
import { CloisterError } from '#base';
import type { ErrorCode } from '#base';
import type { Clock, Cloister, RunSummary } from '#contracts';
import type { Allowances } from './allowances.ts';
import type { TokenRegistry } from './token-registry.ts';

/** What a pass has done: how many runs it deleted, and why it failed; null: it did not. */
export type RetentionPass = { readonly runs: number; readonly code: ErrorCode | null };

type RetentionPorts = {
  readonly clock: Clock;
  readonly cloister: Pick<Cloister, 'storage'>;
  readonly tokens: Pick<TokenRegistry, 'entry'>;
  readonly allowances: Pick<Allowances, 'period'>;
  /** Called if there is something to tell. */
  readonly runsExpired?: ((pass: RetentionPass) => void) | undefined;
};

export class RunRetention {
  readonly #ports: RetentionPorts;
  readonly #stop = new AbortController();
  #pass: Promise<void> = Promise.resolve();
  #stopTimer: (() => void) | null = null;

  constructor(ports: RetentionPorts) {
    this.#ports = ports;
  }

  /** Begins with a pass now, in the background. Does nothing if nothing says how long runs are kept. */
  start(): void {
    if (this.#stopTimer !== null || this.#stop.signal.aborted) return;
    this.#schedule(0);
  }

  /** Resolves when no pass is at work any more. */
  stop(): Promise<void> {
    this.#stop.abort();
    this.#stopTimer?.();
    return this.#pass;
  }

  #schedule(ms: number): void {
    this.#stopTimer = this.#ports.clock.timer(ms, () => {
      this.#pass = this.#runPass();
    });
  }

  async #runPass(): Promise<void> {
    const waitMs = await this.#expire();
    if (!this.#stop.signal.aborted && waitMs !== null) this.#schedule(waitMs);
  }

  /** Returns how long to wait for the next pass; null: there is none. Never rejects. */
  async #expire(): Promise<number | null> {
    const { cloister, runsExpired } = this.#ports;
    const { signal } = this.#stop;
    try {
      if (cloister.storage.keep === null) return null;
      const spare = (run: RunSummary): boolean => this.#isSpared(run);
      const gone = await cloister.storage.expire(undefined, { most: passRuns, spare, signal });
      if (gone.length > 0) runsExpired?.({ runs: gone.length, code: null });
      return gone.length >= passRuns ? backlogMs : everyMs;
    } catch (error) {
      // The store may be closed already.
      if (!signal.aborted) runsExpired?.({ runs: 0, code: error instanceof CloisterError ? error.code : 'defect' });
      return afterFailureMs;
    }
  }

  #isSpared({ caller, startedAt, endedAt }: RunSummary): boolean {
    const { clock, tokens, allowances } = this.#ports;
    if (endedAt !== null && clock.now() - endedAt < unreadMs) return true;
    const entry = caller === null ? undefined : tokens.entry({ name: caller });
    const period = entry === undefined ? null : allowances.period(entry);
    return period !== null && startedAt >= period.since;
  }
}

const passRuns = 1_000;

const [everyMs, backlogMs, afterFailureMs] = [3_600_000, 60_000, 600_000];

/** Its client may not have read the answer yet. */
const unreadMs = 600_000;
