// Resumes the runs that a crash, or a disk that failed, has interrupted, here or in another process of the workspace.
//
//   resumes-without-being-told. It looks again and again: nobody tells a server that another one died, or has left a run.
//   resumes-own-runs-only. Those of callers that have a token here, with agents that are served here.
//   resumes-by-caller. Oldest first, each in its caller's own slots: no caller's runs wait for those of another caller.
//   resumes-with-back-off. A run that was resumed recently waits, and twice as long each time, so that a run that takes the process
//       down does not do so again and again. A clock that was set back makes no wait longer.
import { CloisterError } from '#base';
import type { ErrorCode, RunId } from '#base';
import type { Caller, Clock, Cloister, RunSummary } from '#contracts';
import type { TokenRegistry } from './token-registry.ts';

/** What became of an interrupted run. `code`: why it was left alone; null: it was resumed. */
export type ResumeAttempt = {
  readonly run: RunId;
  readonly caller: string;
  readonly agent: string;
  readonly code: ErrorCode | null;
};

type ResumerPorts = {
  readonly clock: Clock;
  readonly cloister: Pick<Cloister, 'runs' | 'resumeTimes' | 'questions'>;
  /** Names of the served agents. */
  readonly agents: readonly string[];
  readonly tokens: Pick<TokenRegistry, 'entry'>;
  /** Whether the run is running here. */
  readonly isLive: (run: RunId) => boolean;
  /** Resolves when the run works again. The signal removes it from the queue for a slot. */
  readonly resume: (caller: Caller, run: RunId, signal: AbortSignal) => Promise<unknown>;
  readonly resumeAttempted?: ((attempt: ResumeAttempt) => void) | undefined;
};

type BackOff = { readonly times: number; readonly until: number; readonly ms: number };

export class InterruptedRunResumer {
  readonly #ports: ResumerPorts;
  /** Runs that cannot be resumed, whatever happens: their agent has changed, or their client's tools are gone. */
  readonly #unresumable = new Set<RunId>();
  /** Runs that are being resumed, or wait for a slot or for an older run of their caller. */
  readonly #inProgress = new Set<RunId>();
  /** Those that wait because they were resumed recently, since `times` resumes. */
  readonly #backOffs = new Map<RunId, BackOff>();
  readonly #stop = new AbortController();
  #isStarted = false;
  #stopTimer: (() => void) | null = null;
  /** When the timer ends. */
  #dueAt = Infinity;

  constructor(ports: ResumerPorts) {
    this.#ports = ports;
  }

  /** Resumes what is there, in the background, and from now on whatever is interrupted. */
  start(): void {
    this.#isStarted = true;
    void this.resume();
  }

