// Helpers for the team judges: read operations, messages and plans in a log.
import type { CellId } from '#base';
import type { Frame, Mail, TaskSpec } from '#contracts';
import type { OperationFacts } from './facts.ts';

/** Describes an operation in a report. */
export const describeBegin = ({ begin, beganIn }: OperationFacts): string =>
  `frame ${beganIn} begins ${begin.name} ${JSON.stringify(begin.birth?.task ?? begin.about ?? null)}`;

export const contentIn = (frames: readonly Frame[], cell: CellId, seq: number): string | undefined => {
  for (const { contents = [] } of frames)
    for (const one of contents) if (one.cell === cell && one.seq === seq) return one.content;
  return undefined;
};

/** A line of JSON, then the text. */
export const parseMail = (content: string): Mail => {
  const end = content.indexOf('\n');
  return { ...(JSON.parse(content.slice(0, end)) as Omit<Mail, 'text'>), text: content.slice(end + 1) };
};

/** The tasks of a good plan, each with its id, and its dependencies by id. */
export const parsePlan = (text: string): readonly TaskSpec[] => {
  const plan = JSON.parse(text.replace(/^```json\n|\n```$/gu, '')) as Plan;
  const tasks = 'tasks' in plan ? plan.tasks : plan;
  const ids = new Map<string, string>(
    tasks.flatMap(({ id, title }) => (id === undefined ? [[title, idFromTitle(title)] as const] : [])),
  );
  return tasks.map((task) => ({
    ...task,
    id: task.id ?? idFromTitle(task.title),
    ...(task.dependsOn === undefined ? {} : { dependsOn: task.dependsOn.map((name) => ids.get(name) ?? name) }),
  }));
};

type Plan = readonly TaskSpec[] | { readonly tasks: readonly TaskSpec[] };

/** Titles in a simulation are words of letters and digits, and no two are equal. */
export const idFromTitle = (title: string): string => title.toLowerCase().match(/\w+/gu)!.join('-');
