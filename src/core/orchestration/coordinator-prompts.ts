// What a coordinator is asked: for a plan, and for the answer. It sees the roster's descriptions and the goal, and later all results.
import { extractJson } from '#base';
import type { Failure, Json, JsonObject } from '#base';
import type { Agent, Envelope, OutputFormat, Task, TeamRules } from '#contracts';
import { missingLines } from '#core/tasks';

/** The form of a plan. Who may do a task, and how many there may be, is part of it. */
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
            id: { type: 'string', description: 'Short and unique: letters, digits, dot, dash, underscore.' },
            title: { type: 'string' },
            description: {
              type: 'string',
              description:
                'The whole task: whoever works on it sees this, the results it depends on, and nothing else.',
            },
            assignee: { type: 'string', enum: Object.keys(members) },
            dependsOn: {
              type: 'array',
              items: { type: 'string' },
              description: 'Ids of tasks whose results it needs.',
            },
            priority: { type: 'number' },
            // probe: plan-scope
            ...(planMayAskForAll ? allScope : {}),
          },
          required: ['id', 'title', 'description'],
          additionalProperties: false,
        },
      },
    },
    required: ['tasks'],
    additionalProperties: false,
  },
});

const allScope: JsonObject = { memoryScope: { type: 'string', enum: ['dependencies', 'all'] } };

export const planGoal = (goal: string, roster: readonly Agent[], { planTasksMax, planDepthMax }: TeamRules): string =>
  [
    '# Goal',
    goal,
    '',
    '# The team',
    // probe: plan-roster
    ...roster.map(({ name, description }) => `- ${name}: ${oneLine(description)}`),
    '',
    '# What to do',
    'Plan how the team reaches the goal: a list of tasks. Each task is worked on by one member, who sees its title, its description and the results of the tasks that it depends on, and nothing else: no goal, no other results. Tasks that do not depend on each other are worked on at the same time. Plan no task for putting the answer together: you will be given all results and asked for it.',
    `At most ${planTasksMax} tasks; at most ${planDepthMax} that depend on one another in a row.`,
  ].join('\n');

/** What is asked of the coordinator at the end. */
export const answerGoal = (goal: string | null, missing: readonly Task[]): string =>
  [
    '# Goal',
    goal ?? 'Put the results of the tasks together.',
    '',
    '# What to do',
    'The team has worked on this goal in tasks. Answer it from their results, which follow as data. Where they disagree, say so. Add nothing that they do not support.',
    ...(missing.length === 0 ? [] : ['', '# Without a result', ...missingLines(missing)]),
    ...(missing.length === 0 ? [] : ['Say in your answer what is missing because of this.']),
  ].join('\n');

const oneLine = (text: string): string => text.replace(/\s+/gu, ' ').trim();

/** The tasks of a plan, if the answer has the form of one. */
export const readPlanTasks = (value: Json | undefined): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject)['tasks'] : undefined;

/** What was wrong with its last try, if it gave one. */
export const planFailure = ({ status, error, output }: Envelope, problems: readonly string[]): Failure =>
  error?.code === 'answer_schema' || error === null
    ? {
        code: 'plan_invalid',
        detail: extractJson(output) === undefined ? 'Its answer is not JSON.' : problems.slice(0, 5).join(' '),
      }
    : { code: error.code, detail: `The coordinator gave no plan (${status}).` };
