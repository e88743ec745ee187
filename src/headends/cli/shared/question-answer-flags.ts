// Reads an answer to a question from the command line.
import type { JsonObject } from '#base';
import type { QuestionAnswer, QuestionReport } from '#contracts';
import type { CliFiles } from './cli-world.ts';
import { UsageError } from './errors.ts';
import { findOption, optionsOf } from './question-lines.ts';
import { parseObject } from './question-prompt.ts';

export type QuestionAnswerFlags = {
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

export const readTextAnswer = (
  question: QuestionReport,
  given: QuestionAnswerFlags,
): Omit<QuestionAnswer, 'sha256'> => {
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

export const readVerdict = async (
  given: QuestionAnswerFlags,
  files: CliFiles,
): Promise<Omit<QuestionAnswer, 'sha256'>> => {
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
