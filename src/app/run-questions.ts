// The questions of runs to people: lists them, and takes answers, whichever process owns the run.
//
//   answer-needs-right. Nobody answers, or learns of, a question that is not theirs: it looks unknown to them.
//   answer-durable-before-told. Whoever answers is told so when the answer is on disk: as a ruling in the log of a run of this
//       process, otherwise as a signal. So is one that comes while this Cloister closes, or else it is refused: it never looks taken.
//   answer-resumes-run. If nobody owns the run, whoever took the answer resumes it.
import { CloisterError, omitUndefined, fromRecords } from '#base';
import type { ErrorCode, RunId } from '#base';
import { operatorRight, readQuestionId } from '#contracts';
import type {
  Agent,
  AnswerOptions,
  AnswerReceipt,
  Clock,
  Frame,
  Ids,
  QuestionAnswer,
  QuestionQuery,
  QuestionReport,
  RunCommand,
  RunSession,
  RunSummary,
  Store,
} from '#contracts';
import { answerProblem, isWaitingForPeople, reportQuestions } from '#core/events';

type RunQuestionsPorts = {
  readonly store: Pick<Store, 'read' | 'list' | 'hashPrefix' | 'signals' | 'removeSignal'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly runs: {
    /** The run, if it is live in this process. */
    live(run: RunId): LiveRun | undefined;
    /** Resolves when everything recorded so far is durable. */
    durable(run: RunId): Promise<void>;
    signal(run: string, command: RunCommand, options: { readonly id: string; readonly by: string }): Promise<unknown>;
  };
  /** `all`: another list after each change. */
  readonly agents: { readonly all: readonly Agent[] };
  /** Throws if a run cannot continue with the agents as they are. */
  readonly continuer: { checkDefinitions(frames: readonly Frame[]): unknown };
  readonly resume: (run: RunId) => Promise<RunSession>;
};

/** `isStopping`: it was left, is being cancelled, or has ended. */
type LiveRun = Pick<RunSession, 'do' | 'durable' | 'outcome'> & { readonly isStopping: boolean };

type SentAnswer = Readonly<Required<Pick<AnswerOptions, 'by' | 'id'>>> & {
  readonly command: RunCommand<'answer'>;
  readonly resume: NonNullable<AnswerOptions['resume']>;
};

export class RunQuestions {
  readonly #ports: RunQuestionsPorts;
  readonly #known = new KnownQuestions();
  /** How the agents of these runs have changed, as somebody was told who answered. */
  readonly #changes = new Map<RunId, { readonly agents: readonly Agent[]; readonly text: string }>();
  readonly #answering = new Set<Promise<unknown>>();
  /** End the waits of answers that were sent away. */
  readonly #wakers = new Set<() => void>();
  #isClosed = false;

  constructor(ports: RunQuestionsPorts) {
    this.#ports = ports;
  }

