// A plan for people: what is to be done, by whom, after what.
import type { TaskSpec } from '#contracts';
import type { TaskInput } from './cli-world.ts';
import { count, plural } from './format-numbers.ts';
import type { Page } from './output.ts';
import { sanitizeAll, excerpt, sanitizeLine } from './sanitize-text.ts';
import { wrapText } from './wrap-text.ts';

/** The plan that a text is; null when it is none. Its tasks are checked when they are run. */
export const planIn = (text: string): TaskInput | null => {
  try {
    const { goal = null, tasks } = JSON.parse(text) as { readonly goal?: unknown; readonly tasks?: unknown };
    if (!Array.isArray(tasks) || (goal !== null && typeof goal !== 'string')) return null;
    return { goal, tasks: tasks as readonly TaskSpec[] };
  } catch {
    return null;
  }
};

export const isPlanText = (text: string): boolean => planIn(text) !== null;

const shownMax = 200;

export const planLines = (plan: TaskInput, { paint, columns }: Page): readonly string[] => {
  const { goal, tasks } = sanitizeAll(plan);
  const more = tasks.length - shownMax;
  return [
    `${paint('bold', 'PLAN')}  ${plural(tasks.length, 'task')}${goal === null ? '' : `: ${excerpt(goal, columns - 20)}`}`,
    ...tasks.slice(0, shownMax).flatMap((task, place) => taskLines(task, place, { paint, columns })),
    ...(more > 0 ? [paint('dim', `… ${count(more)} more: --json has all of them`)] : []),
  ];
};

const taskLines = (
  task: TaskSpec,
  place: number,
  { paint, columns }: Pick<Page, 'paint' | 'columns'>,
): readonly string[] => {
  const { id = '', title, description, assignee, dependsOn = [] } = task;
  const who = assignee === undefined ? 'whoever has room' : sanitizeLine(assignee);
  const after = dependsOn.length === 0 ? '' : `, after ${dependsOn.map((one) => sanitizeLine(one)).join(', ')}`;
  const lead = `${String(place + 1).padStart(3)}. `;
  const [first = '', ...rest] = wrapText(lead, title, columns, lead.length);
  const indent = ' '.repeat(lead.length);
  return [
    `${lead}${paint('bold', first.slice(lead.length))}`,
    ...rest.map((line) => paint('bold', line)),
    ...wrapText(indent, `${sanitizeLine(id)} · ${who}${after}`, columns, lead.length).map((line) => paint('dim', line)),
    ...wrapText(indent, excerpt(description, columns * 3), columns, lead.length),
  ];
};
