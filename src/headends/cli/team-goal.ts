// What a team was asked, in words. Its goal is recorded as JSON; of a long one, lists may hold only the beginning.
import { plural } from './figures.ts';

const wholeMax = 1_000_000;
const beginning = 2_000;

/** Any other goal comes back as it is. */
export const goalWords = (goal: string): string => {
  if (!goal.startsWith('{"goal":')) return goal;
  const asked = goal.length > wholeMax ? undefined : parsed(goal);
  if (asked === undefined) return beginningOf(goal.slice(0, beginning)) ?? goal;
  const { goal: said, tasks } = asked;
  if (!('answer' in asked) || !('tasks' in asked)) return goal;
  const many = Array.isArray(tasks) ? plural(tasks.length, 'task') : null;
  if (typeof said !== 'string') return many ?? goal;
  return many === null ? said : `${said} (${many})`;
};

/** A team is asked for a plan alone: nobody works on its tasks. */
export const plansOnly = (goal: string): boolean => goal.startsWith('{"goal":') && goal.endsWith('"planOnly":true}');

const parsed = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
};

/** What can be read of a text that was cut; null when that is no goal of a team. */
const beginningOf = (text: string): string | null => {
  if (text.startsWith('{"goal":null,"tasks":[')) return 'tasks';
  const said = /^\{"goal":"((?:[^"\\]|\\.)*)/su.exec(text)?.[1];
  if (said === undefined) return null;
  const value = parsed(`{"said":"${said.replace(/\\u[\da-f]{0,3}$/u, '')}"}`);
  return typeof value?.['said'] === 'string' ? value['said'] : null;
};
