// The events of questions to people.
import { omitUndefined } from '#base';
import { questionId } from '#contracts';
import type { Frame, Question, QuestionResult, RecordOf } from '#contracts';
import type { EventBody } from './event-envelope.ts';
import { peopleNeeded, questionState } from './questions.ts';

export const questionEvent = ({ run, no, cell }: Frame, begin: RecordOf<'begin'>, asked: Question): EventBody => {
  const { op, until = 0 } = begin;
  const { tool, args, argsHash: sha256, why, unknown, rule } = asked;
  const again = unknown === undefined ? {} : ({ indeterminate: true } as const);
  const question = questionId(run, no);
  return { type: 'question', cell, op, question, tool, args, sha256, why, ...again, need: peopleNeeded(rule), until };
};

/** `askedIn`: the number of the frame that asked. */
export const rulingEvent = ({ run, cell }: Frame, ruling: RecordOf<'ruling'>, askedIn = 0): EventBody => {
  const { op, by, verdict, args, reason = null, remember = null } = ruling;
  const question = questionId(run, askedIn);
  return { type: 'ruling', cell, op, question, by, verdict, ...omitUndefined({ args }), reason, remember };
};

/** `askedIn`: the number of the frame that asked. */
export const questionEnd = ({ run, cell }: Frame, settle: RecordOf<'settle'>, askedIn: number): EventBody => {
  const { op, ok, value } = settle;
  const result = ok ? (value as unknown as QuestionResult) : null;
  return { type: 'question-end', cell, op, question: questionId(run, askedIn), state: questionState(result) };
};
