// Describes a team's goal for people. The goal is recorded as JSON: text, tasks, or both.

/** `tasks`: the number of given tasks; null if the coordinator plans. */
export type TeamGoalInfo = { readonly goal: string | null; readonly tasks: number | null; readonly planOnly: boolean };

export const readTeamGoal = (content: string): TeamGoalInfo => {
  const { goal, tasks, planOnly = false } = JSON.parse(content) as TeamGoalJson;
  return { goal, tasks: tasks?.length ?? null, planOnly };
};

type TeamGoalJson = {
  readonly goal: string | null;
  readonly tasks: readonly unknown[] | null;
  readonly planOnly?: boolean;
};

/** The goal, the number of tasks, or both. */
export const describeTeamGoal = ({ goal, tasks }: TeamGoalInfo): string => {
  const taskCount = tasks === null ? null : tasks === 1 ? '1 task' : `${tasks} tasks`;
  if (goal === null) return taskCount ?? '';
  return taskCount === null ? goal : `${goal} (${taskCount})`;
};
