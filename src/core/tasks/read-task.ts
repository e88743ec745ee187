// One task as it was written: its keys and values, without a look at the others.
import { isObject, utf8Bytes } from '#base';
import type { MemoryScope, TaskCondition, TaskSpec } from '#contracts';
import { didYouMean } from './nearest-name.ts';
import { joinNames, show } from './problems.ts';
import { taskIdCharsMax, isTaskId } from './task-ids.ts';

/** What a list of tasks may contain. */
export type TaskLimits = {
  /** How many tasks there may be, those that are there already included. Default: any number. */
  readonly tasksMax?: number | undefined;
  /** How many tasks may follow one another. Default: any number. */
  readonly depthMax?: number | undefined;
  /** The names of those who may be given tasks. Default: any name. */
  readonly assignees?: readonly string[] | undefined;
  /** Whether a task may ask for the memory scope `all`. Default true. */
  readonly allowAll?: boolean | undefined;
};

/** A task that was read: its id is there. */
export type ReadTask = TaskSpec & { readonly id: string };

/** What could be read of it; the rest was told. */
export type TaskDraft = { -readonly [K in keyof TaskSpec]?: TaskSpec[K] } & { dependsOn: readonly string[] };

const titleCharsMax = 200;
const descriptionBytesMax = 1_000_000;
const retriesMax = 10;
const wordCharsMax = 200;

const keys = ['id', 'title', 'description', 'assignee', 'dependsOn', 'memoryScope', 'retries', 'priority', 'when'];
const keySet: ReadonlySet<string> = new Set(keys);

type ReportProblem = (words: () => string) => void;

/** Null values of keys that may be left out count as left out: that is how YAML and models say so. */
export const readTask = (
  spec: unknown,
  limits: TaskLimits,
  roster: ReadonlySet<string> | null,
  tell: ReportProblem,
): TaskDraft => {
  if (!isObject(spec)) {
    tell(() => `it is not an object with a title and a description, but ${show(spec)}.`);
    return { dependsOn: [] };
  }
  for (const key of Object.keys(spec))
    if (!keySet.has(key))
      tell(() => `unknown key ${show(key)}.${didYouMean(key, keys) || ` Known keys: ${keys.join(', ')}.`}`);
  const draft: TaskDraft = { dependsOn: readDependsOn(spec['dependsOn'], tell) };
  readTexts(spec, draft, tell);
  readNumbers(spec, draft, tell);
  const { assignee, memoryScope, when } = spec;
  if (given(assignee)) {
    if (typeof assignee !== 'string') tell(() => `assignee must be a name; it is ${show(assignee)}.`);
    else if (roster !== null && !roster.has(assignee)) tell(() => unknownAssignee(assignee, [...roster]));
    else if (assignee === '') tell(() => 'assignee is empty.');
    else draft.assignee = assignee;
  }
  if (given(memoryScope)) {
    if (memoryScope !== 'dependencies' && memoryScope !== 'all')
      tell(() => `memoryScope must be "dependencies" or "all"; it is ${show(memoryScope)}.`);
    else if (memoryScope === 'all' && limits.allowAll === false)
      tell(() => 'memoryScope "all" is not allowed here; name what it needs in dependsOn.');
    else draft.memoryScope = memoryScope satisfies MemoryScope;
  }
  if (given(when)) readCondition(when, draft, tell);
  return draft;
};

type Fields = Readonly<Record<string, unknown>>;

const given = (value: unknown): boolean => value !== undefined && value !== null;

