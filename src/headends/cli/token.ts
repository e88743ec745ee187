// `token`: creates a token for a client of `serve`.
import { InvalidArgumentError } from 'commander';
import { seesLevels } from '#contracts';
import type { Sees } from '#contracts';
import { isName } from '#base';
import { defineCommand } from './shared/define-command.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import { requiredArgument, valueOption } from './shared/options.ts';

export default defineCommand({
  about: 'create a token and its token-file entry',
  examples: [
    'cloister token ci',
    'cloister token ci --sees causes',
    'cloister token ci --may watch',
    'cloister token ops --answers mailer,writer',
    'cloister token ci --json',
  ],
  arguments: { name: requiredArgument('name of the client') },
  options: {
    sees: valueOption('<level>', `how much of its runs the client is shown: ${seesLevels.join(', ')}`, (text) =>
      readSees(text),
    ),
    may: valueOption('<what>', 'what the client may do: watch (read runs only); default: everything', (text) =>
      readMay(text),
    ),
    answers: valueOption(
      '<agents>',
      'agents whose questions the client may answer in runs of others, separated by commas; * for all',
      (text) => readAnswers(text),
    ),
  },
  run: async ({ name, sees, may, answers, json }, { server, output }) => {
    if (may !== null && answers !== null)
      throw new UsageError('a token that may only watch answers no questions', 'omit --answers or --may');
    const { token, sha256 } = await server.makeToken(name);
    const entry = {
      name,
      sha256,
      ...(may === null ? {} : { may: [may] }),
      ...(sees === null ? {} : { sees }),
      ...(answers === null ? {} : { answers }),
    };
    output.result(json, { token, entry }, () => [
      `Token (shown only once): ${token}`,
      '',
      'Entry for the token file ({ "tokens": [ … ] }):',
      JSON.stringify(entry),
    ]);
    return exitCode.completed;
  },
});

const readSees = (text: string): Sees => {
  const found = seesLevels.find((level) => level === text);
  if (found === undefined) throw new InvalidArgumentError(`It must be ${seesLevels.join(', ')}.`);
  return found;
};

const readMay = (text: string): 'watch' => {
  if (text !== 'watch') throw new InvalidArgumentError('It must be watch; omit it to allow everything.');
  return text;
};

const readAnswers = (text: string): readonly string[] => {
  const names = text.split(',').map((name) => name.trim());
  if (names.some((name) => name !== '*' && !isName(name)))
    throw new InvalidArgumentError('It must be names of agents, separated by commas, or *.');
  return [...new Set(names)];
};
