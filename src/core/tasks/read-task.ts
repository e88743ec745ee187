// Parses one task: its keys and values, without looking at the other tasks.
import { isObject, utf8Bytes } from '#base';
import type { Json } from '#base';
import type { MemoryScope, TaskCondition, TaskSpec } from '#contracts';
import { showValue } from '#base/shapes';
import { didYouMean, joinNames } from './problems.ts';
import type { ReportTaskProblem } from './problems.ts';
import { taskIdCharsMax, isTaskId } from './task-ids.ts';

/** What a list of tasks may contain. */
export type TaskLimits = {
  /** The maximum number of tasks, including existing ones. Default: any number. */
  readonly tasksMax?: number | undefined;
  /** The maximum length of a chain of dependent tasks. Default: any number. */
  readonly depthMax?: number | undefined;
  /** The names to which tasks may be assigned. Default: any name. */
  readonly assignees?: readonly string[] | undefined;
  /** Whether a task may use the memory scope `all`. Default: true. */
  readonly allowAll?: boolean | undefined;
};

/** A valid task with its id. */
export type ParsedTask = TaskSpec & { readonly id: string };

/** The valid parts of a task; problems with the rest have been reported. */
export type TaskDraft = { -readonly [K in keyof TaskSpec]?: TaskSpec[K] } & { dependsOn: readonly string[] };

const titleCharsMax = 200;
const descriptionBytesMax = 1_000_000;
const retriesMax = 10;
const wordCharsMax = 200;

const keys = ['id', 'title', 'description', 'assignee', 'dependsOn', 'memoryScope', 'retries', 'priority', 'when'];
const keySet: ReadonlySet<string> = new Set(keys);

/** A null value of an optional key counts as absent, because YAML and models write it that way. */
export const parseTask = (
  spec: unknown,
  limits: TaskLimits,
  roster: ReadonlySet<string> | null,
  report: ReportTaskProblem,
): TaskDraft => {
  if (!isObject(spec)) {
    report(() => `it must be an object with a title and a description; got ${showValue(spec)}.`);
    return { dependsOn: [] };
  }
  for (const key of Object.keys(spec))
    if (!keySet.has(key))
      report(() => `unknown key ${showValue(key)}.${didYouMean(key, keys) || ` Known keys: ${keys.join(', ')}.`}`);
  const draft: TaskDraft = { dependsOn: readDependsOn(spec['dependsOn'], report) };
  readTexts(spec, draft, report);
  readNumbers(spec, draft, report);
  const { assignee, memoryScope, when } = spec;
  if (isPresent(assignee)) {
    if (typeof assignee !== 'string') report(() => `assignee must be a name; got ${showValue(assignee)}.`);
    else if (roster !== null && !roster.has(assignee)) report(() => unknownAssignee(assignee, [...roster]));
    else if (assignee === '') report(() => 'assignee is empty.');
    else draft.assignee = assignee;
  }
  if (isPresent(memoryScope)) {
    if (memoryScope !== 'dependencies' && memoryScope !== 'all')
      report(() => `memoryScope must be "dependencies" or "all"; got ${showValue(memoryScope)}.`);
    else if (memoryScope === 'all' && limits.allowAll === false)
      report(() => 'memoryScope "all" is not allowed here; name what it needs in dependsOn.');
    else draft.memoryScope = memoryScope satisfies MemoryScope;
  }
  if (isPresent(when)) readCondition(when, draft, report);
  return draft;
};

type Fields = Readonly<Record<string, unknown>>;

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

const readTexts = ({ id, title, description }: Fields, draft: TaskDraft, report: ReportTaskProblem): void => {
  if (isPresent(id)) {
    if (typeof id !== 'string') report(() => `id must be a string (quote it in YAML); got ${showValue(id)}.`);
    else {
      draft.id = id;
      if (!isTaskId(id))
        report(() => `id must be 1 to ${taskIdCharsMax} letters, digits, ".", "_" or "-"; got ${showValue(id)}.`);
    }
  }
  if (!isPresent(title)) report(() => 'title is missing.');
  else if (typeof title !== 'string') report(() => `title must be a string; got ${showValue(title)}.`);
  else {
    draft.title = title;
    if (title.trim() === '') report(() => 'title is empty.');
    else if (title.length > titleCharsMax)
      report(() => `title has ${title.length} characters; at most ${titleCharsMax} are allowed.`);
    else if (/[\n\r\v\f\u0085\u2028\u2029]/u.test(title)) report(() => 'title must be on one line.');
  }
  if (!isPresent(description)) report(() => 'description is missing.');
  else if (typeof description !== 'string')
    report(() => `description must be a string; got ${showValue(description)}.`);
  else {
    draft.description = description;
    if (description.trim() === '') report(() => 'description is empty.');
    else if (description.length > descriptionBytesMax / 3 && utf8Bytes(description) > descriptionBytesMax)
      report(() => `description has ${utf8Bytes(description)} bytes; at most ${descriptionBytesMax} are allowed.`);
  }
};