  /** For a run that something was asked of. */
  resumeIfStarted(): void {
    if (this.#isStarted) void this.resume();
  }

  /** A run that something was asked of could not be resumed. Returns whether that may go away by itself; then it is tried again. */
  noteFailure(error: unknown): boolean {
    if (this.#isStarted && isTransient(error)) this.resumeLater();
    return isTransient(error);
  }

  /** The same, for whoever must know of the error. */
  rethrow(error: unknown): never {
    this.noteFailure(error);
    throw error;
  }

  /** Resumes what is there. Never rejects. */
  async resume(): Promise<void> {
    if (this.#isStopped) return;
    const { clock, cloister, isLive } = this.#ports;
    const from = clock.now();
    if (this.#isStarted) this.resumeLater();
    try {
      const open = await cloister.runs({ open: true });
      // Runs of others may be left at any moment.
      if (this.#isStarted && open.some(({ run }) => !isLive(run)))
        this.resumeLater(Math.max(lookMs, (clock.now() - from) * restOfTime));
      const runs = open.filter((run) => this.#mayResume(run)).toReversed();
      for (const { run } of runs) this.#inProgress.add(run);
      const callers = Map.groupBy(runs, ({ caller }) => caller);
      await Promise.all([...callers.values()].map((own) => this.#resumeInOrder(own)));
    } catch {
      // The store cannot be read now; it may come back.
      this.resumeLater();
    }
  }

  /** Tries again after a while, or earlier if that is due already. */
  resumeLater(ms: number = retryMs): void {
    const dueAt = this.#ports.clock.now() + ms;
    if (this.#isStopped || dueAt >= this.#dueAt) return;
    this.#stopTimer?.();
    this.#dueAt = dueAt;
    this.#stopTimer = this.#ports.clock.timer(ms, () => {
      this.#dueAt = Infinity;
      this.#stopTimer = null;
      void this.resume();
    });
  }

  stop(): void {
    this.#stop.abort();
    this.#stopTimer?.();
    this.#stopTimer = null;
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  #mayResume({ state, caller, agent, run }: RunSummary): boolean {
    const { agents, isLive, tokens } = this.#ports;
    return (
      state === 'interrupted' &&
      caller !== null &&
      agents.includes(agent) &&
      !isLive(run) &&
      tokens.entry({ name: caller }) !== undefined &&
      !this.#unresumable.has(run) &&
      !this.#inProgress.has(run) &&
      !this.#waits(run)
    );
  }

  /** Its log is not read again before its time has come. */
  #waits(run: RunId): boolean {
    const left = this.#left(this.#backOffs.get(run));
    if (left > 0) this.resumeLater(left);
    return left > 0;
  }

  #left(backOff: BackOff | undefined): number {
    const left = (backOff?.until ?? 0) - this.#ports.clock.now();
    // More than all of it is left if the clock was set back.
    return backOff === undefined || left > backOff.ms ? 0 : Math.max(0, left);
  }

  async #resumeInOrder(runs: readonly RunSummary[]): Promise<void> {
    for (const one of runs) {
      const wait = this.#isStopped ? 0 : await this.#resumeOne(one);
      this.#inProgress.delete(one.run);
      if (wait > 0) this.resumeLater(wait);
    }
  }

  /** Returns how long to wait before it is tried again; 0: it is done. */
  async #resumeOne(summary: RunSummary): Promise<number> {
    const { run, agent } = summary;
    const caller = summary.caller ?? '';
    const { cloister, resume, resumeAttempted } = this.#ports;
    try {
      const wait = this.#backOff(run, await cloister.resumeTimes(run));
      if (wait > 0) return wait;
      await resume({ name: caller }, run, this.#stop.signal);
      this.#backOffs.delete(run);
      resumeAttempted?.({ run, caller, agent, code: null });
      return 0;
    } catch (error) {
      const code = error instanceof CloisterError ? error.code : 'defect';
      if (this.#isStopped || isGone(code)) return 0;
      if (isTransient(error)) return retryMs;
      this.#unresumable.add(run);
      resumeAttempted?.({ run, caller, agent, code: (await this.#isStale(run, code)) ? 'question_stale' : code });
      return 0;
    }
  }

  /** Whether it waits for people whose answers cannot continue it, because its agents have changed. */
  async #isStale(run: RunId, code: ErrorCode): Promise<boolean> {
    return code === 'replay_differs' && (await this.#ports.cloister.questions({ run }).catch(() => [])).length > 0;
  }

  #backOff(run: RunId, resumedAt: readonly number[]): number {
    const now = this.#ports.clock.now();
    const recent = resumedAt.filter((at) => at > now - rememberedMs);
    const last = recent.at(-1);
    if (last === undefined) return 0;
    const [times, ms] = [resumedAt.length, firstWaitMs * 2 ** (recent.length - 1)];
    const known = this.#backOffs.get(run);
    // A time in the future is of a clock that was set back.
    const backOff = known?.times === times ? known : { times, ms, until: Math.min(last, now) + ms };
    this.#backOffs.set(run, backOff);
    return this.#left(backOff);
  }
}

/** Somebody else has the run, or it has ended. */
export const isGone = (code: ErrorCode): boolean =>
  code === 'run_owned' || code === 'run_lost' || code === 'run_ended' || code === 'run_unknown';

/** These may go away by themselves. */
const transientCodes: readonly ErrorCode[] = [
  'store_failed',
  'store_unreadable',
  'store_busy',
  'server_busy',
  'server_stopping',
];

const isTransient = (error: unknown): boolean => error instanceof CloisterError && transientCodes.includes(error.code);

/** While others work on runs it looks each second, but not longer than for a hundredth of the time. */
const [lookMs, restOfTime] = [1_000, 100];

const [retryMs, firstWaitMs, rememberedMs] = [10_000, 10_000, 3_600_000];
