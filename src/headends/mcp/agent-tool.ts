// An agent as a tool that MCP clients see.
//
//   A1. `format` and `schema` stand beside the agent's own fields only where that changes nothing for these; else the own
//       fields are under `input`.
//   A2. A tool with an output schema always answers with data that fits it, so such a tool takes no other format or schema.
import type { Tool } from '@modelcontextprotocol/server';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { Agent } from '#contracts';

/** Where an agent's own input is in the arguments. */
export type InputPlacement = 'prompt' | 'beside' | 'input';

export const agentAsTool = (agent: Agent): Tool => {
  const outputSchema = outputSchemaOf(agent);
  return {
    name: agent.name,
    title: agent.name,
    description: agent.usage === '' ? agent.description : `${agent.description}\nFor example: ${agent.usage}`,
    inputSchema: inputSchemaOf(agent) as Tool['inputSchema'],
    ...(outputSchema === null ? {} : { outputSchema }),
    annotations: isHarmless(agent)
      ? { readOnlyHint: true, openWorldHint: false }
      : { readOnlyHint: false, openWorldHint: true },
  };
};

/** Of an agent whose answers are always objects of one shape, as MCP wants it. */
export const outputSchemaOf = ({ output }: Agent): JsonObject | null =>
  output.format === 'json' && output.schema?.['type'] === 'object' ? output.schema : null;

export const inputPlacement = ({ input }: Agent): InputPlacement => {
  if (input.format === 'text') return 'prompt';
  return input.schema !== undefined && hasRoom(input.schema) ? 'beside' : 'input';
};

const inputSchemaOf = (agent: Agent): JsonObject => {
  const { schema: own = {} } = agent.input;
  const asked = askedProperties(agent);
  switch (inputPlacement(agent)) {
    case 'prompt':
      return objectOf({ prompt, ...asked }, ['prompt']);
    case 'beside':
      return { ...own, type: 'object', properties: { ...(own['properties'] as JsonObject | undefined), ...asked } };
    case 'input':
      return objectOf({ input: enclosed(agent.name, own), ...asked }, ['input']);
  }
};

const prompt: JsonObject = {
  type: 'string',
  minLength: 1,
  description: 'The whole task: the agent sees nothing else.',
};

const objectOf = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const askedProperties = (agent: Agent): JsonObject => {
  const { format } = agent.output;
  if (outputSchemaOf(agent) !== null)
    return {
      format: {
        type: 'string',
        enum: ['json'],
        default: 'json',
        description: 'How the answer looks: as outputSchema says.',
      },
    };
  const needed = format === 'json' ? 'instead of the one that the agent has' : 'needed for the format json';
  return {
    format: {
      type: 'string',
      enum: ['text', 'markdown', 'json'],
      default: format,
      description: 'How the answer should look.',
    },
    schema: { type: 'object', description: `The JSON Schema of the answer, ${needed}.` },
  };
};

/** Whether two properties more change nothing else: the words are free, and nothing but `properties` judges the object. */
const hasRoom = (schema: JsonObject): boolean => {
  const { type, properties = {}, required = [] } = schema;
  return (
    type === 'object' &&
    isObject(properties) &&
    Array.isArray(required) &&
    !['format', 'schema'].some((word) => Object.hasOwn(properties, word) || required.includes(word)) &&
    Object.keys(schema).every((key) => harmless.has(key)) &&
    !JSON.stringify(schema).includes('"$ref":"#"')
  );
};

const harmless: ReadonlySet<string> = new Set(
  (
    'type properties required additionalProperties $schema $defs definitions $comment title description examples ' +
    'default deprecated'
  ).split(' '),
);

/** The agent's schema inside of another one. What refers to its root must not mean the other's: so it gets an address. */
const enclosed = (name: string, { $schema: _schema, ...own }: JsonObject): JsonObject => ({
  ...(own['$id'] === undefined && JSON.stringify(own).includes('"$ref"') ? { $id: `urn:cloister:input:${name}` } : {}),
  ...own,
  type: 'object',
});

/** It can only think: nothing that it reaches changes anything. */
const isHarmless = (agent: Agent): boolean =>
  agent.spawns === null &&
  [agent.tools, agent.builtins, agent.sources, agent.servers, agent.agents, agent.members].every(
    ({ length }) => length === 0,
  );
