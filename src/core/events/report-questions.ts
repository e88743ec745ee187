// The questions of a run for people: those that wait, and those that are over.
import { omitUndefined } from '#base';
import type { CellId, Hash } from '#base';
import { questionId } from '#contracts';
import type { Birth, Frame, QuestionReport } from '#contracts';
import { Accounts } from './accounts.ts';
import { peopleNeeded, Questions, questionState } from './questions.ts';
import type { AskedQuestion } from './questions.ts';

/** `frames`: one run in log order. In the order in which they were asked. */
export const reportQuestions = (frames: readonly Frame[]): readonly QuestionReport[] => {
  const births = new Map<CellId, Birth>();
  const questions = new Questions((cell) => births.get(cell)?.digest ?? ('' as Hash), true);
  let caller: string | null = null;
  for (const frame of frames) {
    const { record } = frame;
    if ('birth' in record && record.birth !== undefined) births.set(record.birth.cell, record.birth);
    if (record.type === 'open' || record.type === 'fork') caller = record.caller ?? null;
    questions.next(frame);
  }
  const isOver = frames.at(-1)?.record.type === 'close';
  return questions.all.map((asked) => report(asked, { births, caller, isOver, run: frames[0]!.run }));
};

/** Whether the run has not ended, and nothing in it works while it waits for people or for its client. `frames`: one run in log order. */
export const isWaitingForPeople = (frames: readonly Frame[]): boolean => {
  const accounts = new Accounts();
  for (const frame of frames) accounts.next(frame);
  const [first] = frames;
  const isOver = frames.at(-1)?.record.type === 'close';
  return first !== undefined && !isOver && accounts.of(first.cell)?.activity.isPaused === true;
};

type RunInfo = {
  readonly births: ReadonlyMap<CellId, Birth>;
  readonly caller: string | null;
  readonly isOver: boolean;
  readonly run: Frame['run'];
};

const report = (asked: AskedQuestion, { births, caller, isOver, run }: RunInfo): QuestionReport => {
  const { cell, frame, question, askedAt, until, rulings, ended } = asked;
  const { tool, args, argsHash: sha256, why, unknown, rule = {} } = question;
  const path = pathTo(cell, births);
  return {
    id: questionId(run, frame),
    run,
    cell,
    agent: path.at(-1) ?? 'unknown',
    path,
    caller,
    tool,
    args,
    sha256,
    why,
    ...(unknown === undefined ? {} : { indeterminate: true }),
    askedAt,
    until,
    need: peopleNeeded(rule),
    by: rule.by ?? null,
    not: rule.not ?? null,
    answers: rulings.map(({ by, verdict, at, args: changed, reason, signal }) => ({
      by,
      allow: verdict === 'allow',
      at,
      // The result of a client's tool can be long, and is in the transcript.
      ...omitUndefined({ args: changed, reason: why === 'client' ? undefined : reason }),
      signal,
    })),
    state: ended === null ? (isOver ? 'cancelled' : 'open') : questionState(ended.result),
  };
};

const pathTo = (cell: CellId, births: ReadonlyMap<CellId, Birth>): readonly string[] => {
  const birth = births.get(cell);
  if (birth === undefined) return [];
  return [...(birth.parent === null ? [] : pathTo(birth.parent, births)), birth.agent];
};
