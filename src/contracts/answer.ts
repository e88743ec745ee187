// Answers to questions: who may give one, and what becomes of it.
//
//   answer-right-from-operator. It follows from the operator's rule, the caller of the run and the answerer's token; nothing that a
//       model, a message or a tool writes is among its inputs.
import type { RunId } from '#base';
import type { AnswerRight, AnswerState, QuestionReport } from './question.ts';
import type { RunSession } from './run-session.ts';

/** What became of an answer. */
export type AnswerReceipt = {
  readonly question: string;
  readonly run: RunId;
  /**
   * `waiting`: it was recorded, and more people must allow the call. `stored`: it is on disk, and whoever owns or resumes the run takes
   * it.
   */
  readonly state: AnswerState | 'stored';
  /** Set if nobody owned the run, and it was resumed here. */
  readonly session?: RunSession;
};

/** Who answers a question. */
export type AnswerOptions = {
  /** Their name, as it is recorded. Default: `operator`. */
  readonly by?: string;
  /** Chosen by the sender: the same answer, sent again with the same id, is taken once. Default: a new one. */
  readonly id?: string;
  /** Why they may answer; null: they may not. Default: as the operator, who owns the workspace, as far as the rule names nobody else. */
  readonly right?: (question: QuestionReport) => AnswerRight | null;
  /** How the run is resumed if nobody owns it. Default: here. */
  readonly resume?: (run: RunId) => Promise<RunSession | undefined>;
};

type Answerer = {
  readonly name: string;
  /** Owns the workspace: the command line, and code. */
  readonly isOperator?: boolean;
  /** Whether its token answers for this agent. */
  readonly answersFor?: (agent: string) => boolean;
};

/** Null: it may not. */
export const answerRight = (
  { why, by, not, caller, agent }: Pick<QuestionReport, 'why' | 'by' | 'not' | 'caller' | 'agent'>,
  { name, isOperator = false, answersFor }: Answerer,
): AnswerRight | null => {
  // Only the client has made the call.
  if (why === 'client') return name === (caller ?? 'operator') ? 'caller' : null;
  if (not === 'asker' && name === (caller ?? 'operator')) return null;
  if (by !== null) return by.includes(name) ? 'named' : null;
  if (isOperator) return 'operator';
  if (name === caller) return 'caller';
  // probe: answer-right
  return answersFor?.(agent) === true ? 'answers' : null;
};

/** The right of whoever owns the workspace, under this name. */
export const operatorRight =
  (name: string) =>
  (question: QuestionReport): AnswerRight | null =>
    answerRight(question, { name, isOperator: true });
