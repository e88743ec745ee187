// Formats problems of files.
import { CloisterError } from '#base';
import type { Agent, Problem, Redact } from '#contracts';

/** All problems in one error, one line each. `hint`: the last line. */
export const problemsError = (problems: readonly Problem[], hint = ''): CloisterError => {
  const lines = problems.slice(0, shownMax).map(formatProblem);
  if (problems.length > shownMax)
    lines.push(`… and ${problems.length - shownMax} more; \`cloister check\` lists them.`);
  // If only environment variables are missing, the files themselves are valid.
  const code = problems.every(isMissingVariable) ? 'env_missing' : 'agent_file_invalid';
  return new CloisterError(code, `\n${lines.join('\n')}\n${hint}`);
};

/** Whether only a variable has no value. */
export const isMissingVariable = ({ code }: Pick<Problem, 'code'>): boolean => code === 'env_missing';

const shownMax = 50;

export const formatProblem = ({ file, line, key, message, nearest }: Problem): string =>
  `  ${file}${line === null ? '' : `:${line}`}${key === null ? '' : ` ${key}:`} ${message}${nearest === null ? '' : ` Did you mean "${nearest}"?`}`;

export const redactProblems = (problems: readonly Problem[], redact: Redact | null): readonly Problem[] =>
  redact === null ? problems : problems.map((problem) => ({ ...problem, message: redact.text(problem.message) }));

/** What is recorded of an agent as it is, without redaction. */
export const agentTexts = ({ prompt, description, usage, resources: { skills } }: Agent): string =>
  JSON.stringify([prompt, description, usage, skills]);

export const secretProblems = (
  texts: readonly (readonly [file: string, text: string])[],
  redact: Redact,
): readonly Problem[] =>
  texts
    .filter(([, text]) => redact.text(text) !== text)
    .map(([file]) => ({
      file,
      line: null,
      key: null,
      message:
        'The file contains the value of a secret, or one of its skills does. Remove it; secrets belong in .ai-agent.env.',
      nearest: null,
    }));
