// Tasks from files: a list that a person wrote, a plan that was saved, or those of a team file. All that is wrong is told at once.
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError } from '#base';
import type { Json } from '#base';
import { parseYaml } from '#adapters/yaml';
import type { Problem, TaskSpec } from '#contracts';
import { parseTasksFile, parseTeamFile } from '#core/registry';
import { checkTasks } from '#core/tasks';
import { isTeamFile } from './find-files.ts';
import { shownPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';
import { problemLine } from './problems.ts';

/** What there is to do. */
export type LoadedTasks = { readonly goal: string | null; readonly tasks: readonly TaskSpec[] };

const bytesMax = 32_000_000;

/** Throws `tasks_invalid` with the file and line of each problem. `assignees`: the names of those who may be given tasks. */
export const loadTasks = (given: string, assignees: readonly string[], place: LaunchEnvironment): LoadedTasks => {
  const path = resolve(place.cwd, given);
  const shown = shownPath(path, place);
  const { file, problems } = parseTasksFile(shown, textOf(path, shown), { parseYaml });
  const wrong = file === null ? problems : taskProblems(file.tasks, { file: shown, line: file.line }, assignees);
  if (file === null || wrong.length > 0) throw tasksError(wrong);
  return { goal: file.goal, tasks: file.tasks as unknown as readonly TaskSpec[] };
};

/** Those of a team file; null when it has none. What else it says must be right: the team was opened. */
export const teamTasks = (given: string, place: LaunchEnvironment): readonly TaskSpec[] | null => {
  if (!isTeamFile(given)) return null;
  const path = resolve(place.cwd, given);
  const shown = shownPath(path, place);
  const { file } = parseTeamFile(shown, textOf(path, shown), { parseYaml });
  return (file?.tasks ?? null) as unknown as readonly TaskSpec[] | null;
};

export type TaskPlaces = { readonly file: string; readonly line: (place: number) => number | null };

/** `tasks`: as they are written; undefined: there are none, which is no problem. */
export const taskProblems = (
  tasks: Json | undefined,
  { file, line }: TaskPlaces,
  assignees: readonly string[],
): readonly Problem[] =>
  (tasks === undefined ? [] : checkTasks(tasks, undefined, { assignees })).map((message) => {
    const place = /^Task (\d{1,9})[ :]/u.exec(message)?.[1];
    return { file, line: place === undefined ? null : line(Number(place) - 1), key: 'tasks', message, nearest: null };
  });

const tasksError = (problems: readonly Problem[]): CloisterError =>
  new CloisterError('tasks_invalid', `\n${problems.map(problemLine).join('\n')}\n`);

const textOf = (path: string, shown: string): string => {
  const refuse = (message: string): never => {
    throw tasksError([{ file: shown, line: null, key: null, message, nearest: null }]);
  };
  try {
    const stat = statSync(path);
    if (!stat.isFile()) refuse('It is not a regular file.');
    if (stat.size > bytesMax) refuse(`It has ${stat.size} bytes; a file of tasks may have ${bytesMax}.`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof CloisterError) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return refuse(code === 'ENOENT' ? 'There is no such file.' : `It cannot be read: ${code}. Check its permissions.`);
  }
};