const readNumbers = ({ retries, priority }: Fields, draft: TaskDraft, report: ReportTaskProblem): void => {
  if (isPresent(retries)) {
    if (typeof retries !== 'number' || !Number.isInteger(retries) || retries < 0 || retries > retriesMax)
      report(() => `retries must be a whole number from 0 to ${retriesMax}; got ${showValue(retries)}.`);
    else draft.retries = retries;
  }
  if (isPresent(priority)) {
    if (typeof priority !== 'number' || !Number.isFinite(priority))
      report(() => `priority must be a number; got ${showValue(priority)}.`);
    else draft.priority = priority;
  }
};

const none: readonly string[] = Object.freeze([]);

const readDependsOn = (value: unknown, report: ReportTaskProblem): readonly string[] => {
  if (!isPresent(value)) return none;
  if (!Array.isArray(value)) {
    report(() => `dependsOn must be a list of ids; got ${showValue(value)}.`);
    return none;
  }
  if (value.length === 1 && typeof value[0] === 'string') return Object.freeze([value[0]]);
  const ids = new Set<string>();
  for (const id of value as readonly unknown[]) {
    if (typeof id !== 'string') report(() => `dependsOn must name tasks by id; got ${showValue(id)}.`);
    else if (ids.has(id)) report(() => `dependsOn names ${showValue(id)} twice.`);
    else ids.add(id);
  }
  return ids.size === 0 ? none : Object.freeze([...ids]);
};

const conditionKeys = ['task', 'is', 'not'];

const readCondition = (when: unknown, draft: TaskDraft, report: ReportTaskProblem): void => {
  if (!isObject(when))
    return report(() => `when must be an object with "task" and either "is" or "not"; got ${showValue(when)}.`);
  const unknown = Object.keys(when).filter((key) => !conditionKeys.includes(key));
  for (const key of unknown)
    report(() => `when has an unknown key ${showValue(key)}. Known keys: ${conditionKeys.join(', ')}.`);
  const { task } = when;
  if (typeof task !== 'string') return report(() => `when.task must be the id of a task; got ${showValue(task)}.`);
  if (!draft.dependsOn.includes(task))
    return report(() => `when.task ${showValue(task)} must also be listed in dependsOn.`);
  const sides = (['is', 'not'] as const).filter((side) => isPresent(when[side]));
  const [side] = sides;
  if (side === undefined || sides.length > 1)
    return report(() => `when must have either "is" or "not"; it has ${sides.length === 0 ? 'neither' : 'both'}.`);
  const words = readWords(when[side]);
  if (words === null)
    return report(
      () =>
        `when.${side} must be a word or a list of words of at most ${wordCharsMax} characters; got ${showValue(when[side])}.`,
    );
  draft.when = Object.freeze<TaskCondition>(side === 'is' ? { task, is: words } : { task, not: words });
};

const readWords = (value: unknown): string | readonly string[] | null => {
  const isWord = (word: unknown): word is string =>
    typeof word === 'string' &&
    word.trim() !== '' &&
    word.length <= wordCharsMax &&
    !/[\n\r\u2028\u2029]/u.test(word.trim());
  if (isWord(value)) return value;
  return Array.isArray(value) && value.length > 0 && value.every(isWord) ? Object.freeze([...value]) : null;
};

const unknownAssignee = (name: string, roster: readonly string[]): string =>
  `there is no member ${showValue(name)}.${didYouMean(name, roster)} ${
    roster.length === 0 ? 'There are no members.' : `Members: ${joinNames(roster)}.`
  }`;

// Reads the coordinator's plan: a list of tasks, or an object with `tasks`. The tasks themselves are checked apart.

/** The list as written, or why the value is not a plan. */
type ReadPlan = { readonly tasks: unknown } | { readonly problem: string };

export const readPlan = (value: Json | undefined): ReadPlan => {
  if (value === undefined) return { problem: 'The answer is not JSON.' };
  if (Array.isArray(value)) return { tasks: value };
  if (!isObject(value))
    return { problem: `The plan must be a list of tasks, or an object with "tasks"; got ${showValue(value)}.` };
  if (!Object.hasOwn(value, 'tasks')) return { problem: 'The plan has no "tasks".' };
  const unknown = Object.keys(value).find((key) => key !== 'tasks');
  if (unknown !== undefined)
    return { problem: `The plan has an unknown key ${showValue(unknown)}; only "tasks" is allowed.` };
  return { tasks: value['tasks'] };
};
