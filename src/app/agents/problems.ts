// Formats problems of files.
import { CloisterError } from '#base';
import type { Problem } from '#contracts';

/** All problems in one error, one line each. */
export const problemsError = (problems: readonly Problem[]): CloisterError => {
  const lines = problems.slice(0, shownMax).map(formatProblem);
  if (problems.length > shownMax)
    lines.push(`… and ${problems.length - shownMax} more; \`cloister check\` lists them.`);
  // If only environment variables are missing, the files themselves are valid.
  const code = problems.every(({ message }) => message.startsWith('Missing:')) ? 'env_missing' : 'agent_file_invalid';
  return new CloisterError(code, `\n${lines.join('\n')}\n`);
};

const shownMax = 50;

export const formatProblem = ({ file, line, key, message, nearest }: Problem): string =>
  `  ${file}${line === null ? '' : `:${line}`}${key === null ? '' : ` ${key}:`} ${message}${nearest === null ? '' : ` Did you mean "${nearest}"?`}`;
