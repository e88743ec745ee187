// Reads tokens from a file.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import { checkTokenFile } from '#adapters/config';
import type { Problem } from '#contracts';
import { formatProblem } from './agents/problems.ts';
import { displayPath } from './agents/launch-environment.ts';
import type { LaunchEnvironment } from './agents/launch-environment.ts';
import { tokenProblems } from './serve/check-server-setup.ts';
import type { TokenEntry } from './serve/token-registry.ts';

/** `served`: the names of the served agents. Throws `tokens_invalid` with every problem. */
export const readTokens = async (
  given: string,
  launch: LaunchEnvironment,
  served: readonly string[],
): Promise<readonly TokenEntry[]> => {
  const path = resolve(launch.cwd, given);
  const file = displayPath(path, launch);
  const { entries, problems, problem } = await checkTokenFile(file, readTokenFile(path, file));
  if (problems.length > 0) throw tokensError(problems);
  if (entries.length === 0) throw tokensError([problem(['tokens'], 'The token list is empty.')]);
  const tokens = entries.map(({ expires, ...entry }) => ({
    ...(entry as TokenEntry),
    ...(expires === undefined ? {} : { expiresAt: Date.parse(expires) }),
  }));
  const found = tokenProblems(tokens, served);
  if (found.length === 0) return tokens;
  throw tokensError(found.map((one) => problem(['tokens', one.index, ...one.field.split('.')], one.message)));
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
