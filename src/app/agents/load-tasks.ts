// Loads tasks from a task list, a saved plan or a team file. All problems are reported together.
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import type { Json } from '#base';
import { parseYaml } from '#adapters/yaml';
import type { Problem, TaskSpec } from '#contracts';
import { parseTasksFile, parseTeamFile } from '#core/registry';
import { checkTasks } from '#core/tasks';
import { isTeamFile } from './find-files.ts';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { formatProblem } from './problems.ts';

type LoadedTasks = { readonly goal: string | null; readonly tasks: readonly TaskSpec[] };

const bytesMax = 32_000_000;

/** Throws `tasks_invalid` with the file and line of each problem. `assignees`: who tasks may be assigned to. */
export const loadTasks = (given: string, assignees: readonly string[], launch: LaunchEnvironment): LoadedTasks => {
  const path = resolve(launch.cwd, given);
  const display = displayPath(path, launch);
  const { file, problems } = parseTasksFile(display, readTaskFile(path, display), { parseYaml });
  const wrong = file === null ? problems : taskProblems(file.tasks, { file: display, line: file.line }, assignees);
  if (file === null || wrong.length > 0) throw tasksError(wrong);
  return { goal: file.goal, tasks: file.tasks as unknown as readonly TaskSpec[] };
};

/** The tasks of a team file; null when it has none. The rest of the file is not checked: opening the team did that. */
export const teamTasks = (given: string, launch: LaunchEnvironment): readonly TaskSpec[] | null => {
  if (!isTeamFile(given)) return null;
  const path = resolve(launch.cwd, given);
  const display = displayPath(path, launch);
  const { file } = parseTeamFile(display, readTaskFile(path, display), { parseYaml });
  return (file?.tasks ?? null) as unknown as readonly TaskSpec[] | null;
};

type TaskLocations = { readonly file: string; readonly line: (index: number) => number | null };

/** `tasks`: as written in the file; undefined (no tasks) is valid. */
export const taskProblems = (
  tasks: Json | undefined,
  { file, line }: TaskLocations,
  assignees: readonly string[],
): readonly Problem[] =>
  (tasks === undefined ? [] : checkTasks(tasks, undefined, { assignees })).map((message) => {
    const number = /^Task (\d{1,9})[ :]/u.exec(message)?.[1];
    return { file, line: number === undefined ? null : line(Number(number) - 1), key: 'tasks', message, nearest: null };
  });

const tasksError = (problems: readonly Problem[]): CloisterError =>
  new CloisterError('tasks_invalid', `\n${problems.map(formatProblem).join('\n')}\n`);

const readTaskFile = (path: string, display: string): string => {
  const refuse = (message: string): never => {
    throw tasksError([{ file: display, line: null, key: null, message, nearest: null }]);
  };
  try {
    const stat = statSync(path);
    if (!stat.isFile()) refuse('Not a regular file.');
    if (stat.size > bytesMax) refuse(`The file has ${stat.size} bytes; the limit for task files is ${bytesMax}.`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof CloisterError) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return refuse(code === 'ENOENT' ? 'No such file.' : `The file cannot be read: ${code}. Check its permissions.`);
  }
};
