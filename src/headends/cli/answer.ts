// `answer`: answers a question of a run. If no process owns the run, it is continued here.
//
//   answer-names-what-was-shown. Allowing a call takes the hash of its arguments: the one on the command line, or that of what this
//       command has just shown to somebody at a terminal.
import { InvalidArgumentError } from 'commander';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { AnswerOptions, AnswerReceipt, Cloister, QuestionAnswer, QuestionReport, RunSession } from '#contracts';
import { describeReceipt, reportReceipt } from './shared/answer-receipt.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { errorLines, errorValue, exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { findNamedRun, openForRun, openToRead, resolveQuestion } from './shared/find-and-open.ts';
import { followRun } from './shared/follow-run.ts';
import { readTextAnswer, readVerdict } from './shared/question-answer-flags.ts';
import type { QuestionAnswerFlags } from './shared/question-answer-flags.ts';
import { cloisterCommand } from './shared/next-commands.ts';
import {
  agentsOptions,
  optionalArgument,
  requiredArgument,
  runOutputOptions,
  textOption,
  valueOption,
  workspaceOption,
} from './shared/options.ts';
import type { RunOutputFlags } from './shared/progress.ts';
import { isInteractive } from './shared/question-asker.ts';
import {
  answerCommands,
  answererProblem,
  questionLines,
  rememberText,
  usedArgumentsLines,
} from './shared/question-lines.ts';
import { promptForAnswer } from './shared/question-prompt.ts';
import { wrapText } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'answer a question of a run; if no process owns the run, continue it here',
  examples: [
    'cloister answer q-4f2a                   # at a terminal: shows it, and asks',
    'cloister answer q-4f2a allow --sha256 9c1e…',
    'cloister answer q-4f2a deny --reason "Not before Monday"',
    'cloister answer q-4f2a "The red one"     # an agent asks you something',
    'cloister answer q-4f2a 2                 # the second of its options',
  ],
  notes: [
    'Exit codes: 130 if you answer nothing (l, Ctrl-D, Ctrl-C, or anything but y to',
    '"Allow it?"): the question stays open. 4 if you may not answer; 1 if the answer',
    'is refused. Otherwise that of the run if it continues here, as with `resume`',
    '(6: it waits for people again), and 0 if it continues elsewhere.',
  ],
  usage: '[options] <question> [allow|deny|text]',
  arguments: {
    question: requiredArgument('the id of a question, or a prefix of one'),
    answer: optionalArgument('allow or deny; if an agent asks you something: your answer, or the number of an option'),
  },
  options: {
    reason: textOption('<text>', 'with deny: why; the agent is told'),
    args: textOption('<json|@file>', 'with allow: call the tool with these arguments instead'),
    remember: valueOption(
      '<run>',
      '`run`: also allow the same call, by the same agent, later in this run',
      (text): 'run' => {
        if (text !== 'run') throw new InvalidArgumentError('It must be `run`.');
        return text;
      },
    ),
    by: textOption('<name>', 'who answers, as it is recorded (default: operator); if only some may, one of them'),
    sha256: textOption('<hash>', 'the hash of the arguments that you saw; required to allow a call without a terminal'),
    ...agentsOptions,
    ...workspaceOption,
    ...runOutputOptions,
  },
  run: async (given, context) => {
    const { runtime } = context;
    const { workspace } = given;
    const question = await findQuestion(given, runtime);
    const decided = await decide(question, given, context);
    if (decided === null) return reportOpen(context);
    const home = await homeOf(question, workspace, context);
    return home === 'nobody'
      ? answerHere(question, decided, given, context)
      : answerElsewhere(question, decided, { given, isChat: home === 'chat' }, context);
  },
});

/** The run continues elsewhere: in the process that owns it, or with the next chat. */
const answerElsewhere = async (
  question: QuestionReport,
  first: DecidedAnswer,
  { given, isChat }: { readonly given: QuestionAnswerFlags; readonly isChat: boolean },
  context: CommandContext,
): Promise<ExitCode> => {
  const { runtime, output } = context;
  const { workspace, json } = given;
  for (let decided: DecidedAnswer | null = first; decided !== null;) {
    try {
      await using cloister = await openToRead(workspace, runtime);
      const receipt = await send(cloister, question, decided, isChat ? { resume: async () => undefined } : {});
      return await reportReceipt(receipt, { ...decided, question, workspace, json }, context);
    } catch (error) {
      if (!canCorrect(error, decided)) throw error;
      output.err.print(...errorLines(errorValue(error)));
      decided = await askHere(question, given, context);
    }
  }
  return reportOpen(context);
};

/** Nobody has the run, so that it continues here. If the answer is refused, the question is asked again as one of that run. */
const answerHere = async (
  question: QuestionReport,
  decided: DecidedAnswer,
  given: QuestionAnswerFlags & Parameters<typeof openForRun>[1] & RunOutputFlags,
  context: CommandContext,
): Promise<ExitCode> => {
  const { runtime, output } = context;
  const { workspace, json } = given;
  let receipt: AnswerReceipt | undefined;
  let code: ExitCode = exitCode.completed;
  const followed = await followRun(
    {
      request: given,
      open: () => openForRun(question.run, given, runtime),
      begin: async (cloister) => {
        let resumed: RunSession | null = null;
        const resume = async (run: RunId): Promise<RunSession> => (resumed = await cloister.resume(run));
        try {
          receipt = await send(cloister, question, decided, { resume });
        } catch (error) {
          if (resumed === null || !canCorrect(error, decided)) throw error;
          output.err.print(...errorLines(errorValue(error)));
          return resumed;
        }
        const { session = null, ...rest } = receipt;
        if (session === null) code = await reportReceipt(rest, { ...decided, question, workspace, json }, context);
        else if (!json && !given.jsonl)
          output.err.print(describeReceipt(rest), ...usedArgumentsLines(decided.answer.args, output.err));
        return session;
      },
      answered: () => (receipt === undefined ? null : question.id),
      answerer: decided.by,
      extraJson: () => (receipt === undefined ? {} : { answered: { question: question.id, state: receipt.state } }),
    },
    context,
  );
  return followed === exitCode.completed ? code : followed;
};

