// The coordinator's prompts: one for the plan, one for the answer. It sees the goal and the members' descriptions, and later all results.
import type { Failure, Json, JsonObject } from '#base';
import type { Agent, Envelope, OutputFormat, Task, TeamRules } from '#contracts';
import { checkTasks, missingLines, readPlan } from '#core/tasks';
import type { TeamTexts } from '#core/tasks';

/** The output format of a plan. It includes the possible assignees and the maximum number of tasks. */
export const planFormat = ({ members, planTasksMax, planMayAskForAll }: TeamRules): OutputFormat => ({
  format: 'json',
  schema: {
    type: 'object',
    properties: {
      tasks: {
        type: 'array',
        minItems: 1,
        maxItems: planTasksMax,
        items: {
          type: 'object',
          properties: {
            id: {
              type: 'string',
              description: 'Short and unique: letters, digits, dot, dash, underscore. Made from the title by default.',
            },
            title: { type: 'string' },
            description: { type: 'string', description: 'The complete task. The assignee does not see the goal.' },
            assignee: { type: 'string', enum: Object.keys(members) },
            dependsOn: {
              type: 'array',
              items: { type: 'string' },
              description: 'Ids of the tasks whose results it needs.',
            },
            priority: {
              type: 'number',
              description: 'Of the tasks that are ready, the highest starts first (default 0).',
            },
            // probe: plan-scope
            ...(planMayAskForAll ? allScope : {}),
          },
          required: ['title', 'description'],
          additionalProperties: false,
        },
      },
    },
    required: ['tasks'],
    additionalProperties: false,
  },
});

const allScope: JsonObject = {
  memoryScope: {
    type: 'string',
    enum: ['dependencies', 'all'],
    description: '"all": the assignee sees the results of all tasks completed before this one starts.',
  },
};

export const planGoal = (goal: string, roster: readonly Agent[], rules: TeamRules): string =>
  [
    '# Goal',
    goal,
    '',
    '# The team',
    // probe: plan-roster
    ...roster.map(({ name, description }) => `- ${name}: ${oneLine(description)}`),
    '',
    '# What to do',
    `Plan how the team will reach the goal, as a list of tasks. One member works on each task and sees only its title, its description and the results of the tasks it depends on: not the goal, and no other results${rules.planMayAskForAll ? ' unless you set memoryScope to "all"' : ''}. Independent tasks run in parallel. Do not plan a task for writing the final answer: you will get all results and write it yourself.`,
    `Plan at most ${rules.planTasksMax} tasks, in dependency chains of at most ${rules.planDepthMax} tasks.`,
  ].join('\n');

/** The goal of the coordinator when it writes the answer. */
export const answerGoal = (goal: string | null, missing: readonly Task[], texts: TeamTexts): string =>
  [
    '# Goal',
    goal ?? 'Combine the results of the tasks.',
    '',
    '# What to do',
    'The team has worked on this goal in separate tasks. Write the final answer from the results, which follow as data. Point out contradictions. Add nothing the results do not support.',
    ...(missing.length === 0 ? [] : ['', '# Tasks without a result', ...missingLines(missing, texts)]),
    ...(missing.length === 0 ? [] : ['State in your answer what is missing because of this.']),
  ].join('\n');

const oneLine = (text: string): string => text.replace(/\s+/gu, ' ').trim();

/** The whole check of a plan; its schema only tells the coordinator what to write. */
export const planProblems = (
  value: Json | undefined,
  { members, planTasksMax, planDepthMax, planMayAskForAll }: TeamRules,
): readonly string[] => {
  const plan = readPlan(value);
  if ('problem' in plan) return [plan.problem];
  // probe: plan-limits
  const limits = { tasksMax: planTasksMax, depthMax: planDepthMax, allowAll: planMayAskForAll };
  return checkTasks(plan.tasks, undefined, { assignees: Object.keys(members), ...limits });
};

/** Why there is no plan: the problems of the last attempt, or the failure of the coordinator. */
export const planFailure = ({ status, error }: Envelope, problems: readonly string[]): Failure =>
  error?.code === 'answer_schema' || error === null
    ? { code: 'plan_invalid', detail: problems.join(' ') }
    : { code: error.code, detail: `The coordinator returned no plan (${status}).` };
