// The questions that a caller sees and may answer.
//
//   service-answers-by-right. A caller sees the questions of its own runs, and those of others that it may answer; every other
//       question is unknown to it. Whether it may answer follows from its token and from the operator's rule. An operator answers
//       for all runs, unless the rule names others.
//   answer-key-of-caller. A key belongs to the caller that sends it: nobody's answer is taken for that of somebody else.
import { canonicalJson, CloisterError, omitUndefined, sha256 } from '#base';
import type { JsonObject, RunId } from '#base';
import { answerRight, readQuestionId } from '#contracts';
import type {
  AnswerReceipt,
  AnswerRight,
  AnswerSending,
  Caller,
  CallerQuestion,
  CallerQuestions,
  CallerReceipt,
  Cloister,
  FollowOptions,
  QuestionAnswer,
  QuestionReport,
  RunSession,
  ServedRun,
} from '#contracts';
import { ownerOf } from './caller-runs.ts';
import type { TokenRegistry } from './token-registry.ts';

type CallerQuestionsPorts = {
  readonly cloister: Pick<Cloister, 'questions' | 'answer'>;
  readonly tokens: TokenRegistry;
  /** Resumes a run of a caller, in one of its slots. */
  readonly resume: (caller: Caller, run: RunId) => Promise<RunSession | undefined>;
  readonly follow: (caller: Caller, run: string, options?: FollowOptions) => Promise<ServedRun>;
  /** Gives an answer to a run once the run has a slot, if it waits here. */
  readonly withSlot: <T>(run: RunId, answer: () => Promise<T>, signal?: AbortSignal) => Promise<T>;
};

export class LocalCallerQuestions implements CallerQuestions {
  readonly #ports: CallerQuestionsPorts;

  constructor(ports: CallerQuestionsPorts) {
    this.#ports = ports;
  }

  async list(caller: Caller, run?: string): Promise<readonly CallerQuestion[]> {
    const { cloister, tokens } = this.#ports;
    tokens.requireEntry(caller);
    const all = await cloister.questions(run === undefined ? {} : { run });
    // probe: question-list
    return all.filter((question) => this.#sees(caller, question)).map((question) => this.#view(caller, question));
  }

  async find(caller: Caller, id: string): Promise<CallerQuestion> {
    this.#ports.tokens.requireEntry(caller);
    const found = await this.#find(id);
    // probe: question-found-by-caller
    if (found === undefined || !this.#sees(caller, found)) throw unknownQuestion(id);
    return this.#view(caller, found);
  }

  async answer(
    caller: Caller,
    question: string,
    answer: QuestionAnswer,
    { key, signal }: AnswerSending = {},
  ): Promise<CallerReceipt> {
    const { cloister, tokens, resume, withSlot } = this.#ports;
    tokens.actingEntry(caller);
    const asked = await this.#find(question);
    if (asked === undefined || this.#right(caller, asked) === null) throw unknownQuestion(question);
    const { run, caller: owner } = asked;
    const id = key === undefined ? undefined : answerId(caller, key, { question, ...answer });
    if (id !== undefined) refuseReusedKey(asked, id);
    const send = (): Promise<AnswerReceipt> =>
      cloister.answer(question, answer, {
        by: caller.name,
        ...omitUndefined({ id }),
        right: (now) => this.#right(caller, now),
        // A run that was not started over a server is its operator's to resume.
        resume: async () => {
          if (caller.operator === true) return resume(caller, run);
          return owner === null ? undefined : resume({ name: owner }, run);
        },
      });
    try {
      const { session: _session, ...told } = await (asked.state === 'open' ? withSlot(run, send, signal) : send());
      return told;
    } catch (error) {
      // What has changed names other agents of the run.
      const isTooMuch =
        error instanceof CloisterError && error.code === 'question_stale' && !this.#seesRun(caller, asked);
      throw isTooMuch ? new CloisterError('question_stale', `Question ${question}.`) : error;
    }
  }

  async followRun(caller: Caller, run: string, options?: FollowOptions): Promise<ServedRun> {
    this.#ports.tokens.actingEntry(caller);
    return this.#ports.follow(caller, run, options);
  }

  async #find(id: string): Promise<QuestionReport | undefined> {
    const run = readQuestionId(id)?.run;
    const all = run === undefined ? [] : await this.#ports.cloister.questions({ run, all: true });
    return all.find((question) => question.id === id);
  }

  #sees(caller: Caller, question: QuestionReport): boolean {
    return this.#seesRun(caller, question) || this.#right(caller, question) !== null;
  }

  /** Whether it sees the run. What a caller that may only watch sees are the runs of the caller that it watches. */
  #seesRun(reader: Caller, { caller }: QuestionReport): boolean {
    const owner = ownerOf(reader);
    return owner === undefined || owner === caller;
  }

  #right(caller: Caller, question: QuestionReport): AnswerRight | null {
    const { tokens } = this.#ports;
    // The results of a client's tools come with its requests.
    if (tokens.entry(caller)?.may !== undefined || question.why === 'client') return null;
    const { name, operator } = caller;
    // The command line is the operator's: whoever asked there may not answer here, if the rule says that the asker may not.
    if (operator === true && question.caller === null && question.not === 'asker') return null;
    const isOperator = operator === true && question.caller !== name;
    return answerRight(question, { name, isOperator, answersFor: (agent) => tokens.mayAnswer(caller, agent) });
  }

  #view(reader: Caller, { cell, path, caller, answers, ...asked }: QuestionReport): CallerQuestion {
    const whole = { cell, path, caller, answers, ...asked };
    const isWaitingForReader = asked.state === 'open' && !answers.some(({ by }) => by === reader.name);
    return {
      ...asked,
      // What people say is for the agent, and is in the transcript for those who see the contents of the run.
      answers: answers.map(({ signal: _signal, reason: _reason, ...one }) => one),
      mayAnswer: isWaitingForReader && this.#right(reader, whole) !== null,
      ...(this.#seesRun(reader, whole) ? { cell, path } : {}),
      ...(caller === reader.name ? {} : { caller }),
    };
  }
}

const unknownQuestion = (id: string): CloisterError =>
  new CloisterError('question_unknown', `Question "${id.slice(0, 120)}".`);

/** Its first part follows from who sends it with which key, its second from what is sent. */
const answerId = ({ name }: Caller, key: string, sent: JsonObject): string =>
  `a-${sha256(`answer ${JSON.stringify([name, key])}`).slice(0, 24)}-${sha256(canonicalJson(sent)).slice(0, 16)}`;

const refuseReusedKey = ({ answers }: QuestionReport, id: string): void => {
  const sent = id.slice(0, id.lastIndexOf('-') + 1);
  if (answers.some(({ signal }) => signal.startsWith(sent) && signal !== id)) throw new CloisterError('key_reused');
};

/** Runs are answered by their own route, where the right to do so is checked. */
export const refuseAnswerCommand = (command: { readonly do: string }): void => {
  if (command.do === 'answer') throw new CloisterError('request_invalid', 'Questions are answered by their id.');
};
