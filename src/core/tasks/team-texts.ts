// The texts about tasks in the goals and answers of teams. They are part of the recorded format: the audit writes them again.
// To change one, add another version; runs of earlier formats go on using theirs.
import type { Task } from '#contracts';

export type TeamTexts = {
  /** The goal of the cell that works on a task. */
  taskGoal(title: string, description: string): string;
  /** A result in the answer of a team without a coordinator. */
  result(title: string, assignee: string | null, text: string): string;
  /** The section that the runtime appends to an answer. */
  missing(lines: readonly string[]): string;
  missingTask(task: Pick<Task, 'title' | 'assignee' | 'status' | 'reason'>): string;
  moreMissing(count: number): string;
  readonly reasons: {
    failed(code: string): string;
    notCompleted(cause: string): string;
    readonly budget: string;
    readonly cancelled: string;
    /** Of tasks that were unfinished when their team ended. */
    readonly stopped: string;
    dependency(task: string, end: 'failed' | 'skipped'): string;
    readonly noneNeeded: string;
    conditionNotNeeded(task: string): string;
    conditionNotMet(task: string): string;
  };
};

const oneLine = (text: string): string => text.replace(/\s+/gu, ' ').trim();

/** In a text that stands under the name of its author, a line cannot look like the heading of another author's text. */
export const escapeHeadings = (result: string): string =>
  escapeUnderlines(result.replace(authorHeading, String.raw`$<start>\$<heading>`));

const authorHeading =
  /(?<start>(?:^|[\n\r\v\f\u0085\u2028\u2029])[\t\p{Zs}\p{Default_Ignorable_Code_Point}]*)(?<heading>#{1,6}[^\n\r\v\f\u0085\u2028\u2029]*\([\p{Zs}\p{Default_Ignorable_Code_Point}]*by\b)/giu;

/** In Markdown, a line of `-` or `=` makes the line above it a heading. */
const escapeUnderlines = (text: string): string => {
  const parts = text.split(/(\r\n|\n|\r)/u);
  return parts
    .map((line, at) =>
      /^[\t ]*(?:-+|=+)[\t ]*$/u.test(line) && authorMark.test(parts[at - 2] ?? '') ? `\\${line}` : line,
    )
    .join('');
};

const authorMark = /\([\p{Zs}\p{Default_Ignorable_Code_Point}]*by\b/iu;

const teamTexts1: TeamTexts = {
  taskGoal: (title, description) => `# Task: ${title}\n\n${description}`,
  result: (title, assignee, text) => `## ${oneLine(title)} (by ${assignee ?? 'unknown'})\n\n${escapeHeadings(text)}`,
  missing: (lines) => `\n\nMissing from this answer:\n${lines.join('\n')}`,
  missingTask: ({ title, assignee, status, reason }) =>
    `- ${oneLine(title)}${assignee === null ? '' : ` (by ${assignee})`}: ${status}${reason === null ? '' : `, ${reason.text}`}`,
  moreMissing: (count) => `- and ${count} more`,
  reasons: {
    failed: (code) => `it failed (${code})`,
    notCompleted: (cause) => `it did not complete (${cause})`,
    budget: 'the budget does not cover it',
    cancelled: 'it was stopped',
    stopped: 'the work was stopped',
    dependency: (task, end) => `it depends on ${task}, which ${end === 'failed' ? 'failed' : 'was not done'}`,
    noneNeeded: 'none of the tasks it depends on was needed',
    conditionNotNeeded: (task) => `its condition is about ${task}, which was not needed`,
    conditionNotMet: (task) => `the result of ${task} did not meet its condition`,
  },
};

/** By version. */
export const teamTextsByVersion: Readonly<Record<number, TeamTexts>> = { 1: teamTexts1 };

export const newestTeamTexts = teamTexts1;
