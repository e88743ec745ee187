// Reads tokens from a file.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import { checkTokenFile } from '#adapters/config';
import type { Problem, TokenEntry } from '#contracts';
import { formatProblem, displayPath } from '#app/agents';
import type { LaunchEnvironment } from '#app/agents';
import { tokenProblems } from '#app/serve';

/** `served`: the names of the served agents. Throws `tokens_invalid` with every problem. */
export const readTokens = (
  given: string,
  launch: LaunchEnvironment,
  served: readonly string[],
): readonly TokenEntry[] => {
  const path = resolve(launch.cwd, given);
  const file = displayPath(path, launch);
  const { entries, problems, add } = checkTokenFile(file, readTokenFile(path, file));
  if (problems.length === 0 && entries.length === 0) add(['tokens'], 'The token list is empty.');
  for (const { index, field, message } of tokenProblems(entries, served)) add(['tokens', index, field], message);
  if (problems.length > 0) throw tokensError(problems.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0)));
  return entries.filter((entry) => entry !== undefined);
};

const readTokenFile = (path: string, file: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const message = `The file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}.`;
    throw tokensError([{ file, line: null, key: null, message, nearest: null }]);
  }
};

const tokensError = (problems: readonly Problem[]): CloisterError =>
  new CloisterError('tokens_invalid', `\n${problems.map(formatProblem).join('\n')}\n`);
