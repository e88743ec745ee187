// What a team is asked for, in words. Its goal is recorded as JSON: words, tasks, or both.

/** `tasks`: how many it was given; null: its coordinator plans. */
export type TeamGoalInfo = { readonly goal: string | null; readonly tasks: number | null; readonly planOnly: boolean };

export const readTeamGoal = (content: string): TeamGoalInfo => {
  const { goal, tasks, planOnly = false } = JSON.parse(content) as Asked;
  return { goal, tasks: tasks?.length ?? null, planOnly };
};

type Asked = { readonly goal: string | null; readonly tasks: readonly unknown[] | null; readonly planOnly?: boolean };

/** The goal, the number of its tasks, or both. */
export const describeTeamGoal = ({ goal, tasks }: TeamGoalInfo): string => {
  const many = tasks === null ? null : tasks === 1 ? '1 task' : `${tasks} tasks`;
  if (goal === null) return many ?? '';
  return many === null ? goal : `${goal} (${many})`;
};
