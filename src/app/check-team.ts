// What a team is asked for, checked before anything is recorded.
import { CloisterError } from '#base';
import type { Agent, Budget, RunOptions, TasksOptions, TaskSpec, TeamGoal, TeamRunOptions } from '#contracts';
import { checkTeamRequest } from '#core/orchestration';
import { withChildren } from './agents/resources-from-code.ts';
import { checkSchemas } from './check-schemas.ts';
import { checkOptionTypes, checkOptions } from './conversations/check-options.ts';
import type { Shared } from './run-world.ts';

const common = { budget: 'options', signal: 'signal' } as const;

export const tasksGoal = (tasks: readonly TaskSpec[], options: TasksOptions): TeamGoal => {
  checkOptions(options, { ...common, goal: 'text', answer: 'flag' });
  const { goal = null, answer = false } = options;
  return { goal, tasks, answer };
};

export const teamGoal = (goal: string, options: TeamRunOptions): TeamGoal => {
  checkOptions(options, { ...common, planOnly: 'flag' });
  checkOptionTypes('goal', goal, 'text');
  return { goal, tasks: null, answer: true, ...(options.planOnly === true ? { planOnly: true } : {}) };
};

/** The goal as it crosses. */
export const checkTeamRun = (team: Agent, asked: TeamGoal, budget: Budget | undefined, shared: Shared): string => {
  for (const one of withChildren([team])) checkSchemas(one, shared.schemaProblem);
  const { validate, equipped } = shared;
  return checkTeamRequest(team, asked, budget, { validate, equip: (one) => equipped.equip(one) });
};

/** A team plans from its goal alone. */
export const refuseForTeam = ({ team, name }: Agent, options: RunOptions): void => {
  if (team === null) return;
  const { schema, format, context = [], history = [], tools = [] } = options;
  const [given] = [
    ...(schema === undefined ? [] : ['schema']),
    ...(format === undefined || format === 'text' ? [] : ['format']),
    ...(context.length === 0 ? [] : ['context']),
    ...(history.length === 0 ? [] : ['history']),
    ...(tools.length === 0 ? [] : ['tools']),
  ];
  if (given !== undefined)
    throw new CloisterError('team_invalid', `"${name}" is a team: it takes a goal, no \`${given}\`.`);
};

/** Nobody in it would hear what was said before. */
export const refuseToTalk = ({ team, name }: Agent): void => {
  if (team !== null)
    throw new CloisterError(
      'team_invalid',
      `"${name}" is a team, with which one cannot talk: use runTeam or runTasks.`,
    );
};
