// An agent as an MCP tool.
//
//   mcp-request-format-beside-fields. `format` and `schema` are placed beside the agent's own fields only if that does not
//       affect those fields; else the agent's own fields go under `input`.
//   mcp-output-schema-holds. A tool with an output schema always returns data that matches it, so it accepts no other format;
//       a `schema` adds to it.
import type { Tool } from '@modelcontextprotocol/server';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { Agent } from '#contracts';

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
export const toolOutputSchema = ({ signature: { output } }: Agent): JsonObject | null =>
  output.format === 'json' && output.schema?.['type'] === 'object' ? output.schema : null;

export const inputPlacement = ({ signature: { input } }: Agent): InputPlacement => {
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
