// Says what is wrong with a request before anything is recorded or spent.
import { CloisterError, utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import type { Agent, Budget, Equipment, Validate } from '#contracts';
import { goalBytesMax, ownsReason } from './agent-tool.ts';
import { checkBudget } from './check-agent.ts';

export type RequestPorts = { readonly validate: Validate; equip(agent: Agent): Equipment };

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

/** An object is what the agent's tool would be called with. */
const goalOf = (agent: Agent, input: string | JsonObject, validate: Validate): string => {
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
    const { models } = ports.equip(agent);
    if (models.length === 0) throw new CloisterError('model_missing', `Agent "${agent.name}".`);
    const unpriced = models.find(({ price }) => price === undefined);
    if (capped && unpriced !== undefined)
      throw new CloisterError('model_unpriced', `Agent "${agent.name}", model "${unpriced.language.modelId}".`);
    open.push(...[...agent.agents, ...agent.spawnable].map((child) => ({ agent: child, capped })));
  }
};
