// An agent as an MCP tool.
//
//   mcp-request-format-beside-fields. `format` and `schema` are placed beside the agent's own fields only if that does not
//       affect those fields; else the agent's own fields go under `input`.
//   mcp-output-schema-holds. A tool with an output schema always returns data that matches it, so it accepts no other format;
//       a `schema` adds to it.
import type { Tool, CallToolResult } from '@modelcontextprotocol/server';
import { isObject, bothSchemas, CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentRequest, Cause, OutputFormat, ClientFailure, RunOutcome } from '#contracts';
import { BodyFields, causesText, clientError, clientFailure } from '#headends/shared';
import { clientFailureText } from './rpc.ts';

/** Where the arguments hold the agent's own input. */
type InputPlacement = 'prompt' | 'beside' | 'input';

export const agentAsTool = (agent: Agent): Tool => {
  const outputSchema = toolOutputSchema(agent);
  return {
    name: agent.signature.toolName,
    title: agent.name,
    description: agent.usage === '' ? agent.description : `${agent.description}\nExample: ${agent.usage}`,
    inputSchema: toolInputSchema(agent) as Tool['inputSchema'],
    ...(outputSchema === null ? {} : { outputSchema }),
    annotations: isReadOnly(agent)
      ? { readOnlyHint: true, openWorldHint: false }
      : { readOnlyHint: false, openWorldHint: true },
  };
};

/** MCP wants an output schema only for a tool whose answers are always objects of one shape; else null. */
const toolOutputSchema = ({ signature: { output } }: Agent): JsonObject | null =>
  output.format === 'json' && output.schema?.['type'] === 'object' ? output.schema : null;

const inputPlacement = ({ signature: { input } }: Agent): InputPlacement => {
  if (input.format === 'text') return 'prompt';
  return input.schema !== undefined && canAddProperties(input.schema) ? 'beside' : 'input';
};

const toolInputSchema = (agent: Agent): JsonObject => {
  const { schema: own = {} } = agent.signature.input;
  const added = formatProperties(agent);
  switch (inputPlacement(agent)) {
    case 'prompt':
      return closedObject({ prompt: promptSchema, ...added }, ['prompt']);
    case 'beside':
      return { ...own, type: 'object', properties: { ...(own['properties'] as JsonObject | undefined), ...added } };
    case 'input':
      return closedObject({ input: nestedSchema(agent.name, own), ...added }, ['input']);
  }
};

const promptSchema: JsonObject = {
  type: 'string',
  minLength: 1,
  description: 'The complete task; the agent sees nothing else.',
};

const closedObject = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const formatProperties = (agent: Agent): JsonObject => {
  const { format } = agent.signature.output;
  if (toolOutputSchema(agent) !== null)
    return {
      format: {
        type: 'string',
        enum: ['json'],
        default: 'json',
        description: 'Format of the answer; it matches outputSchema.',
      },
      schema: { type: 'object', description: 'JSON Schema that the answer must match as well.' },
    };
  const needed = format === 'json' ? 'in addition to the agent’s own, if it has one' : 'required for the format json';
  return {
    format: {
      type: 'string',
      enum: ['text', 'markdown', 'json'],
      default: format,
      description: 'Format of the answer.',
    },
    schema: { type: 'object', description: `JSON Schema for the answer, ${needed}.` },
  };
};

/** Whether `format` and `schema` can be added safely: both names are free, and no keyword but `properties` constrains the object. */
const canAddProperties = (schema: JsonObject): boolean => {
  const { type, properties = {}, required = [] } = schema;
  return (
    type === 'object' &&
    isObject(properties) &&
    Array.isArray(required) &&
    !['format', 'schema'].some((word) => Object.hasOwn(properties, word) || required.includes(word)) &&
    Object.keys(schema).every((key) => compatibleKeywords.has(key)) &&
    !JSON.stringify(schema).includes('"$ref":"#"')
  );
};

const compatibleKeywords: ReadonlySet<string> = new Set(
  (
    'type properties required additionalProperties $schema $defs definitions $comment title description examples ' +
    'default deprecated'
  ).split(' '),
);

/** The agent's schema nested in another one. It gets an `$id`, so that references to its root do not point to the outer schema. */
const nestedSchema = (name: string, { $schema: _schema, ...own }: JsonObject): JsonObject => ({
  ...(own['$id'] === undefined && JSON.stringify(own).includes('"$ref"') ? { $id: `urn:cloister:input:${name}` } : {}),
  ...own,
  type: 'object',
});

/** Whether the agent can only think: it has no tools, sub-agents or members that could change anything. */
const isReadOnly = ({ resources, children: { agents, spawns }, team }: Agent): boolean => {
  const { tools, builtins, sources, servers } = resources;
  return (
    spawns === null && team === null && [tools, builtins, sources, servers, agents].every(({ length }) => length === 0)
  );
};

