// Parses a file of tasks: YAML or JSON, a list, or a goal with a list, such as a saved plan. The tasks themselves are not checked.
import { isObject, nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import type { ParseYaml, Problem } from '#contracts';
import { quoted } from './read-yaml-file.ts';

type TasksFile = {
  readonly path: string;
  readonly goal: string | null;
  /** As written. */
  readonly tasks: Json;
  /** The line, from 1, of a task by its index in the list; null if lines are unknown. */
  readonly line: (index: number) => number | null;
};

type ParsedTasks = { readonly file: TasksFile | null; readonly problems: readonly Problem[] };

type Line = (path: readonly (string | number)[]) => number | null;

export const parseTasksFile = (
  path: string,
  text: string,
  { parseYaml }: { readonly parseYaml: ParseYaml },
): ParsedTasks => {
  const plain = text.replace(/^\uFEFF/u, '');
  const read = path.endsWith('.json') ? readJson(plain) : readYaml(plain, parseYaml);
  if ('problem' in read) return failed(path, read.problem.line, read.problem.message);
  const { value, line } = read;
  if (Array.isArray(value)) return { file: toTasksFile(path, { goal: null, tasks: value }, line), problems: [] };
  if (!isObject(value))
    return failed(path, null, `Expected a list of tasks, or \`goal\` and \`tasks\`; got ${quoted(value)}.`);
  return readMapping(path, unwrapPlan(value), line);
};

const failed = (file: string, line: number | null, message: string, key: string | null = null): ParsedTasks => ({
  file: null,
  problems: [{ file, line, key, message, nearest: null }],
});

type ReadResult =
  | { readonly value: Json; readonly line: Line }
  | { readonly problem: Pick<Problem, 'line' | 'message'> };

const readJson = (text: string): ReadResult => {
  try {
    return { value: JSON.parse(text) as Json, line: () => null };
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 200) : 'unknown';
    return { problem: { line: null, message: `This is not JSON: ${why}` } };
  }
};

/** The YAML parser expects keys and values, so a bare list is put under the key `tasks`. */
const readYaml = (text: string, parseYaml: ParseYaml): ReadResult => {
  const opening = /^(?:[ \t\r]*(?:#[^\n]*)?\n|---[ \t\r]*\n)*/u.exec(text)![0];
  const list = text.slice(opening.length);
  const isBlock = /^ *-(?:\s|$)/u.test(list);
  if (!isBlock && !/^ *\[/u.test(list)) {
    const document = parseYaml(text);
    return 'problem' in document ? document : { value: document.value, line: (path) => document.line(path) };
  }
  const hidden = opening.replace(/^---/gmu, '#');
  // In brackets, every line must be indented more than the key.
  const document = parseYaml(`tasks:\n${hidden}${isBlock ? list : list.replace(/^/gmu, ' ')}`);
  if ('problem' in document)
    return { problem: { line: Math.max(1, document.problem.line - 1), message: document.problem.message } };
  return { value: document.value, line: (path) => Math.max(1, document.line(path) - 1) };
};

/** The output of a command with --json contains the plan as `data`. */
const unwrapPlan = (value: JsonObject): JsonObject => {
  const { run, status, data } = value;
  return typeof run === 'string' && typeof status === 'string' && isObject(data) ? data : value;
};

const keys = ['goal', 'tasks'];

const readMapping = (path: string, value: JsonObject, line: Line): ParsedTasks => {
  const problems: Problem[] = [];
  const report = (key: string, message: string, suggestion: string | null = null): void =>
    void problems.push({ file: path, line: line([key]), key, message, nearest: suggestion });
  for (const key of Object.keys(value))
    if (!keys.includes(key))
      report(key, `Unknown key \`${key.slice(0, 80)}\`: expected \`goal\` and \`tasks\`.`, nearestName(key, keys));
  const { goal = null, tasks } = value;
  if (goal !== null && typeof goal !== 'string') report('goal', `Expected text; got ${quoted(goal)}.`);
  if (tasks === undefined) report('tasks', 'The key `tasks` is missing: a list of tasks.');
  else if (!Array.isArray(tasks)) report('tasks', `Expected a list of tasks; got ${quoted(tasks)}.`);
  if (problems.length > 0) return { file: null, problems };
  return { file: toTasksFile(path, { goal: goal as string | null, tasks: tasks! }, line), problems };
};

const toTasksFile = (path: string, content: Pick<TasksFile, 'goal' | 'tasks'>, line: Line): TasksFile => ({
  path,
  ...content,
  line: (index) => line(['tasks', index]),
});
