// The questions that a caller sees and may answer.
//
//   service-answers-by-right. A caller sees the questions of its own runs, and those of others that it may answer; every other
//       question is unknown to it. Whether it may answer follows from its token and from the operator's rule.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type {
  AnswerReceipt,
  AnswerRight,
  Caller,
  CallerQuestions,
  Cloister,
  QuestionAnswer,
  QuestionReport,
  RunSession,
} from '#contracts';
import { answerRight } from '../answer-right.ts';
import type { TokenRegistry } from './token-registry.ts';

type CallerQuestionsPorts = {
  readonly cloister: Pick<Cloister, 'questions' | 'answer'>;
  readonly tokens: TokenRegistry;
  /** Resumes a run of a caller, in one of its slots. */
  resume(caller: Caller, run: RunId): Promise<RunSession | undefined>;
};

export class LocalCallerQuestions implements CallerQuestions {
  readonly #ports: CallerQuestionsPorts;

  constructor(ports: CallerQuestionsPorts) {
    this.#ports = ports;
  }

  /** Those that wait: of one run, or of all. */
  async list(caller: Caller, run?: string): Promise<readonly QuestionReport[]> {
    const { cloister, tokens } = this.#ports;
    tokens.requireEntry(caller);
    const all = await cloister.questions(run === undefined ? {} : { run });
    return all.filter((question) => this.#isOwn(caller, question) || this.#right(caller, question) !== null);
  }

  /** Rejects with `question_unknown` for a question that is not the caller's to answer. */
  async answer(caller: Caller, question: string, answer: QuestionAnswer, id?: string): Promise<AnswerReceipt> {
    const { cloister, tokens, resume } = this.#ports;
    tokens.actingEntry(caller);
    let owner: string | null = null;
    const receipt = await cloister.answer(question, answer, {
      by: caller.name,
      ...(id === undefined ? {} : { id }),
      right: (asked) => {
        owner = asked.caller;
        return this.#right(caller, asked);
      },
      resume: async (run) => (owner === null ? undefined : resume({ name: owner }, run)),
    });
    const { session: _session, ...told } = receipt;
    return told;
  }

  /** What a caller that may only watch sees are the runs of the caller that it watches. */
  #isOwn({ name, watches }: Caller, { caller }: QuestionReport): boolean {
    return watches === undefined ? caller === name : watches.caller === null || watches.caller === caller;
  }

  #right(caller: Caller, question: QuestionReport): AnswerRight | null {
    const { tokens } = this.#ports;
    // The results of a client's tools come with its requests.
    if (tokens.entry(caller)?.may !== undefined || question.why === 'client') return null;
    const { name } = caller;
    return answerRight(question, { name, answersFor: (agent) => tokens.mayAnswer(caller, agent) });
  }
}

/** Runs are answered by their own route, where the right to do so is checked. */
export const refuseAnswerCommand = (command: { readonly do: string }): void => {
  if (command.do === 'answer') throw new CloisterError('request_invalid', 'Questions are answered by their id.');
};
