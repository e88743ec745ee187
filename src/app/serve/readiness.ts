// Whether a server can take work now: its store takes writes, its event loop is on time, its queue has room.
import type { Clock, Cloister } from '#contracts';
import type { SlotQueue } from './slot-queue.ts';

type ReadinessPorts = {
  readonly cloister: Pick<Cloister, 'checkWritable'>;
  readonly slots: Pick<SlotQueue, 'isFull'>;
  readonly clock: Clock;
  /** Called when the server can no longer take work, and why, and when it can again: then with an empty list. */
  readonly changed?: (problems: readonly string[]) => void;
};

/** Looks at most once in a while, however often it is asked: a look writes to the disk. */
export class ReadinessCheck {
  readonly #ports: ReadinessPorts;
  #latest: { readonly at: number; readonly problems: Promise<readonly string[]> } | null = null;
  /** What the last look found. */
  #known: readonly string[] = [];
  #stopTimer: (() => void) | null = null;
  #isStopped = false;

  constructor(ports: ReadinessPorts) {
    this.#ports = ports;
  }

  /** What the last look has found, without another one. */
  get known(): readonly string[] {
    return this.#known;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer?.();
  }

  /** At once: something has just gone wrong. */
  recheck(): Promise<readonly string[]> {
    this.#latest = null;
    return this.problems();
  }

  /** What keeps the server from taking work, in words; empty: nothing. Never rejects. */
  problems(): Promise<readonly string[]> {
    const now = this.#ports.clock.now();
    if (this.#latest === null || now - this.#latest.at >= freshMs || now < this.#latest.at)
      this.#latest = { at: now, problems: this.#look() };
    return this.#latest.problems;
  }

  async #look(): Promise<readonly string[]> {
    const found = await Promise.all([this.#storeProblem(), this.#loopProblem()]);
    const queue = this.#ports.slots.isFull ? 'the queue of requests is full' : null;
    const problems = [...found, queue].filter((problem) => problem !== null);
    this.#note(problems);
    return problems;
  }

  /** While something is wrong, it looks again by itself, so that it is known when that is over. */
  #note(problems: readonly string[]): void {
    const before = this.#known;
    this.#known = problems;
    if (before.join('\n') !== problems.join('\n')) this.#ports.changed?.(problems);
    this.#stopTimer?.();
    this.#stopTimer = null;
    if (problems.length > 0 && !this.#isStopped)
      this.#stopTimer = this.#ports.clock.timer(againMs, () => void this.problems());
  }

  async #storeProblem(): Promise<string | null> {
    const { cloister, clock } = this.#ports;
    const late = Promise.withResolvers<string>();
    const stop = clock.timer(storeMsMax, () =>
      late.resolve(`the workspace took no write within ${storeMsMax / 1_000} s`),
    );
    const written = cloister.checkWritable().then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    const problem = await Promise.race([written, late.promise]);
    stop();
    return problem;
  }

  /** A timer that comes late shows that something keeps the event loop to itself. */
  #loopProblem(): Promise<string | null> {
    const { clock } = this.#ports;
    const start = clock.now();
    return new Promise((resolve) => {
      clock.timer(tickMs, () => {
        const lateMs = clock.now() - start - tickMs;
        resolve(lateMs > lateMsMax ? `the event loop is ${lateMs} ms late` : null);
      });
    });
  }
}

const [freshMs, storeMsMax, tickMs, lateMsMax, againMs] = [1_000, 2_000, 10, 1_000, 5_000];