const send = (
  cloister: Cloister,
  { id }: QuestionReport,
  { answer, by }: DecidedAnswer,
  options: AnswerOptions,
): Promise<AnswerReceipt> => cloister.answer(id, answer, { ...(by === null ? {} : { by }), ...options });

/** Whoever was asked here is asked again, and not a script. */
const canCorrect = (error: unknown, { isPrompted }: DecidedAnswer): boolean =>
  isPrompted && error instanceof CloisterError && error.code === 'answer_invalid';

const reportOpen = ({ output }: CommandContext): ExitCode => {
  output.err.print('Nothing was answered. The question stays open.');
  return exitCode.cancelled;
};

type DecidedAnswer = {
  readonly answer: QuestionAnswer;
  readonly by: string | null;
  /** Somebody at the terminal decided, and can decide otherwise. */
  readonly isPrompted: boolean;
};

/** Refuses what no longer waits before anything is shown or asked. */
const findQuestion = async (
  { question: name, workspace }: QuestionAnswerFlags,
  runtime: CommandContext['runtime'],
): Promise<QuestionReport> => {
  await using cloister = await openToRead(workspace, runtime);
  const question = await resolveQuestion(cloister, name);
  if (question.state === 'open') return question;
  const by = question.answers.map((one) => one.by).join(', ');
  throw new CloisterError('question_answered', `${question.id}: ${question.state}${by === '' ? '' : ` by ${by}`}.`);
};

/** Null: the person at the terminal left it open. */
const decide = async (
  question: QuestionReport,
  given: QuestionAnswerFlags,
  context: CommandContext,
): Promise<DecidedAnswer | null> => {
  const { sha256 } = question;
  const isAsked = given.answer === null && given.reason === null;
  // At a terminal, the name is asked for.
  if (!isAsked || given.by !== null || question.why === 'client') checkAnswerer(question, given);
  if (isAsked) return askHere(question, given, context);
  const answer = question.why === 'agent' ? readTextAnswer(question, given) : await readVerdict(given, context.files);
  const isShown = question.why === 'agent' || !answer.allow || given.sha256 !== null;
  if (!isShown && !(await confirmHere({ ...question, ...answer }, given, context))) return null;
  return { answer: { ...answer, sha256: given.sha256 ?? sha256 }, by: given.by, isPrompted: !isShown };
};

/** The operator owns the workspace, so they are told who may answer. */
const checkAnswerer = (question: QuestionReport, { by, workspace }: QuestionAnswerFlags): void => {
  const problem = answererProblem(question, by ?? 'operator');
  if (problem === null) return;
  const commands = answerCommands(question, workspace);
  throw new UsageError(
    problem,
    question.why === 'client'
      ? `see it with \`${cloisterCommand(`questions ${question.id}`, workspace)}\``
      : `answer as somebody who may: ${commands.join(', or: ')}`,
  );
};

const askHere = async (
  question: QuestionReport,
  given: QuestionAnswerFlags,
  context: CommandContext,
): Promise<DecidedAnswer | null> => {
  if (!isInteractive(given, context))
    throw new UsageError(
      "missing required argument 'answer'",
      question.why === 'agent' ? 'pass the answer in quotes' : 'pass allow or deny',
    );
  const lines = context.terminal.lines();
  const restored = context.interrupts.onLeave(() => lines.close());
  try {
    const found = await promptForAnswer(question, { lines, context, name: given.by });
    return found === null
      ? null
      : { answer: { ...found.answer, sha256: question.sha256 }, by: given.by ?? found.by ?? null, isPrompted: true };
  } finally {
    restored();
    lines.close();
  }
};

/** Whoever allows a call has seen it: here, or elsewhere, where its hash was shown too. */
const confirmHere = async (
  question: QuestionReport,
  given: QuestionAnswerFlags,
  context: CommandContext,
): Promise<boolean> => {
  const { terminal, output, interrupts } = context;
  const { err } = output;
  if (!isInteractive(given, context))
    throw new UsageError(
      `allowing a call needs the hash of the arguments that you saw, and there is no terminal to show them`,
      `look at it with \`${cloisterCommand(`questions ${question.id}`, given.workspace)}\`, then: ${answerCommands(question, given.workspace)[0]}`,
    );
  // With the arguments that it is called with.
  err.print(...questionLines(question, err));
  if (given.args !== null) err.print('  These are the arguments of --args, in place of those of the agent.');
  if (given.remember !== null) err.print(...wrapText('  also ', rememberText(question), err.columns, 7));
  const lines = terminal.lines();
  const restored = interrupts.onLeave(() => lines.close());
  try {
    const line = await lines.next('Allow it? [y/N] ');
    return line !== null && /^\s*y(?:es)?\s*$/iu.test(line);
  } finally {
    restored();
    lines.close();
  }
};

/** Who continues the run: another process that owns it; the next chat; nobody, so this command does. */
const homeOf = async (
  { run }: QuestionReport,
  workspace: string,
  { runtime }: CommandContext,
): Promise<'process' | 'chat' | 'nobody'> => {
  const { state } = await findNamedRun({ workspace, run }, runtime);
  if (state === 'running') return 'process';
  await using cloister = await openToRead(workspace, runtime);
  const { chat, caller } = await cloister.show(run);
  return chat !== undefined && caller === null ? 'chat' : 'nobody';
};
