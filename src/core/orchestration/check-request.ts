// Says what is wrong with a request before anything is recorded or spent.
import { CloisterError, utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import type { Agent, Budget, SessionResources, TeamGoal, Validate } from '#contracts';
import { readTasks } from '#core/tasks';
import { goalBytesMax, ownsReason } from './agent-tool.ts';
import { checkBudget } from './check-agent.ts';

export type RequestPorts = { readonly validate: Validate; equip(agent: Agent): SessionResources };

/** The goal as it crosses: the words, or the JSON that the agent takes. Throws what is wrong with it. */
export const checkRequest = (
  agent: Agent,
  input: string | JsonObject,
  budget: Budget | undefined,
  ports: RequestPorts,
): string => {
  const goal = goalOf(agent, input, ports.validate);
  if (typeof goal !== 'string' || goal.trim() === '') throw new CloisterError('goal_empty');
  const bytes = utf8Bytes(goal);
  if (bytes > goalBytesMax)
    throw new CloisterError('goal_too_large', `It has ${bytes} bytes; at most ${goalBytesMax} are taken.`);
  checkBudget(budget);
  checkModels(agent, budget?.usd ?? agent.budget.usd, ports);
  return goal;
};

/** The same for a team that is given tasks, or more than words. */
export const checkTeamRequest = (
  team: Agent,
  asked: TeamGoal,
  budget: Budget | undefined,
  ports: RequestPorts,
): string => {
  const { goal, tasks, answer } = asked;
  if (team.team === null) throw new CloisterError('team_invalid', `"${team.name}" is an agent, not a team.`);
  if (tasks === null && (goal ?? '').trim() === '') throw new CloisterError('goal_empty');
  if (team.coordinator === null && (tasks === null || answer))
    throw new CloisterError('team_invalid', `Team "${team.name}" has no coordinator to plan or to answer: name one.`);
  const limits = { assignees: Object.keys(team.team.members), allowAll: true };
  const read = tasks === null ? null : readTasks(tasks, undefined, limits);
  if (utf8Bytes(goal ?? '') > goalBytesMax)
    throw new CloisterError('goal_too_large', `At most ${goalBytesMax} bytes are taken.`);
  checkBudget(budget);
  checkModels(team, budget?.usd ?? team.budget.usd, ports);
  return JSON.stringify({ ...asked, tasks: read } satisfies TeamGoal);
};

/** An object is what the agent's tool would be called with. */
const goalOf = (agent: Agent, input: string | JsonObject, validate: Validate): string => {
  if (agent.team !== null) return teamGoal(agent, input);
  if (agent.input.format === 'text') {
    if (typeof input !== 'object' || input === null) return input;
    const { prompt } = input;
    if (typeof prompt !== 'string')
      throw new CloisterError('goal_schema', `Agent "${agent.name}" takes text, or an object with "prompt".`);
    return prompt;
  }
  const value = typeof input === 'string' ? parse(agent, input) : withoutReason(agent, input);
  const problems = problemsOf({ ...agent.input.schema, type: 'object' }, value, validate);
  if (problems.length > 0)
    throw new CloisterError('goal_schema', `Agent "${agent.name}": ${problems.slice(0, 5).join('; ')}.`);
  return JSON.stringify(value);
};

/** A team that is asked like an agent plans by itself: nothing in the words of a goal is taken for tasks. */
const teamGoal = ({ name, coordinator }: Agent, input: string | JsonObject): string => {
  const goal = typeof input === 'string' ? input : input['prompt'];
  if (typeof goal !== 'string' || goal.trim() === '') throw new CloisterError('goal_empty');
  if (coordinator === null)
    throw new CloisterError('team_invalid', `Team "${name}" has no coordinator: name one, or give it tasks.`);
  return JSON.stringify({ goal, tasks: null, answer: true } satisfies TeamGoal);
};

const problemsOf = (schema: JsonObject, value: Json, validate: Validate): readonly string[] => {
  try {
    return validate(schema, value);
  } catch (error) {
    return [`its input schema cannot be used: ${error instanceof Error ? error.message : String(error)}`];
  }
};

/** Why it is asked is for the log, unless the agent itself asks for a reason. */
const withoutReason = (agent: Agent, input: JsonObject): JsonObject => {
  if (ownsReason(agent) || input['reason'] === undefined) return input;
  const { reason, ...rest } = input;
  return reason === undefined ? input : rest;
};

const parse = ({ name, usage }: Agent, input: string): Json => {
  try {
    return JSON.parse(input) as Json;
  } catch {
    throw new CloisterError(
      'goal_schema',
      `Agent "${name}" takes a JSON object${usage === '' ? '' : `, such as ${usage}`}.`,
    );
  }
};

/** Every agent below, under every cap in money that may hold for it: once each, however many call it. */
const checkModels = (root: Agent, usd: number | undefined, ports: RequestPorts): void => {
  const seen = new Map<Agent, Set<boolean>>();
  const open: { readonly agent: Agent; readonly capped: boolean }[] = [{ agent: root, capped: usd !== undefined }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { agent } = next;
    const capped = next.capped || agent.budget.usd !== undefined;
    const known = seen.get(agent) ?? new Set();
    if (known.has(capped)) continue;
    seen.set(agent, known.add(capped));
    const { models } = agent.team === null ? ports.equip(agent) : { models: [] };
    if (models.length === 0 && agent.team === null) throw new CloisterError('model_missing', `Agent "${agent.name}".`);
    const unpriced = models.find(({ price }) => price === undefined);
    if (capped && unpriced !== undefined)
      throw new CloisterError('model_unpriced', `Agent "${agent.name}", model "${unpriced.language.modelId}".`);
    const { plans, answers } = agent.coordinator ?? {};
    const led = [plans, answers].filter((one) => one !== undefined);
    open.push(
      ...[...agent.agents, ...agent.spawnable, ...agent.members, ...led].map((child) => ({ agent: child, capped })),
    );
  }
};
