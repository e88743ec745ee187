// JSON Schemas of what REST takes and gives.
import { errorCatalogue } from '#base';
import type { JsonObject } from '#base';
import { schemaRef } from './operation-parts.ts';
import { formats } from './parsed-run-request.ts';

const text = { type: 'string' };
const whole = { type: 'integer' };
const number = { type: 'number' };
const flag = { type: 'boolean' };
const time = { type: 'integer', description: 'Epoch milliseconds.' };
const timeOrNone = { type: ['integer', 'null'], description: 'Epoch milliseconds.' };
const textOrNone = { type: ['string', 'null'] };
const texts = { type: 'array', items: text };
const amount = { type: 'number', minimum: 0 };

/** All of these are there, and perhaps more. */
const record = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...more },
});

/** Nothing but these. */
const given = (required: readonly string[], properties: JsonObject): JsonObject => ({
  type: 'object',
  ...(required.length === 0 ? {} : { required }),
  properties,
  additionalProperties: false,
});

const statuses = ['completed', 'partial', 'failed', 'cancelled', 'limit', 'budget', 'timeout'];
const failureWords = record({
  code: { enum: Object.keys(errorCatalogue) },
  class: { enum: [...new Set(Object.values(errorCatalogue).map((entry) => entry.class))] },
  message: text,
  suggestion: text,
});
const noneOr = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] });
const form = record({ format: { enum: formats } }, { schema: { type: 'object' } });

const outcome = {
  run: text,
  status: { enum: [...statuses, 'interrupted'] },
  output: { type: 'string', description: 'The answer.' },
  data: { description: 'The answer as JSON, where that was asked for.' },
  error: noneOr(schemaRef('Failure')),
  spent: schemaRef('Spent'),
  missing: { ...texts, description: 'Sub-agents whose answers are not in it, or not whole.' },
};

export const valueSchemas: Readonly<Record<string, JsonObject>> = {
  Error: record({ error: { allOf: [schemaRef('Failure')], properties: { retryAfterMs: whole } } }),
  Failure: failureWords,
  Agent: record({
    name: text,
    description: text,
    usage: { type: 'string', description: 'An example of what to ask it.' },
    input: form,
    output: form,
    team: { type: 'boolean', description: 'Whether it is a team.' },
    addresses: record({ get: text, post: text }),
  }),
  Budget: given([], { tokens: amount, usd: amount, ms: amount, spawns: amount, memory: amount }),
  Said: given(['by', 'text'], { by: { enum: ['person', 'agent'] }, text }),
  RunRequest: given(['input'], {
    input: { type: ['string', 'object'], description: 'Text, or an object as the agent takes it.' },
    format: {
      enum: formats,
      description: 'How the answer should look; `json` needs a schema, here or the agent’s own.',
    },
    schema: { type: 'object', description: 'A JSON Schema for the answer.' },
    budget: schemaRef('Budget'),
    context: { ...texts, description: 'What the agent should know besides.' },
    conversation: { type: 'string', description: 'A conversation of yours with that agent: begun, or gone on with.' },
    history: {
      type: 'array',
      items: schemaRef('Said'),
      description: 'What was said before; not together with a conversation.',
    },
    resident: { ...flag, description: 'It lives until it is asked to finish; `input` is its first message.' },
    wait: { ...flag, description: 'False: the run goes on by itself. Default: true, for a resident one false.' },
    stream: { ...flag, description: 'Send the events of the run as they come.' },
    details: { ...flag, description: 'Give the cells and the events of the run with the answer.' },
  }),
  Outcome: record(outcome, {
    conversation: text,
    cells: { type: 'array', items: schemaRef('Cell') },
    events: { type: 'array', items: schemaRef('Event') },
  }),
  Begun: record({ run: text, agent: text, events: { type: 'string', description: 'Where it can be followed.' } }),
  Run: record({
    run: text,
    agent: text,
    goal: text,
    state: { enum: ['running', 'interrupted', 'ended', 'damaged'] },
    status: { enum: [...statuses, null] },
    startedAt: time,
    endedAt: timeOrNone,
    cells: whole,
    spent: noneOr(schemaRef('Spent')),
  }),
  Report: record({
    ...outcome,
    status: { enum: [...statuses, 'running', 'interrupted'] },
    agent: text,
    goal: text,
    startedAt: time,
    endedAt: timeOrNone,
    cells: { type: 'array', items: schemaRef('Cell') },
  }),
  Cell: record({
    cell: text,
    parent: textOrNone,
    agent: text,
    depth: whole,
    status: { enum: [...statuses, null] },
    turns: whole,
    spent: schemaRef('Spent'),
  }),
  Event: record({ type: text, run: text, cell: text, agent: text }, { id: text, at: time }),
  Spent: record({
    inputTokens: whole,
    cacheReadTokens: whole,
    cacheWriteTokens: whole,
    outputTokens: whole,
    usd: { type: ['number', 'null'], description: 'Null: the price is not known.' },
    ms: number,
    steps: whole,
    spawns: whole,
    uncertain: { type: 'integer', description: 'Tokens whose use is not known.' },
  }),
  LivingAgent: record({
    cell: text,
    parent: textOrNone,
    agent: text,
    sub_agent_id: text,
    session_id: text,
    workflow_id: textOrNone,
    subscriptions: texts,
    metadata: { type: 'object', additionalProperties: text },
    spawned_at: time,
    status: { enum: ['waiting', 'running'] },
  }),
  Message: given(['text'], {
    text,
    to: { type: 'string', description: 'The name of an agent of the run. Default: the one that was asked.' },
    topic: { type: 'string', description: 'To all who hear it, instead.' },
    answer: { ...flag, description: 'Wait for what is answered.' },
  }),
  Answer: record({
    run: text,
    message: { type: 'string', description: 'The id of the answer.' },
    answers: { ...textOrNone, description: 'The message that it answers; null: the first one.' },
    agent: text,
    status: { enum: statuses },
    output: text,
    error: noneOr(schemaRef('Failure')),
  }),
};
