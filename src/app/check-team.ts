// Checks a request to a team before anything is recorded.
import { CloisterError } from '#base';
import type { Agent, Budget, RunOptions, TasksOptions, TaskSpec, TeamGoal, TeamRunOptions } from '#contracts';
import { checkTeamRequest } from '#core/orchestration';
import { withChildren } from '#app/agents';
import { checkSchemas } from './check-schemas.ts';
import type { SchemaProblems } from './check-schemas.ts';
import { checkOptionType, checkOptions } from '#base/shapes';
import type { SharedPorts } from './shared-ports.ts';

const commonOptions = { budget: 'any', signal: 'signal', env: 'any' } as const;

export const tasksGoal = (tasks: readonly TaskSpec[], options: TasksOptions): TeamGoal => {
  checkOptions(options, { ...commonOptions, goal: 'text', answer: 'flag' });
  const { goal = null, answer = false } = options;
  return { goal, tasks, answer };
};

export const teamGoal = (goal: string, options: TeamRunOptions): TeamGoal => {
  checkOptions(options, { ...commonOptions, planOnly: 'flag' });
  checkOptionType('goal', goal, 'text');
  return { goal, tasks: null, answer: true, ...(options.planOnly === true ? { planOnly: true } : {}) };
};

/** Returns the goal as it crosses. */
export const checkTeamRun = (
  team: Agent,
  request: TeamGoal,
  budget: Budget | undefined,
  ports: SchemaProblems & Pick<SharedPorts, 'validate' | 'resources'>,
): string => {
  for (const one of withChildren([team])) checkSchemas(one, ports);
  const { validate, resources } = ports;
  return checkTeamRequest(team, request, budget, { validate, modelsOf: (one) => resources.modelsOf(one) });
};

/** A team plans from its goal alone. Throws `team_invalid` for other input. */
export const refuseTeamOptions = ({ team, name }: Agent, options: RunOptions): void => {
  if (team === null) return;
  const { schema, format, context = [], system = [], history = [], attachments = [], tools = [] } = options;
  const [unsupported] = [
    ...(schema === undefined ? [] : ['schema']),
    ...(format === undefined || format === 'text' ? [] : ['format']),
    ...(context.length === 0 ? [] : ['context']),
    ...(system.length === 0 ? [] : ['system']),
    ...(history.length === 0 ? [] : ['history']),
    ...(attachments.length === 0 ? [] : ['attachments']),
    ...(tools.length === 0 ? [] : ['tools']),
  ];
  if (unsupported !== undefined)
    throw new CloisterError('team_invalid', `"${name}" is a team: it takes a goal, but not \`${unsupported}\`.`);
};

/** No member of a team would see the earlier turns. */
export const refuseTeamConversation = ({ team, name }: Agent): void => {
  if (team !== null)
    throw new CloisterError(
      'team_invalid',
      `"${name}" is a team and cannot hold a conversation; use runTeam or runTasks.`,
    );
};