const readTexts = ({ id, title, description }: Fields, draft: TaskDraft, tell: ReportProblem): void => {
  if (given(id)) {
    if (typeof id !== 'string') tell(() => `id must be a text (quote it in YAML); it is ${show(id)}.`);
    else {
      draft.id = id;
      if (!isTaskId(id))
        tell(() => `id must be 1 to ${taskIdCharsMax} letters, digits, ".", "_" or "-"; it is ${show(id)}.`);
    }
  }
  if (!given(title)) tell(() => 'title is missing.');
  else if (typeof title !== 'string') tell(() => `title must be a text; it is ${show(title)}.`);
  else {
    draft.title = title;
    if (title.trim() === '') tell(() => 'title is empty.');
    else if (title.length > titleCharsMax)
      tell(() => `title has ${title.length} characters; at most ${titleCharsMax} are allowed.`);
    else if (/[\n\r\v\f\u0085\u2028\u2029]/u.test(title)) tell(() => 'title must be on one line.');
  }
  if (!given(description)) tell(() => 'description is missing.');
  else if (typeof description !== 'string') tell(() => `description must be a text; it is ${show(description)}.`);
  else {
    draft.description = description;
    if (description.trim() === '') tell(() => 'description is empty.');
    else if (description.length > descriptionBytesMax / 3 && utf8Bytes(description) > descriptionBytesMax)
      tell(() => `description has ${utf8Bytes(description)} bytes; at most ${descriptionBytesMax} are allowed.`);
  }
};

const readNumbers = ({ retries, priority }: Fields, draft: TaskDraft, tell: ReportProblem): void => {
  if (given(retries)) {
    if (typeof retries !== 'number' || !Number.isInteger(retries) || retries < 0 || retries > retriesMax)
      tell(() => `retries must be a whole number from 0 to ${retriesMax}; it is ${show(retries)}.`);
    else draft.retries = retries;
  }
  if (given(priority)) {
    if (typeof priority !== 'number' || !Number.isFinite(priority))
      tell(() => `priority must be a number; it is ${show(priority)}.`);
    else draft.priority = priority;
  }
};

const none: readonly string[] = Object.freeze([]);

const readDependsOn = (value: unknown, tell: ReportProblem): readonly string[] => {
  if (!given(value)) return none;
  if (!Array.isArray(value)) {
    tell(() => `dependsOn must be a list of ids; it is ${show(value)}.`);
    return none;
  }
  if (value.length === 1 && typeof value[0] === 'string') return Object.freeze([value[0]]);
  const ids = new Set<string>();
  for (const id of value as readonly unknown[]) {
    if (typeof id !== 'string') tell(() => `dependsOn must name tasks by id; it has ${show(id)}.`);
    else if (ids.has(id)) tell(() => `dependsOn names ${show(id)} twice.`);
    else ids.add(id);
  }
  return ids.size === 0 ? none : Object.freeze([...ids]);
};

const conditionKeys = ['task', 'is', 'not'];

const readCondition = (when: unknown, draft: TaskDraft, tell: ReportProblem): void => {
  if (!isObject(when))
    return tell(() => `when must be an object with task and is, or task and not; it is ${show(when)}.`);
  const unknown = Object.keys(when).filter((key) => !conditionKeys.includes(key));
  for (const key of unknown)
    tell(() => `when has an unknown key ${show(key)}. Known keys: ${conditionKeys.join(', ')}.`);
  const { task } = when;
  if (typeof task !== 'string') return tell(() => `when.task must be the id of a task; it is ${show(task)}.`);
  if (!draft.dependsOn.includes(task))
    return tell(() => `when.task ${show(task)} is not in its dependsOn; a condition is about what it depends on.`);
  const sides = (['is', 'not'] as const).filter((side) => given(when[side]));
  const [side] = sides;
  if (side === undefined || sides.length > 1)
    return tell(() => `when must have either is or not; it has ${sides.length === 0 ? 'neither' : 'both'}.`);
  const words = readWords(when[side]);
  if (words === null)
    return tell(
      () =>
        `when.${side} must be a word or a list of words of at most ${wordCharsMax} characters; it is ${show(when[side])}.`,
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
  `there is no member ${show(name)}.${didYouMean(name, roster)} ${
    roster.length === 0 ? 'There are no members.' : `Members: ${joinNames(roster)}.`
  }`;
