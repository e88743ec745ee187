// `answer`: answers a question of a run. If no process owns the run, it is continued here.
//
//   answer-names-what-was-shown. Allowing a call takes the hash of its arguments: the one on the command line, or that of what this
//       command has just shown to somebody at a terminal.
import { InvalidArgumentError } from 'commander';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { AnswerReceipt, Cloister, QuestionAnswer, QuestionReport } from '#contracts';
import type { CliFiles } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { findNamedRun, openForRun, openToRead, resolveQuestion } from './shared/find-and-open.ts';
import { followRun } from './shared/follow-run.ts';
import { cloisterCommand, continueCommand } from './shared/next-commands.ts';
import {
  agentsOptions,
  optionalArgument,
  requiredArgument,
  runOutputOptions,
  textOption,
  valueOption,
  workspaceOption,
} from './shared/options.ts';
import { isInteractive } from './shared/question-asker.ts';
import {
  answerCommands,
  answererProblem,
  askCommand,
  findOption,
  optionsOf,
  questionLines,
  rememberText,
  usedArgumentsLines,
} from './shared/question-lines.ts';
import { parseObject, promptForAnswer } from './shared/question-prompt.ts';
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
    const { runtime, output } = context;
    const { workspace } = given;
    const question = await findQuestion(given, runtime);
    const decided = await decide(question, given, context);
    if (decided === null) {
      output.err.print('Nothing was answered. The question stays open.');
      return exitCode.cancelled;
    }
    const home = await homeOf(question, workspace, context);
    let receipt: AnswerReceipt | undefined;
    const send = async (cloister: Cloister): Promise<AnswerReceipt> => {
      const { answer, by } = decided;
      const resume = home === 'chat' ? { resume: async () => undefined } : {};
      receipt = await cloister.answer(question.id, answer, { ...(by === null ? {} : { by }), ...resume });
      return receipt;
    };
    if (home !== 'nobody') {
      await using cloister = await openToRead(workspace, runtime);
      return await reportReceipt(await send(cloister), { ...decided, question, workspace, json: given.json }, context);
    }
    let code: ExitCode = exitCode.completed;
    const followed = await followRun(
      {
        request: given,
        open: () => openForRun(question.run, given, runtime),
        begin: async (cloister) => {
          const { session = null, ...rest } = await send(cloister);
          if (session === null)
            code = await reportReceipt(rest, { ...decided, question, workspace, json: given.json }, context);
          else if (!given.json && !given.jsonl)
            output.err.print(describeReceipt(rest), ...usedArgumentsLines(decided.answer.args, output.err));
          return session;
        },
        answered: question.id,
        extraJson: () => (receipt === undefined ? {} : { answered: { question: question.id, state: receipt.state } }),
      },
      context,
    );
    return followed === exitCode.completed ? code : followed;
  },
});

type GivenAnswer = {
  readonly question: string;
  readonly answer: string | null;
  readonly reason: string | null;
  readonly args: string | null;
  readonly remember: 'run' | null;
  readonly by: string | null;
  readonly sha256: string | null;
  readonly workspace: string;
  readonly json: boolean;
  readonly jsonl: boolean;
};

type DecidedAnswer = { readonly answer: QuestionAnswer; readonly by: string | null };

/** Refuses what no longer waits before anything is shown or asked. */
const findQuestion = async (
  { question: name, workspace }: GivenAnswer,
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
  given: GivenAnswer,
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
  return { answer: { ...answer, sha256: given.sha256 ?? sha256 }, by: given.by };
};

/** The operator owns the workspace, so they are told who may answer. */
const checkAnswerer = (question: QuestionReport, { by, workspace }: GivenAnswer): void => {
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
  given: GivenAnswer,
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
      : { answer: { ...found.answer, sha256: question.sha256 }, by: given.by ?? found.by ?? null };
  } finally {
    restored();
    lines.close();
  }
};

const readTextAnswer = (question: QuestionReport, given: GivenAnswer): Omit<QuestionAnswer, 'sha256'> => {
  const { answer, reason, args, remember } = given;
  if (args !== null || remember !== null)
    throw new UsageError(
      `${args === null ? '--remember' : '--args'} is for calls of tools, and here an agent asks something`,
      'leave it out',
    );
  const isOption = answer !== null && optionsOf(question).includes(answer);
  if (answer === 'deny' && !isOption) return { allow: false, ...(reason === null ? {} : { reason }) };
  const text = (answer === 'allow' && !isOption ? reason : null) ?? answer ?? reason ?? '';
  return { allow: true, reason: findOption(question, text) ?? text };
};

const readVerdict = async (given: GivenAnswer, files: CliFiles): Promise<Omit<QuestionAnswer, 'sha256'>> => {
  const { answer, reason, args, remember } = given;
  if (answer !== 'allow' && answer !== 'deny')
    throw new UsageError(
      answer === null ? "missing required argument 'answer'" : `"${answer}" does not answer this question`,
      'a tool is to be called: answer allow or deny',
    );
  if (answer === 'deny' && (args !== null || remember !== null))
    throw new UsageError(`${args === null ? '--remember' : '--args'} goes with allow`, 'leave it out, or answer allow');
  return {
    allow: answer === 'allow',
    ...(reason === null ? {} : { reason }),
    ...(args === null ? {} : { args: await readArgs(args, files) }),
    ...(remember === null ? {} : { remember }),
  };
};

const readArgs = async (given: string, files: CliFiles): Promise<JsonObject> => {
  const path = given.startsWith('@') ? given.slice(1) : null;
  const text = path === null ? given : await readFile(path, files);
  const value = parseObject(text);
  if (value !== null) return value;
  throw new UsageError(
    `${path === null ? '--args' : path} is not a JSON object`,
    `pass the arguments as '{"name":"value"}', or as @file`,
  );
};

const readFile = async (path: string, files: CliFiles): Promise<string> => {
  try {
    return await files.readText(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`the arguments in ${path} cannot be read: ${why}`, 'check the path after @ of --args');
  }
};

/** Whoever allows a call has seen it: here, or elsewhere, where its hash was shown too. */
const confirmHere = async (question: QuestionReport, given: GivenAnswer, context: CommandContext): Promise<boolean> => {
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

type AnsweredQuestion = Pick<DecidedAnswer, 'answer'> & {
  readonly question: QuestionReport;
  readonly workspace: string;
  readonly json: boolean;
};

/** The run continues elsewhere, or not yet. */
const reportReceipt = async (
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

const describeReceipt = ({ question, state }: Pick<AnswerReceipt, 'question' | 'state'>): string =>
  `${question}: ${states[state]}.`;
