// Says what became of an answer to a question.
import type { AnswerReceipt, QuestionAnswer, QuestionReport } from '#contracts';
import type { CommandContext } from './define-command.ts';
import { exitCode } from './errors.ts';
import type { ExitCode } from './errors.ts';
import { openToRead, resolveQuestion } from './find-and-open.ts';
import { continueCommand } from './next-commands.ts';
import { askCommand, usedArgumentsLines } from './question-lines.ts';

type AnsweredQuestion = {
  readonly answer: QuestionAnswer;
  readonly question: QuestionReport;
  readonly workspace: string;
  readonly json: boolean;
};

/** The run continues elsewhere, or not yet. */
export const reportReceipt = async (
  receipt: AnswerReceipt,
  { question, answer, workspace, json }: AnsweredQuestion,
  { runtime, output }: CommandContext,
): Promise<ExitCode> => {
  const { state, run } = receipt;
  await using cloister = await openToRead(workspace, runtime);
  const report = await cloister.show(run);
  const next =
    state === 'stored'
      ? ['The run takes it when it is continued:', `  ${continueCommand(report, workspace)}`]
      : state === 'waiting'
        ? ['More people must allow it:', `  ${askCommand(await resolveQuestion(cloister, question.id), workspace)}`]
        : [`The process that owns run ${run} continues it.`];
  output.result(json, { question: question.id, run, state }, (screen) => [
    describeReceipt(receipt),
    // As long as it is only stored, nobody has checked them.
    ...(state === 'stored' ? [] : usedArgumentsLines(answer.args, screen)),
    ...next,
  ]);
  return exitCode.completed;
};

const states: Readonly<Record<AnswerReceipt['state'], string>> = {
  allowed: 'allowed',
  denied: 'denied',
  waiting: 'your answer is recorded',
  stored: 'your answer is stored',
};

export const describeReceipt = ({ question, state }: Pick<AnswerReceipt, 'question' | 'state'>): string =>
  `${question}: ${states[state]}.`;
