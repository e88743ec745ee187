// A handler in code that answers the questions of runs in this process.
//
//   handler-after-durable. It is called with each question once, when the question is on disk; also with those that a resumed run still has.
//   handler-failure-leaves-open. If it fails, or returns nothing, the question stays open for others.
import type { QuestionAnswer, QuestionReport, RunSession } from '#contracts';
import { checkAnswer } from './check-answer.ts';
import type { RunQuestions } from './run-questions.ts';

/** What the handler decides. `by`: the name that is recorded; default: `operator`. */
export type HandlerAnswer = Omit<QuestionAnswer, 'sha256'> & { readonly by?: string };

/** Undefined: the question stays open, for whoever answers it elsewhere. */
export type QuestionHandler = (
  question: QuestionReport,
) => HandlerAnswer | undefined | Promise<HandlerAnswer | undefined>;

type Questions = Pick<RunQuestions, 'find' | 'answer'>;

/** Never rejects. */
export const handleQuestions = async (
  session: Pick<RunSession, 'events'>,
  handler: QuestionHandler,
  questions: Questions,
): Promise<void> => {
  try {
    for await (const event of session.events())
      if (event.type === 'question') void handleQuestion(event.question, handler, questions);
  } catch {
    // The outcome says what is wrong with the run.
  }
};

const handleQuestion = async (id: string, handler: QuestionHandler, questions: Questions): Promise<void> => {
  try {
    const question = await questions.find(id);
    // A resumed run tells all its events again.
    if (question.state !== 'open') return;
    const decided = await handler(question);
    if (decided === undefined) return;
    const { by, ...rest } = decided;
    const answer = { ...rest, sha256: question.sha256 };
    checkAnswer(answer);
    await questions.answer(id, answer, by === undefined ? {} : { by });
  } catch {
    // It stays open.
  }
};