  /** Oldest first. */
  async list({ run, caller, all = false }: QuestionQuery = {}): Promise<readonly QuestionReport[]> {
    const { store } = this.#ports;
    const only = omitUndefined({ caller, open: all ? undefined : (true as const) });
    const runs = (await store.list(run === undefined ? only : { runs: [run as RunId] })).filter(
      (one) => one.unreadable === undefined && one.state !== 'damaged' && (all || one.state !== 'ended'),
    );
    const found: QuestionReport[] = [];
    for (const one of runs) found.push(...(await this.#read(one.run, one)));
    return found
      .filter(({ state, why }) => all || ((state === 'open' || state === 'stale') && why !== 'client'))
      .toSorted((one, other) => one.askedAt - other.askedAt || frameOf(one) - frameOf(other));
  }

  /** With the state of those that wait for people or for their client. */
  async withWaiting(runs: readonly RunSummary[]): Promise<readonly RunSummary[]> {
    const marked: RunSummary[] = [];
    for (const one of runs) marked.push((await this.#isWaitingRun(one)) ? { ...one, state: 'waiting' } : one);
    return marked;
  }

  /** If all of its questions have expired, whoever resumes it continues it. */
  async #isWaitingRun({ run, state, unreadable }: RunSummary): Promise<boolean> {
    if (unreadable !== undefined || (state !== 'running' && state !== 'interrupted')) return false;
    // A log that cannot be read now must not keep the other runs from being listed.
    const { isWaiting, questions } = await this.#readRecorded(run).catch(() => noQuestions);
    return isWaiting && this.#withExpired(questions).some((one) => one.state === 'open');
  }

  /** A question of a run, whatever its state. Rejects with `question_unknown`. */
  async find(id: string): Promise<QuestionReport> {
    const position = readQuestionId(id);
    const found = position === null ? [] : await this.#read(position.run).catch(unreadable);
    const question = found.find((one) => one.id === id);
    if (question === undefined) throw unknownQuestion(id);
    return question;
  }

  /** Rejects also with `store_failed` if this Cloister is closed. */
  async answer(id: string, answer: QuestionAnswer, options: AnswerOptions = {}): Promise<AnswerReceipt> {
    if (this.#isClosed) throw new CloisterError('store_failed', 'This Cloister is closed.');
    const answering = this.#answer(id, answer, options);
    this.#answering.add(answering);
    try {
      return await answering;
    } finally {
      this.#answering.delete(answering);
    }
  }

  /** No answer waits any longer to be taken. Resolves when all who sent one have been told. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const wake of this.#wakers) wake();
    await Promise.allSettled(this.#answering);
  }

  async #answer(id: string, answer: QuestionAnswer, options: AnswerOptions): Promise<AnswerReceipt> {
    const { by = 'operator', id: signal = `a-${this.#ports.ids.random()}` } = options;
    const question = await this.find(id);
    const right = (options.right ?? operatorRight(by))(question);
    if (right === null) throw unknownQuestion(id);
    // The same answer, sent again.
    if (isTaken(question, signal)) return receiptOf(question);
    if (question.state === 'stale') throw staleError(id, (await this.#readRecorded(question.run)).change);
    if (question.state !== 'open') throw answeredError(id, question.state);
    if (answer.sha256 !== question.sha256) throw new CloisterError('question_changed', `Question ${id}.`);
    if (question.answers.some((one) => one.by === by)) throw answeredError(id, `${by} has answered it`);
    const problem = answerProblem(question, answer);
    if (problem !== null) throw new CloisterError('answer_invalid', problem);
    const { frame } = readQuestionId(id)!;
    const command: RunCommand<'answer'> = { ...answer, do: 'answer', frame, by, right, id: signal };
    const { resume = (run) => this.#ports.resume(run) } = options;
    const sent: SentAnswer = { by, id: signal, command, resume };
    const live = this.#ports.runs.live(question.run);
    return live === undefined ? this.#sendAway(question, sent) : this.#answerLive(live, question, sent);
  }

  async #answerLive(live: LiveRun, question: QuestionReport, sent: SentAnswer): Promise<AnswerReceipt> {
    const { id, run } = question;
    try {
      const state = await live.do(sent.command);
      await live.durable();
      return { question: id, run, state };
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'cell_ended' && code !== 'question_answered') throw error;
      if (!live.isStopping) throw code === 'cell_ended' ? answeredError(id, 'cancelled') : error;
      // A run that was left takes no answers, but still waits for them.
      await live.outcome.catch(() => undefined);
      const now = (await this.#readRecorded(run)).questions.find((one) => one.id === id) ?? question;
      if (now.state !== 'open') throw answeredError(id, now.state);
      return this.#sendAway(question, sent);
    }
  }

  /** The answer is for another process, or for whoever resumes the run. */
  async #sendAway(question: QuestionReport, sent: SentAnswer): Promise<AnswerReceipt> {
    const { run } = question;
    const stored: AnswerReceipt = { question: question.id, run, state: 'stored' };
    await this.#ports.runs.signal(run, sent.command, { id: rowId(sent), by: sent.by }).catch((error: unknown) => {
      throw codeOf(error) === 'run_ended' ? answeredError(question.id, 'cancelled') : error;
    });
    const resumed = new ResumedRun(this.#resumeIfLeft(run, sent.resume));
    for (let waits = 0; waits < waitsMax; waits++) {
      const { isWaiting, now } = await this.#look(question, rowId(sent));
      if (isTaken(now, sent.id)) return { ...receiptOf(now), ...resumed.session };
      if (now.state !== 'open') throw answeredError(question.id, now.state);
      if (codeOf(resumed.failed) === 'replay_differs') return this.#refuseStale(question, sent, resumed.failed);
      if (!isWaiting) throw this.#refusal(now);
      if (this.#isClosed || resumed.isLeft) return stored;
      await this.#wait(resumed);
    }
    return stored;
  }

  async #wait({ left }: ResumedRun): Promise<void> {
    const { promise, resolve: wake } = Promise.withResolvers<void>();
    const stop = this.#ports.clock.timer(waitMs, wake);
    this.#wakers.add(wake);
    await Promise.race([promise, left]);
    this.#wakers.delete(wake);
    stop();
  }

  #refusal({ id, until }: QuestionReport): CloisterError {
    if (until <= this.#ports.clock.now()) return answeredError(id, 'expired');
    return new CloisterError(
      'answer_invalid',
      'The run refused it. Changed arguments must fit the schema of the tool.',
    );
  }

  /** While the store cannot be read, the answer counts as waiting: it is on disk. */
  async #look(
    question: QuestionReport,
    id: string,
  ): Promise<{ readonly isWaiting: boolean; readonly now: QuestionReport }> {
    try {
      // Read before the log: once the signal is gone, what became of it is there.
      const isWaiting = await this.#isWaiting(question.run, id);
      // Not by the clock: its owner may just be recording the answer while the time runs out.
      const now = await this.#readRecorded(question.run);
      return { isWaiting, now: now.questions.find((one) => one.id === question.id) ?? question };
    } catch (error) {
      if (!isStoreTrouble(error)) throw error;
      return { isWaiting: true, now: question };
    }
  }

  /** `owned`: somebody has the run. Undefined: nobody continues it now. */
  async #resumeIfLeft(run: RunId, resume: SentAnswer['resume']): Promise<RunSession | 'owned' | undefined> {
    const [summary] = await this.#ports.store.list({ runs: [run] });
    // probe: answer-resumes-left
    return summary?.state === 'interrupted' ? resume(run) : 'owned';
  }

