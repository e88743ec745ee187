// JSON Schemas of REST requests and responses.
import { errorCatalogue, limitNames } from '#base';
import type { JsonObject } from '#base';
import { schemaRef } from './operation-parts.ts';
import { answerFormats } from './parsed-run-request.ts';

const text = { type: 'string' };
const whole = { type: 'integer' };
const number = { type: 'number' };
const flag = { type: 'boolean' };
const time = { type: 'integer', description: 'Epoch milliseconds.' };
const timeOrNone = { type: ['integer', 'null'], description: 'Epoch milliseconds.' };
const textOrNone = { type: ['string', 'null'] };
const texts = { type: 'array', items: text };
const amount = { type: 'number', minimum: 0 };

/** All of these properties are required, and others are allowed. */
const record = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...more },
});

/** No other properties are allowed. */
const closedRecord = (required: readonly string[], properties: JsonObject): JsonObject => ({
  type: 'object',
  ...(required.length === 0 ? {} : { required }),
  properties,
  additionalProperties: false,
});

const statuses = ['completed', 'partial', 'failed', 'cancelled', 'limit', 'budget', 'timeout'];
const failureSchema = record(
  {
    code: { enum: Object.keys(errorCatalogue) },
    class: { enum: [...new Set(Object.values(errorCatalogue).map((entry) => entry.class))] },
    message: text,
    suggestion: text,
  },
  { limit: { enum: limitNames, description: 'The limit that was reached.' } },
);
const nullOr = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] });
const form = record({ format: { enum: answerFormats } }, { schema: { type: 'object' } });

const outcome = {
  run: text,
  status: { enum: [...statuses, 'interrupted'] },
  output: { type: 'string', description: 'The answer.' },
  data: { description: 'The answer as JSON, if JSON was requested.' },
  error: nullOr(schemaRef('Failure')),
  spent: schemaRef('Spent'),
  missing: {
    ...texts,
    description: 'Sub-agents whose answers are missing or incomplete, and spawned agents that did not finish.',
  },
  spawned: {
    type: 'array',
    items: schemaRef('SpawnedOutcome'),
    description: 'Spawned agents that did not finish, or whose last words the agent had not read when it answered.',
  },
};

export const valueSchemas: Readonly<Record<string, JsonObject>> = {
  Health: record(
    { status: { enum: ['ok', 'stopping'] } },
    {
      stalls: record({
        count: { ...whole, description: 'How often the process stood still for more than 100 ms.' },
        longestMs: whole,
        latest: {
          type: 'array',
          items: record({ at: time, ms: whole, run: textOrNone, cell: textOrNone }),
          description: 'The newest ones, with the run and the cell whose work it was, if known.',
        },
      }),
    },
  ),
  SpawnedOutcome: record(
    {
      agent: text,
      cell: { type: 'string', description: 'Its cell: `cells` of the run has the whole output.' },
      status: { enum: statuses },
      why: { ...textOrNone, description: 'Why it is in `missing`; null if it finished its work.' },
      output: { type: 'string', description: 'What it wrote. If `bytes` is present, only the beginning.' },
    },
    { bytes: { ...whole, description: 'The size of the whole output.' } },
  ),
  Error: record({ error: { allOf: [schemaRef('Failure')], properties: { retryAfterMs: whole } } }),
  Failure: failureSchema,
  Agent: record({
    name: text,
    toolName: { type: 'string', description: 'The name under which MCP clients call it.' },
    description: text,
    usage: { type: 'string', description: 'An example input.' },
    input: form,
    output: form,
    team: { type: 'boolean', description: 'Whether it is a team.' },
    addresses: record({ get: text, post: text }),
  }),
  Budget: closedRecord([], { tokens: amount, usd: amount, ms: amount, spawns: amount, memory: amount }),
  Said: closedRecord(['by', 'text'], { by: { enum: ['person', 'agent'] }, text }),
  RunMessage: record(
    { by: { enum: ['person', 'agent'] }, text },
    {
      message: { type: 'string', description: 'The id of a message that was sent while the run was running.' },
      agent: { type: 'string', description: 'The agent that wrote it.' },
      unasked: { ...flag, description: 'The agent answers none of your messages.' },
      delivered: { ...flag, description: 'Whether a client has taken it.' },
    },
  ),
  RunRequest: closedRecord(['input'], {
    input: { type: ['string', 'object'], description: 'Text, or an object that matches the agent’s input schema.' },
    format: {
      enum: answerFormats,
      description: 'Format of the answer. `json` needs a schema, either here or in the agent’s definition.',
    },
    schema: { type: 'object', description: 'JSON Schema for the answer.' },
    budget: schemaRef('Budget'),
    context: { ...texts, description: 'Additional context for the agent.' },
    conversation: {
      type: 'string',
      description: 'The name of your conversation with this agent. Continues it, or starts it if it is new.',
    },
    history: {
      type: 'array',
      items: schemaRef('Said'),
      description: 'Earlier messages. Cannot be combined with a conversation.',
    },
    resident: { ...flag, description: 'The agent runs until it is asked to finish; `input` is its first message.' },
    wait: {
      ...flag,
      description: 'If false, return as soon as the run has started. Default: true; for a resident run, false.',
    },
    stream: { ...flag, description: 'Stream the events of the run.' },
    details: { ...flag, description: 'Include the cells and the events of the run.' },
  }),
  Outcome: record(outcome, {
    conversation: text,
    cells: { type: 'array', items: schemaRef('Cell') },
    events: { type: 'array', items: schemaRef('Event') },
  }),
  Begun: record({
    run: text,
    agent: text,
    events: { type: 'string', description: 'The path of the run’s event stream.' },
  }),
  Run: record({
    run: text,
    agent: text,
    goal: text,
    state: { enum: ['running', 'interrupted', 'ended', 'damaged'] },
    status: { enum: [...statuses, null] },
    startedAt: time,
    endedAt: timeOrNone,
    cells: whole,
    spent: nullOr(schemaRef('Spent')),
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
    usd: { type: ['number', 'null'], description: 'Null if the price is unknown.' },
    ms: number,
    steps: whole,
    spawns: whole,
    uncertain: { type: 'integer', description: 'Tokens whose actual use is unknown.' },
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
    mailbox: { type: 'boolean', description: 'Whether it can receive messages.' },
  }),
  Spawn: closedRecord(['agent'], {
    agent: { type: 'string', description: 'One of the agents that the agent above may start.' },
    goal: { type: 'string', description: 'Without a goal, the agent waits for messages.' },
    parent: { type: 'string', description: 'The name of a live agent in the run. Default: its root agent.' },
    workflow: text,
    topics: { ...texts, description: 'Topics that it subscribes to.' },
    metadata: { type: 'object', additionalProperties: text },
  }),
  StartedAgent: record({
    run: text,
    cell: text,
    parent: text,
    sub_agent_id: text,
    session_id: text,
    status: { enum: ['spawned', 'running'] },
    subscribed_topics: texts,
  }),
  Message: closedRecord(['text'], {
    text,
    to: { type: 'string', description: 'The name of an agent in the run. Default: its root agent.' },
    topic: { type: 'string', description: 'Publish to all subscribers of this topic instead.' },
    answer: { ...flag, description: 'Wait for the answer.' },
  }),
  Answer: record({
    run: text,
    message: { type: 'string', description: 'The id of the answer.' },
    answers: { ...textOrNone, description: 'The id of the message it answers; null for the first message.' },
    agent: text,
    status: { enum: statuses },
    output: text,
    error: nullOr(schemaRef('Failure')),
  }),
};
