// Agents as Anthropic's clients list models.
import { CloisterError, isoTime } from '#base';
import type { JsonObject } from '#base';
import type { Agent } from '#contracts';

/** `since`: epoch milliseconds. */
export const modelInfo = (agent: Agent, since: number): JsonObject => ({
  type: 'model',
  id: agent.name,
  display_name: agent.name,
  description: agent.description,
  created_at: isoTime(since),
  lifecycle: 'active',
  line: null,
  capabilities: null,
  max_input_tokens: null,
  max_tokens: agent.limits.maxOutputTokens ?? null,
  deprecated_at: null,
  retires_at: null,
});

/** One page: `limit` of them, after one or before one. */
export const listModels = (agents: readonly Agent[], query: URLSearchParams, since: number): JsonObject => {
  const limit = limitOf(query);
  const [after, before] = [placeOf(agents, query, 'after_id'), placeOf(agents, query, 'before_id')];
  if (after !== null && before !== null)
    throw new CloisterError('request_invalid', 'after_id: not together with before_id.');
  const rest = agents.slice(after === null ? 0 : after + 1, before ?? agents.length);
  const page = before === null ? rest.slice(0, limit) : rest.slice(-limit);
  return {
    data: page.map((agent) => modelInfo(agent, since)),
    has_more: rest.length > page.length,
    first_id: page.at(0)?.name ?? null,
    last_id: page.at(-1)?.name ?? null,
  };
};

const [limitDefault, limitMax] = [20, 1000];

const limitOf = (query: URLSearchParams): number => {
  const given = query.get('limit');
  if (given === null) return limitDefault;
  const limit = /^[0-9]{1,4}$/u.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > limitMax)
    throw new CloisterError('request_invalid', `limit: expected a whole number from 1 to ${limitMax}.`);
  return limit;
};

const placeOf = (agents: readonly Agent[], query: URLSearchParams, name: string): number | null => {
  const id = query.get(name);
  if (id === null) return null;
  const place = agents.findIndex((agent) => agent.name === id);
  if (place === -1)
    throw new CloisterError('request_invalid', `${name}: there is no ${JSON.stringify(id.slice(0, 80))}.`);
  return place;
};
