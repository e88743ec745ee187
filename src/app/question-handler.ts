// A handler in code that answers the questions of runs in this process.
//
//   handler-after-durable. It is called with each question once, when the question is on disk; also with those that a resumed run still has.
//   handler-failure-leaves-open. If it fails, or returns nothing, the question stays open for others.
import type { AnswerReceipt, QuestionAnswer, QuestionReport, RunSession } from '#contracts';

/** What the handler decides. `by`: the name that is recorded; default: `operator`. */
export type HandlerAnswer = Omit<QuestionAnswer, 'sha256'> & { readonly by?: string };

/** Undefined: the question stays open, for whoever answers it elsewhere. */
export type QuestionHandler = (
  question: QuestionReport,
) => HandlerAnswer | undefined | Promise<HandlerAnswer | undefined>;

type HandlerPorts = {
  readonly handler: QuestionHandler;
  readonly find: (id: string) => Promise<QuestionReport>;
  readonly answer: (id: string, answer: QuestionAnswer, options: { readonly by?: string }) => Promise<AnswerReceipt>;
};

/** Never rejects. */
export const handleQuestions = async (session: Pick<RunSession, 'events'>, ports: HandlerPorts): Promise<void> => {
  try {
    for await (const event of session.events())
      if (event.type === 'question') void handleQuestion(event.question, ports);
  } catch {
    // The outcome says what is wrong with the run.
  }
};

const handleQuestion = async (id: string, { handler, find, answer }: HandlerPorts): Promise<void> => {
  try {
    const question = await find(id);
    // A resumed run tells all its events again.
    if (question.state !== 'open') return;
    const decided = await handler(question);
    if (decided === undefined) return;
    const { by, ...rest } = decided;
    await answer(id, { ...rest, sha256: question.sha256 }, by === undefined ? {} : { by });
  } catch {
    // It stays open.
  }
};
