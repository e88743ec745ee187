// Checks a request before anything is recorded or spent.
import { CloisterError, utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import type { Agent, AgentTeam, Budget, InputFormat, ModelSummary, TeamGoal, Validate } from '#contracts';
import { parseTasks } from '#core/tasks';
import { goalBytesMax } from './agent-tool.ts';
import { callOptionNames } from './agent-tool-schema.ts';
import { checkBudget } from './check-agent.ts';
import { startableAgents } from './define-agent.ts';

type RequestPorts = {
  readonly validate: Validate;
  /** The models that a session of this agent would get. */
  modelsOf(agent: Agent): readonly ModelSummary[];
};

/** Returns the goal as it crosses: text, or the JSON that the agent expects. Throws if the request is invalid. */
export const checkRequest = (
  agent: Agent,
  input: string | JsonObject,
  budget: Budget | undefined,
  ports: RequestPorts,
): string => {
  const goal = goalText(agent, input, ports.validate);
  if (typeof goal !== 'string' || goal.trim() === '') throw new CloisterError('goal_empty');
  const bytes = utf8Bytes(goal);
  if (bytes > goalBytesMax)
    throw new CloisterError('goal_too_large', `It has ${bytes} bytes; the limit is ${goalBytesMax}.`);
  checkRunBudget(agent, budget, ports);
  return goal;
};

/** Throws if the budget is invalid, or a model has no price and could not keep to it. */
export const checkRunBudget = (
  agent: Agent,
  budget: Budget | undefined,
  ports: Pick<RequestPorts, 'modelsOf'>,
): void => {
  checkBudget(budget);
  checkModels(agent, budget?.usd ?? agent.caps.budget.usd, ports);
};

/** The same for a team whose request may contain tasks. */
export const checkTeamRequest = (
  team: Agent,
  request: TeamGoal,
  budget: Budget | undefined,
  ports: RequestPorts,
): string => {
  const { goal, tasks, answer } = request;
  if (team.team === null) throw new CloisterError('team_invalid', `"${team.name}" is an agent, not a team.`);
  if (tasks === null && (goal ?? '').trim() === '') throw new CloisterError('goal_empty');
  if (team.team.coordinator === null && (tasks === null || answer))
    throw new CloisterError('team_invalid', `Team "${team.name}" has no coordinator to plan or to answer: add one.`);
  const limits = { assignees: Object.keys(team.team.rules.members), allowAll: true };
  const checkedTasks = tasks === null ? null : parseTasks(tasks, undefined, limits);
  if (utf8Bytes(goal ?? '') > goalBytesMax)
    throw new CloisterError('goal_too_large', `The limit is ${goalBytesMax} bytes.`);
  checkRunBudget(team, budget, ports);
  return JSON.stringify({ ...request, tasks: checkedTasks } satisfies TeamGoal);
};

/** An object has the shape of a call to the agent's tool. */
const goalText = (agent: Agent, input: string | JsonObject, validate: Validate): string => {
  if (agent.team !== null) return teamGoal(agent.name, agent.team, input);
  if (agent.signature.input.format === 'text') {
    if (typeof input !== 'object' || input === null) return input;
    const { prompt } = input;
    if (typeof prompt !== 'string')
      throw new CloisterError('goal_schema', `Agent "${agent.name}" expects text, or an object with "prompt".`);
    return prompt;
  }
  const value = typeof input === 'string' ? parseJsonGoal(agent, input) : withoutReason(agent, input);
  const problems = schemaProblems(objectSchema(agent.signature.input), value, validate);
  if (problems.length > 0)
    throw new CloisterError('goal_schema', `Agent "${agent.name}": ${problems.slice(0, 5).join('; ')}.`);
  return JSON.stringify(value);
};

const objectSchemas = new WeakMap<InputFormat, JsonObject>();

/** The same object each time, so that the schema is prepared only once. */
const objectSchema = (input: InputFormat): JsonObject => {
  const known = objectSchemas.get(input) ?? { ...input.schema, type: 'object' };
  objectSchemas.set(input, known);
  return known;
};

/** A team that is called like an agent plans its own tasks: the text of a goal is never parsed as tasks. */
const teamGoal = (name: string, { coordinator }: AgentTeam, input: string | JsonObject): string => {
  const goal = typeof input === 'string' ? input : input['prompt'];
  if (typeof goal !== 'string' || goal.trim() === '') throw new CloisterError('goal_empty');
  if (coordinator === null)
    throw new CloisterError('team_invalid', `Team "${name}" has no coordinator: add one, or give it tasks.`);
  return JSON.stringify({ goal, tasks: null, answer: true } satisfies TeamGoal);
};

const schemaProblems = (schema: JsonObject, value: Json, validate: Validate): readonly string[] => {
  try {
    return validate(schema, value);
  } catch (error) {
    return [`its input schema is invalid: ${error instanceof Error ? error.message : String(error)}`];
  }
};

/** `reason` is for the log, unless the agent's own input has that property. */
const withoutReason = (agent: Agent, input: JsonObject): JsonObject => {
  if (!callOptionNames(agent).includes('reason') || input['reason'] === undefined) return input;
  const { reason, ...rest } = input;
  return reason === undefined ? input : rest;
};

const parseJsonGoal = ({ name, usage }: Agent, input: string): Json => {
  try {
    return JSON.parse(input) as Json;
  } catch {
    throw new CloisterError(
      'goal_schema',
      `Agent "${name}" expects a JSON object${usage === '' ? '' : `, such as ${usage}`}.`,
    );
  }
};

/** Checks every agent in the tree, with and without a dollar cap as it applies: once each, however many agents call it. */
const checkModels = (root: Agent, usd: number | undefined, ports: Pick<RequestPorts, 'modelsOf'>): void => {
  const seen = new Map<Agent, Set<boolean>>();
  const queue: { readonly agent: Agent; readonly capped: boolean }[] = [{ agent: root, capped: usd !== undefined }];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { agent } = next;
    const capped = next.capped || agent.caps.budget.usd !== undefined;
    const checked = seen.get(agent) ?? new Set();
    if (checked.has(capped)) continue;
    seen.set(agent, checked.add(capped));
    const models = agent.team === null ? ports.modelsOf(agent) : [];
    if (models.length === 0 && agent.team === null) throw new CloisterError('model_missing', `Agent "${agent.name}".`);
    const unpriced = models.find(({ price }) => price === undefined);
    if (capped && unpriced !== undefined)
      throw new CloisterError('model_unpriced', `Agent "${agent.name}", model "${unpriced.language.modelId}".`);
    queue.push(...startableAgents(agent).map((child) => ({ agent: child, capped })));
  }
};
