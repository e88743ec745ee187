// Takes up the runs that a crash, or a disk that failed, has left behind.
//
//   adopts-own-runs-only. Those of callers that have a token here, with agents that are served here: oldest first, each in its
//       caller's own slots.
//   adopts-with-back-off. A run that was resumed lately waits, and twice as long each time, so that a run that takes the process
//       down does not do so again and again.
import { CloisterError } from '#base';
import type { ErrorCode, RunId } from '#base';
import type { Caller, Clock, RunArchive, RunReport, RunSummary } from '#contracts';
import type { TokenRegistry } from './token-registry.ts';

/** What became of an interrupted run. `code`: why it was left alone; null: it was resumed. */
export type AdoptedRun = {
  readonly run: RunId;
  readonly caller: string;
  readonly agent: string;
  readonly code: ErrorCode | null;
};

type AdopterPorts = {
  readonly clock: Clock;
  /** The interrupted runs that may be taken up here. */
  listInterrupted(): Promise<readonly RunSummary[]>;
  report(run: RunId): Promise<Pick<RunReport, 'events'>>;
  /** Resolves when the run works again. */
  resume(run: RunSummary): Promise<void>;
  readonly adopted?: ((run: AdoptedRun) => void) | undefined;
};

export class RunAdopter {
  readonly #ports: AdopterPorts;
  /** Runs that cannot be resumed, whatever happens: their agent has changed, or their client's tools are gone. */
  readonly #given = new Set<RunId>();
  #stopTimer: (() => void) | null = null;
  #working: Promise<void> | null = null;
  #stopped = false;

  constructor(ports: AdopterPorts) {
    this.#ports = ports;
  }

  /** Takes up what is there. Never rejects. */
  adopt(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return (this.#working ??= this.#adoptAll().finally(() => (this.#working = null)));
  }

  /** Tries again after a while. */
  adoptLater(ms: number = retryMs): void {
    if (this.#stopped || this.#stopTimer !== null) return;
    this.#stopTimer = this.#ports.clock.timer(ms, () => {
      this.#stopTimer = null;
      void this.adopt();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer?.();
    this.#stopTimer = null;
  }

  async #adoptAll(): Promise<void> {
    try {
      const interrupted = (await this.#ports.listInterrupted()).toSorted(
        (one, other) => one.startedAt - other.startedAt,
      );
      const waits: number[] = [];
      for (const run of interrupted)
        if (!this.#stopped && !this.#given.has(run.run)) waits.push(await this.#adoptOne(run));
      const next = Math.min(...waits.filter((ms) => ms > 0));
      if (Number.isFinite(next)) this.adoptLater(next);
    } catch {
      // The store cannot be read now; it may come back.
      this.adoptLater();
    }
  }

  /** Returns how long to wait before it is tried again; 0: it is done. */
  async #adoptOne(summary: RunSummary): Promise<number> {
    const { run, agent } = summary;
    const caller = summary.caller ?? '';
    try {
      const wait = this.#backOff(await this.#ports.report(run));
      if (wait > 0) return wait;
      await this.#ports.resume(summary);
      this.#ports.adopted?.({ run, caller, agent, code: null });
      return 0;
    } catch (error) {
      const code = error instanceof CloisterError ? error.code : 'defect';
      // Somebody else has it, or it has ended meanwhile.
      if (code === 'run_owned' || code === 'run_ended' || code === 'run_unknown') return 0;
      if (passing.includes(code)) return retryMs;
      this.#given.add(run);
      this.#ports.adopted?.({ run, caller, agent, code });
      return 0;
    }
  }

  #backOff({ events }: Pick<RunReport, 'events'>): number {
    const now = this.#ports.clock.now();
    const resumes = events.filter(({ type, at }) => type === 'run-resume' && at > now - rememberedMs);
    const last = resumes.at(-1)?.at ?? -Infinity;
    return resumes.length === 0 ? 0 : Math.max(0, last + firstWaitMs * 2 ** (resumes.length - 1) - now);
  }
}

/** These may go away by themselves. */
const passing: readonly ErrorCode[] = ['store_failed', 'store_busy', 'server_busy', 'server_stopping'];

const [retryMs, firstWaitMs, rememberedMs] = [10_000, 10_000, 3_600_000];

type ServedRuns = {
  readonly isLive: (run: RunId) => boolean;
  readonly resume: (caller: Caller, run: RunId) => Promise<unknown>;
};

type AdopterSetting = Pick<AdopterPorts, 'clock' | 'adopted'> & {
  readonly cloister: Pick<RunArchive, 'runs' | 'show'>;
  /** Names of the served agents. */
  readonly agents: readonly string[];
  readonly tokens: Pick<TokenRegistry, 'entry'>;
};

/** For the runs of a service. */
export const adopterFor = (
  { clock, adopted, cloister, agents, tokens }: AdopterSetting,
  { isLive, resume }: ServedRuns,
): RunAdopter =>
  new RunAdopter({
    clock,
    adopted,
    listInterrupted: async () =>
      (await cloister.runs()).filter(
        ({ state, caller, agent, run }) =>
          state === 'interrupted' &&
          caller !== null &&
          agents.includes(agent) &&
          !isLive(run) &&
          tokens.entry({ name: caller }) !== undefined,
      ),
    report: (run) => cloister.show(run, { sees: 'answers' }),
    resume: async ({ run, caller }) => void (await resume({ name: caller ?? '' }, run)),
  });
