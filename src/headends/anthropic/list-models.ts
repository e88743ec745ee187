// Lists agents as models, in Anthropic's form.
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
  max_tokens: agent.caps.limits.maxOutputTokens ?? null,
  deprecated_at: null,
  retires_at: null,
});

/** One page of at most `limit` agents, after or before a given one. */
export const listModels = (agents: readonly Agent[], query: URLSearchParams, since: number): JsonObject => {
  const limit = parseLimit(query);
  const [after, before] = [parseIndex(agents, query, 'after_id'), parseIndex(agents, query, 'before_id')];
  if (after !== null && before !== null)
    throw new CloisterError('request_invalid', 'after_id: cannot be combined with before_id.');
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

const parseLimit = (query: URLSearchParams): number => {
  const text = query.get('limit');
  if (text === null) return limitDefault;
  const limit = /^[0-9]{1,4}$/u.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > limitMax)
    throw new CloisterError('request_invalid', `limit: expected a whole number from 1 to ${limitMax}.`);
  return limit;
};

const parseIndex = (agents: readonly Agent[], query: URLSearchParams, name: string): number | null => {
  const id = query.get(name);
  if (id === null) return null;
  const index = agents.findIndex((agent) => agent.name === id);
  if (index === -1)
    throw new CloisterError('request_invalid', `${name}: no agent is called ${JSON.stringify(id.slice(0, 80))}.`);
  return index;
};
