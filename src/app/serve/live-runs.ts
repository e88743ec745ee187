// The runs of a server that have not ended, until it stops.
//
//   drain-leaves-waiting-runs. A server that stops does not wait for people, and cancels no run that waits for them: it lets go of
//       it, tells its client so, and whoever answers or resumes it continues it.
//   waiting-runs-bounded. The number of a caller's runs that wait for people is limited, because they use no slots.
//   answer-needs-slot. An answer to a run that waits here is given once the run has a slot again: answering many at once does not
//       take the slots of others.
import { CloisterError, PromptlyReleasingMap } from '#base';
import type { RunId } from '#base';
import type { Caller, Clock, ServedRun } from '#contracts';
import { finishResident } from './resident-sessions.ts';
import { letGo } from './served-run.ts';
import type { ActiveRun } from './served-run.ts';

const [waitingMax, retryAfterMs, answerWaitMs] = [1_000, 2_000, 5_000];

export class LiveRuns {
  readonly #clock: Clock;
  readonly #runs = new PromptlyReleasingMap<RunId, ActiveRun>();
  /** Requests that wait for a slot or for their run to start. */
  readonly #starting = new PromptlyReleasingMap<number, Promise<ServedRun>>();
  /** Those that waited for people when the server stopped. */
  readonly #left: RunId[] = [];
  #startCount = 0;
  #stopping = false;
  #hasLetGo = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#runs.size;
  }

  get(run: RunId): ActiveRun | undefined {
    return this.#runs.get(run);
  }

  values(): readonly ActiveRun[] {
    return this.#runs.values();
  }

  /** Throws `server_stopping`. */
  checkOpen(): void {
    if (this.#stopping) throw new CloisterError('server_stopping');
  }

  /** Throws `server_busy` if too many runs of this caller wait for people. */
  checkWaiting({ name }: Caller): void {
    const own = this.#runs.values().filter(({ caller }) => caller.name === name);
    if (own.filter(({ session }) => session.waitsForPeople).length < waitingMax) return;
    const detail = `${waitingMax} of your runs wait for people. Answer their questions, or cancel some.`;
    throw new CloisterError('server_busy', detail, { retryAfterMs });
  }

  /**
   * Gives an answer to a run, which may then continue. Rejects with what `answer` rejects with, or with `server_busy`: a person is told soon
   * that there is no slot, and does not wait until some other run ends.
   */
  async withSlot<T>(run: RunId, answer: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { session, slot } = this.#runs.get(run) ?? {};
    if (session?.waitsForPeople !== true) return answer();
    const late = new AbortController();
    const stopTimer = this.#clock.timer(answerWaitMs, () => late.abort());
    const all = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    const give = (): Promise<T> => {
      stopTimer();
      return answer();
    };
    try {
      return await slot!.runWithSlot(give, all);
    } catch (error) {
      if (!late.signal.aborted) throw error;
      const detail = 'The run has no slot to continue in, so the answer was not taken. Send it again.';
      throw new CloisterError('server_busy', detail, { retryAfterMs });
    } finally {
      stopTimer();
      // It was refused, or more people must answer.
      if (session.waitsForPeople) slot!.release();
    }
  }

  /** While it starts, a server that stops waits for it. */
  whileStarting(started: Promise<ServedRun>): Promise<ServedRun> {
    const nth = this.#startCount++;
    this.#starting.set(nth, started);
    const over = (): void => this.#starting.delete(nth);
    started.then(over, over);
    return started;
  }

  add(active: ActiveRun): void {
    const { session } = active;
    this.#runs.set(session.run, active);
    session.onWaiting((waits) => {
      if (waits && this.#stopping) this.#leave(active);
    });
    if (this.#stopping) finishResident(session);
  }

  delete(run: RunId): void {
    this.#runs.delete(run);
  }

  /** A client that disconnects ends its run, unless the run waits for people: an answer can come long after a proxy has given up. */
  disconnect({ session }: Pick<ActiveRun, 'session'>): void {
    if (!this.#hasLetGo && !session.waitsForPeople) session.cancel();
  }

  /** Waits for those that run; see `LocalAgentService.drain`. */
  async drain(graceMs: number): Promise<readonly RunId[]> {
    this.#stopping = true;
    for (const active of this.#runs.values()) {
      finishResident(active.session);
      this.#leave(active);
    }
    const late = Promise.withResolvers<void>();
    const stop = this.#clock.timer(graceMs, late.resolve);
    await Promise.race([this.#idle(), late.promise]);
    stop();
    this.#hasLetGo = true;
    return [...this.#left, ...letGo(this.#runs.values())];
  }

  #leave(active: ActiveRun): void {
    const { session, client, detach } = active;
    // One that needs its client cannot be resumed.
    if (client !== undefined || !session.leave()) return;
    this.#left.push(session.run);
    detach();
  }

  async #idle(): Promise<void> {
    while (this.#runs.size + this.#starting.size > 0)
      await Promise.allSettled([
        ...this.#starting.values(),
        ...this.#runs.values().map(({ session }) => session.outcome),
      ]);
  }
}