  async #refuseStale({ id, run }: QuestionReport, sent: SentAnswer, error: unknown): Promise<never> {
    await this.#ports.store.removeSignal(run, rowId(sent));
    const { all: agents } = this.#ports.agents;
    const { detail = '' } = error instanceof CloisterError ? error.failure : {};
    // What has changed further down shows only when the run is resumed. From now on it is known.
    this.#changes.set(run, { agents, text: detail });
    throw staleError(id, detail);
  }

  async #isWaiting(run: RunId, id: string): Promise<boolean> {
    return (await this.#ports.store.signals(run)).some((one) => one.id === id);
  }

  async #read(run: RunId, summary?: RunSummary): Promise<readonly QuestionReport[]> {
    const { questions, change } = await this.#readRecorded(run);
    const current = this.#withExpired(questions);
    if (change === null || !current.some(({ state }) => state === 'open')) return current;
    // Whoever owns the run has the agents as they were.
    const { state: runState } = summary ?? (await this.#ports.store.list({ runs: [run] }))[0] ?? {};
    if (runState !== 'interrupted') return current;
    return current.map((one) => (one.state === 'open' ? { ...one, state: 'stale' } : one));
  }

  async #readRecorded(run: RunId): Promise<RunQuestionsState> {
    await this.#ports.runs.durable(run);
    const { frames } = await this.#ports.store.hashPrefix(run);
    const { all: agents } = this.#ports.agents;
    const state = this.#known.at(run, frames, agents) ?? (await this.#readLog(run));
    const told = this.#changes.get(run);
    return told?.agents === agents ? { ...state, change: told.text } : state;
  }

  async #readLog(run: RunId): Promise<RunQuestionsState> {
    const frames = await this.#ports.store.read(run);
    const state = await fromRecords(run, () => this.#questionsIn(frames));
    this.#known.set(run, frames.length, state);
    return state;
  }

  #questionsIn(frames: readonly Frame[]): RunQuestionsState {
    const questions = reportQuestions(frames);
    const isOpen = questions.some(({ state }) => state === 'open');
    return {
      questions,
      isWaiting: isOpen && isWaitingForPeople(frames),
      change: isOpen ? this.#changeSince(frames) : null,
      agents: this.#ports.agents.all,
    };
  }

  /** How the agents have changed since; null: they have not, or are not known here. */
  #changeSince(frames: readonly Frame[]): string | null {
    try {
      this.#ports.continuer.checkDefinitions(frames);
      return null;
    } catch (error) {
      return error instanceof CloisterError && error.code === 'replay_differs' ? (error.failure.detail ?? '') : null;
    }
  }

  /** Nobody may be there to record that a question has expired. */
  #withExpired(questions: readonly QuestionReport[]): readonly QuestionReport[] {
    const now = this.#ports.clock.now();
    return questions.map((one) => (one.state === 'open' && one.until <= now ? { ...one, state: 'expired' } : one));
  }
}

