// Who may answer a question.
//
//   answer-right-from-operator. It follows from the operator's rule, the caller of the run and the answerer's token; nothing that a
//       model, a message or a tool writes is among its inputs.
import type { AnswerRight, QuestionReport } from '#contracts';

type Answerer = {
  readonly name: string;
  /** Owns the workspace: the command line, and code. */
  readonly isOperator?: boolean;
  /** Whether its token answers for this agent. */
  answersFor?(agent: string): boolean;
};

/** Null: it may not. */
export const answerRight = (
  { why, by, not, caller, agent }: Pick<QuestionReport, 'why' | 'by' | 'not' | 'caller' | 'agent'>,
  { name, isOperator = false, answersFor }: Answerer,
): AnswerRight | null => {
  // Only the client has made the call.
  if (why === 'client') return name === (caller ?? 'operator') ? 'caller' : null;
  // probe: answer-not-asker
  if (not === 'asker' && name === (caller ?? 'operator')) return null;
  if (by !== null) return by.includes(name) ? 'named' : null;
  if (isOperator) return 'operator';
  if (name === caller) return 'caller';
  return answersFor?.(agent) === true ? 'answers' : null;
};

/** The right of whoever owns the workspace, under this name. */
export const operatorRight =
  (name: string) =>
  (question: QuestionReport): AnswerRight | null =>
    answerRight(question, { name, isOperator: true });
