// What is wrong with files, in words.
import { CloisterError } from '#base';
import type { Problem } from '#contracts';

/** All of them in one error, each on a line of its own. */
export const problemsError = (problems: readonly Problem[]): CloisterError => {
  const lines = problems.slice(0, shownMax).map(problemLine);
  if (problems.length > shownMax)
    lines.push(`… and ${problems.length - shownMax} more; \`cloister check\` lists them.`);
  // Nothing is wrong with the files when only keys are missing.
  const code = problems.every(({ message }) => message.startsWith('Missing:')) ? 'env_missing' : 'agent_file_invalid';
  return new CloisterError(code, `\n${lines.join('\n')}\n`);
};

const shownMax = 50;

export const problemLine = ({ file, line, key, message, nearest }: Problem): string =>
  `  ${file}${line === null ? '' : `:${line}`}${key === null ? '' : ` ${key}:`} ${message}${nearest === null ? '' : ` Did you mean "${nearest}"?`}`;
