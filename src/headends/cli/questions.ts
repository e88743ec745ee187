// `questions`: the questions of runs that wait for people, or one of them in full.
import type { QuestionReport } from '#contracts';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { openToRead, resolveQuestion, resolveRun } from './shared/find-and-open.ts';
import type { CliRuntime } from './shared/cli-world.ts';
import { agentsOptions, flagOption, optionalArgument, textOption, workspaceOption } from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { cloisterCommand } from './shared/next-commands.ts';
import { answerCommands, questionLines, questionListLines } from './shared/question-lines.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'list the questions that wait for people; with an id, show one in full',
  examples: ['cloister questions', 'cloister questions q-4f2a', 'cloister questions --run last --all'],
  arguments: { question: optionalArgument('the id of a question, or a prefix of one') },
  options: {
    run: textOption('<run>', 'only those of this run (an id, a prefix of one, or `last`)'),
    all: flagOption('also those that no longer wait'),
    ...agentsOptions,
    ...workspaceOption,
  },
  run: async (given, { runtime, output }) => {
    const { question: name, run: runName, all, workspace, json } = given;
    await using cloister = await openToRead(workspace, runtime);
    if (name !== null) {
      const [question] = await withStale([await resolveQuestion(cloister, name)], given, runtime);
      output.result(json, question, (screen) => wholeLines(question, workspace, screen));
      return exitCode.completed;
    }
    const run = runName === null ? null : await resolveRun(cloister, runName);
    const listed = await cloister.questions({ all, ...(run === null ? {} : { run }) });
    const questions = await withStale(listed, given, runtime);
    output.result(json, questions, (screen) =>
      listLines(questions, { workspace, folder: cloister.workspace ?? workspace, all }, screen),
    );
    return exitCode.completed;
  },
});

type GivenAgents = Omit<Parameters<CliRuntime['staleQuestions']>[0], 'runs'>;

/** The workspace is read without agents, so those that need them are looked up: no answer can continue a run whose agents have changed. */
const withStale = async <T extends readonly QuestionReport[]>(
  questions: T,
  { workspace, agents, config }: GivenAgents,
  runtime: Pick<CliRuntime, 'staleQuestions'>,
): Promise<T> => {
  const runs = [...new Set(questions.flatMap(({ run, state }) => (state === 'open' ? [run] : [])))];
  if (runs.length === 0) return questions;
  const stale = await runtime.staleQuestions({ workspace, agents, config, runs });
  return questions.map((one) =>
    stale.has(one.id) ? { ...one, state: 'stale' } : one,
  ) as readonly QuestionReport[] as T;
};

const wholeLines = (question: QuestionReport, workspace: string, screen: Screen): readonly string[] => [
  ...questionLines(question, screen),
  `  sha256   ${sanitizeLine(question.sha256)}`,
  ...(question.state !== 'open' || question.why === 'client'
    ? []
    : ['', 'Answer it with:', ...answerCommands(question, workspace).map((command) => `  ${command}`)]),
];

const listLines = (
  questions: readonly QuestionReport[],
  { workspace, folder, all }: { readonly workspace: string; readonly folder: string; readonly all: boolean },
  screen: Screen,
): readonly string[] => {
  const first = questions.find(({ state }) => state === 'open');
  if (questions.length === 0)
    return [
      `${all ? 'No agent has asked anything' : 'No question waits for an answer'} in the workspace ${sanitizeLine(folder)}.`,
      'Name another one with --workspace <dir>.',
    ];
  return [
    ...questionListLines(questions, screen),
    ...(first === undefined
      ? []
      : [
          '',
          'See one whole, with the commands that answer it:',
          `  ${cloisterCommand(`questions ${first.id}`, workspace)}`,
        ]),
  ];
};
