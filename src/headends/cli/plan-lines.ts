// Formats a plan: tasks, assignees and dependencies.
import type { TaskSpec } from '#contracts';
import type { TaskInput } from './shared/cli-world.ts';
import { count, plural } from './shared/format-numbers.ts';
import type { Printer } from './shared/output.ts';
import { sanitizeAll, excerpt, sanitizeLine, wrapText } from './shared/sanitize-text.ts';

/** Null if the text is not a plan. The tasks are validated when they are run. */
export const parsePlan = (text: string): TaskInput | null => {
  try {
    const { goal = null, tasks } = JSON.parse(text) as { readonly goal?: unknown; readonly tasks?: unknown };
    if (!Array.isArray(tasks) || (goal !== null && typeof goal !== 'string')) return null;
    return { goal, tasks: tasks as readonly TaskSpec[] };
  } catch {
    return null;
  }
};

export const isPlanText = (text: string): boolean => parsePlan(text) !== null;

const shownMax = 200;

export const planLines = (plan: TaskInput, { paint, columns }: Printer): readonly string[] => {
  const { goal, tasks } = sanitizeAll(plan);
  const more = tasks.length - shownMax;
  return [
    `${paint('bold', 'Plan')} (${plural(tasks.length, 'task')})${goal === null ? '' : `: ${excerpt(goal, columns - 20)}`}`,
    ...tasks.slice(0, shownMax).flatMap((task, place) => taskLines(task, place, { paint, columns })),
    ...(more > 0 ? [paint('dim', `… ${count(more)} more: use --json for all`)] : []),
  ];
};

const taskLines = (
  task: TaskSpec,
  place: number,
  { paint, columns }: Pick<Printer, 'paint' | 'columns'>,
): readonly string[] => {
  const { id = '', title, description, assignee, dependsOn = [] } = task;
  const who = assignee === undefined ? 'any free member' : sanitizeLine(assignee);
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
