// The runs of a server that have not ended, until it stops.
//
//   drain-leaves-waiting-runs. A server that stops does not wait for people or for clients' tools, and cancels no run that waits for
//       them: it lets go of it, tells its client so, and whoever answers or resumes it continues it.
//   waiting-runs-bounded. The number of a caller's runs that wait for people is limited, because they use no slots.
//   answer-needs-slot. An answer to a run that waits here is given once the run has a slot again, wherever it comes from, and a question
//       expires then: many at once do not take the slots of others.
import { CloisterError, PromptlyReleasingMap } from '#base';
import type { RunId } from '#base';
import type { Caller, Clock, ServedRun } from '#contracts';
import { finishResident } from './resident-sessions.ts';
import type { ClientTools } from './client-tools.ts';
import type { ActiveRun } from './served-run.ts';

const [waitingMax, retryAfterMs, answerWaitMs] = [1_000, 2_000, 5_000];

export class LiveRuns {
  readonly #clock: Clock;
  readonly #clients: Pick<ClientTools, 'find'>;
  readonly #runs = new PromptlyReleasingMap<RunId, ActiveRun>();
  /** Requests that wait for a slot or for their run to start. */
  readonly #starting = new PromptlyReleasingMap<number, Promise<ServedRun>>();
  /** Runs that are being resumed without anybody who waits for the answer. */
  readonly #resuming = new Map<RunId, Promise<unknown>>();
  /** Those that waited for people or for their client when the server stopped. */
  readonly #left: RunId[] = [];
  #startCount = 0;
  #stopping = false;
  #hasLetGo = false;

  constructor(clock: Clock, clients: Pick<ClientTools, 'find'>) {
    this.#clock = clock;
    this.#clients = clients;
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

  /** Resolves when the run is no longer being resumed. */
  async resuming(run: RunId): Promise<void> {
    await this.#resuming.get(run);
  }

  /** Once, whoever asks for it: the start of the server, an answer to one of its questions, or a result of its client. */
  resumeOnce(run: RunId, resume: () => Promise<ServedRun>): Promise<unknown> {
    const found = this.#resuming.get(run);
    if (found !== undefined) return found;
    const resuming = this.whileStarting(resume());
    this.#resuming.set(run, resuming);
    const over = (): void => void this.#resuming.delete(run);
    resuming.then(over, over);
    return resuming;
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
    const { session, slot } = active;
    this.#runs.set(session.run, active);
    session.onWaiting((waits) => (waits ? slot.release() : slot.reacquire()));
    session.admitWith((act) => continueWithSlot(active, act));
    session.onWaiting((waits) => {
      if (waits && this.#stopping) this.#leave(active);
    });
    if (this.#stopping) finishResident(session);
  }

  delete(run: RunId): void {
    this.#runs.delete(run);
  }

  /**
   * A client that disconnects ends its run, unless the run waits for people: an answer can come long after a proxy has given up. A run
   * that waits for its client alone ends, because the client has not heard of its calls.
   */
  disconnect({ session, request }: Pick<ActiveRun, 'session' | 'request'>): void {
    const needsClient = (request.tools ?? []).length > 0;
    if (!this.#hasLetGo && (needsClient || !session.waitsForPeople)) session.cancel();
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
    for (const { detach } of this.#runs.values()) detach();
    return [...new Set([...this.#left, ...this.#runs.values().map(({ session }) => session.run)])];
  }

  #leave(active: ActiveRun): void {
    const { session, detach } = active;
    const client = this.#clients.find(session);
    // Its client first gets the answer of its request: the calls that the run waits for.
    if (client?.isAnswering === true) return void client.answered.then(() => this.#leave(active));
    if (!session.leave()) return;
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

/** For answers that are on disk already, and for questions that expire: nobody can send them again. */
const continueWithSlot = async <T>({ session, slot }: ActiveRun, act: () => Promise<T>): Promise<T> => {
  try {
    return await slot.runWithSlot(act, undefined, true);
  } finally {
    // It was refused, or more people must answer.
    if (session.waitsForPeople) slot.release();
  }
};