// Turns the arguments of a tool call into a request for an agent. Errors name the argument and what to do.
const formats = ['text', 'markdown', 'json'] as const;

type ParsedToolCall = {
  readonly request: AgentRequest;
  /** The format of the answer, whether the call or the agent decided it. */
  readonly format: OutputFormat['format'];
};

export const readArguments = (agent: Agent, args: JsonObject): ParsedToolCall => {
  const fields = new BodyFields(args, 'arguments');
  const input = readAgentInput(agent, fields);
  const form = readAnswerFormat(agent, fields);
  return { request: { agent: agent.name, input, ...form }, format: form.format ?? agent.signature.output.format };
};

const readAgentInput = (agent: Agent, fields: BodyFields): string | JsonObject => {
  const placement = inputPlacement(agent);
  if (placement === 'beside') {
    const { format: _format, schema: _schema, ...own } = fields.value;
    return own;
  }
  fields.allowOnly([placement, 'format', 'schema']);
  if (placement === 'input') return fields.object('input');
  const prompt = fields.text('prompt');
  if (prompt.trim() === '') throw fields.invalid('prompt', 'a non-empty task');
  return prompt;
};

const readAnswerFormat = (agent: Agent, fields: BodyFields): Pick<AgentRequest, 'format' | 'schema'> => {
  const format = fields.oneOf('format', formats);
  const schema = fields.optionalObject('schema');
  const own = agent.signature.output;
  if (toolOutputSchema(agent) !== null) {
    if (format !== undefined && format !== 'json') throw unsupported('format', 'this tool only returns json.');
    return schema === undefined ? {} : { format: 'json', schema: withOwnSchema(agent, schema) };
  }
  if (schema !== undefined) {
    if (format !== undefined && format !== 'json')
      throw new CloisterError('request_invalid', 'arguments.schema: only allowed with the format json.');
    return { format: 'json', schema: withOwnSchema(agent, schema) };
  }
  if (format === 'json' && own.schema === undefined)
    throw new CloisterError(
      'request_invalid',
      'arguments.schema: required for the format json, as a JSON Schema of the answer.',
    );
  return format === undefined ? {} : { format };
};

/** The answer must fit the schema of the call and the agent's own. */
const withOwnSchema = ({ signature: { output } }: Agent, schema: JsonObject): JsonObject =>
  output.schema === undefined ? schema : bothSchemas(output.schema, schema);

const unsupported = (name: string, reason: string): CloisterError =>
  new CloisterError('request_unsupported', `arguments.${name}: ${reason}`);

// The outcome of a run as the result of a tool call.
/** `causes`: none for a caller who does not see them. */
export const toToolResult = (
  agent: Agent,
  format: OutputFormat['format'],
  outcome: RunOutcome,
  causes: readonly Cause[] = [],
): CallToolResult => {
  const { status, output, data, run, missing, spawned = [] } = outcome;
  const _meta = {
    'cloister/run': run,
    'cloister/status': status,
    ...(missing.length === 0 ? {} : { 'cloister/missing': missing }),
    ...(spawned.length === 0 ? {} : { 'cloister/spawned': spawned }),
    ...(causes.length === 0 ? {} : { 'cloister/causes': causes }),
  };
  const failure = clientFailure(outcome.failure ?? { code: status === 'cancelled' ? 'cancelled' : 'defect' }, causes);
  if (output === '' || status === 'failed' || status === 'cancelled') return failedResult(failure, _meta);

  const structured = format === 'json' && isObject(data) ? { structuredContent: { ...data } } : {};
  const whole = status === 'completed';
  const content = [
    textContent(output),
    ...(whole ? [] : [textContent(`The answer is incomplete: ${incompleteText(outcome, failure, causes)}`)]),
  ];
  // A tool with an output schema may return anything but data only as an error.
  const isError = toolOutputSchema(agent) !== null && !('structuredContent' in structured);
  return { content, ...structured, ...(isError ? { isError } : {}), _meta };
};

/** Agents can be missing without a failure of the agent that answered. */
const incompleteText = ({ failure, missing }: RunOutcome, shown: ClientFailure, causes: readonly Cause[]): string =>
  failure === null && missing.length > 0
    ? `nothing complete came from ${missing.join(', ')}.${causesText(causes)}`
    : clientFailureText(shown);

/** Why a call was not served. */
export const errorResult = (error: unknown): CallToolResult => failedResult(clientError(error), {});

const failedResult = (failure: ClientFailure, meta: Readonly<Record<string, unknown>>): CallToolResult => ({
  content: [textContent(clientFailureText(failure))],
  isError: true,
  _meta: { ...meta, 'cloister/error': failure.code, 'cloister/retryable': failure.retryable },
});

const textContent = (text: string): { type: 'text'; text: string } => ({ type: 'text', text });