type RunQuestionsState = {
  readonly questions: readonly QuestionReport[];
  /** Nothing in the run works meanwhile. */
  readonly isWaiting: boolean;
  /** How its agents have changed since, if a question is open. */
  readonly change: string | null;
  /** Those that were registered when it was read. */
  readonly agents: readonly Agent[];
};

const noQuestions: RunQuestionsState = { questions: [], isWaiting: false, change: null, agents: [] };

/** The questions of runs that were read lately, so that a list of many open questions reads only the logs that have grown. */
class KnownQuestions {
  /** In the order in which they were read. */
  readonly #byRun = new Map<RunId, { readonly frames: number; readonly state: RunQuestionsState }>();

  at(run: RunId, frames: number, agents: readonly Agent[]): RunQuestionsState | undefined {
    const known = this.#byRun.get(run);
    return known?.frames === frames && known.state.agents === agents ? known.state : undefined;
  }

  /** `frames`: how many frames the log had. */
  set(run: RunId, frames: number, state: RunQuestionsState): void {
    this.#byRun.delete(run);
    // Long ones are read again each time.
    if (JSON.stringify(state.questions).length > knownCharsMax) return;
    this.#byRun.set(run, { frames, state });
    if (this.#byRun.size > knownMax) this.#byRun.delete(this.#byRun.keys().next().value!);
  }
}

const [knownMax, knownCharsMax] = [4_096, 4_096];

/** A run that is being resumed, or not: somebody else may have it, or nobody here can resume it. */
class ResumedRun {
  session: Pick<AnswerReceipt, 'session'> = {};
  failed: unknown = null;
  /** Nobody continues the run now, so nobody takes the answer. */
  isLeft = false;
  readonly #left = Promise.withResolvers<void>();

  constructor(resuming: Promise<RunSession | 'owned' | undefined>) {
    const fail = (error: unknown): void => {
      this.failed = error;
      if (codeOf(error) !== 'run_owned') this.#leave();
    };
    const take = (session: RunSession | 'owned' | undefined): void => {
      if (session === 'owned') return;
      if (session === undefined) return this.#leave();
      this.session = { session };
      session.outcome.catch(fail);
    };
    resuming.then(take, fail);
  }

  get left(): Promise<void> {
    return this.#left.promise;
  }

  #leave(): void {
    this.isLeft = true;
    this.#left.resolve();
  }
}

/** Two calls can have the same result, and the same id of their answers. */
const rowId = ({ id, command: { frame } }: SentAnswer): string => `${id}-${frame}`;

/** How long an answer waits to be taken before it is left to whoever takes it. */
const [waitMs, waitsMax] = [50, 100];

const unknownQuestion = (id: string): CloisterError =>
  new CloisterError('question_unknown', `Question "${id.slice(0, 120)}".`);

const staleError = (id: string, change: string | null): CloisterError =>
  new CloisterError('question_stale', `Question ${id}. ${change ?? ''}`.trimEnd());

const answeredError = (id: string, state: string): CloisterError =>
  new CloisterError('question_answered', `Question ${id}: ${state}.`);

/** A run that is damaged or unknown has no questions for anybody. If the store cannot be read now, nobody knows. */
const unreadable = (error: unknown): readonly never[] => {
  if (isStoreTrouble(error)) throw error;
  return [];
};

const isStoreTrouble = (error: unknown): boolean =>
  ['store_failed', 'store_unreadable', 'store_busy'].includes(codeOf(error) ?? '');

const isTaken = ({ answers }: QuestionReport, id: string): boolean => answers.some(({ signal }) => signal === id);

const receiptOf = ({ id, run, state }: QuestionReport): AnswerReceipt => ({
  question: id,
  run,
  state: state === 'open' || state === 'stale' ? 'waiting' : state === 'allowed' ? 'allowed' : 'denied',
});

const frameOf = ({ id }: QuestionReport): number => readQuestionId(id)?.frame ?? 0;

const codeOf = (error: unknown): ErrorCode | null => (error instanceof CloisterError ? error.code : null);
