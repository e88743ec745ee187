// What a caller's model is shown of the agents it can call: one tool for each, and `gather`.
import { embedSchema, isObject, refersToRoot } from '#base';
import type { JsonObject } from '#base';
import type { Agent, ToolSchema } from '#contracts';

export const agentToolSchema = (agent: Agent): ToolSchema => ({
  name: agent.signature.modelToolName,
  description: agent.description,
  inputSchema: agent.signature.input.format === 'json' ? jsonInputSchema(agent) : textInputSchema(agent),
});

const reasonSchema: JsonObject = {
  type: 'string',
  description: 'Why you are calling the agent, for the log. The agent does not see this.',
};

const timeoutSchema: JsonObject = {
  type: 'integer',
  minimum: 1,
  description: 'Less working time than it has by itself, in milliseconds.',
};

const toolsSchema: JsonObject = {
  type: 'array',
  items: { type: 'string' },
  description: 'Only these of its tools, by name. Default: all.',
};

/**
 * What a caller can set besides the input. The agent does not see it, and the caller is not shown which tools the agent has: its
 * own definition says what it may know of them.
 */
const callOptions = ({ team }: Agent): Readonly<Record<string, JsonObject>> => ({
  reason: reasonSchema,
  ...(team === null ? { timeout_ms: timeoutSchema, tools: toolsSchema } : {}),
});

const textInputSchema = (agent: Agent): JsonObject => ({
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The complete task. The agent sees nothing else.' },
    ...callOptions(agent),
  },
  required: ['prompt'],
  additionalProperties: false,
});

/** The agent's own schema, with the options of a call added where they can be. */
const jsonInputSchema = (agent: Agent): JsonObject => {
  const { schema = {} } = agent.signature.input;
  const added = Object.entries(callOptions(agent)).filter(([name]) => canAdd(schema, name));
  return {
    ...schema,
    type: 'object',
    ...(added.length === 0
      ? {}
      : { properties: { ...Object.fromEntries(added), ...(schema['properties'] as JsonObject | undefined) } }),
  };
};

/** Which of its arguments are options of the call; the others are the agent's input. A name in the agent's own schema is its input. */
export const callOptionNames = (agent: Agent): readonly string[] => {
  const { format, schema = {} } = agent.signature.input;
  return Object.keys(callOptions(agent)).filter((name) => format === 'text' || canAdd(schema, name));
};

/** Whether adding this property is safe: the name is free, and no keyword but `properties` constrains the object. */
const canAdd = (schema: JsonObject, name: string): boolean => {
  const { properties = {}, required = [] } = schema;
  const isFree = isObject(properties) && !Object.hasOwn(properties, name);
  const isRequired = Array.isArray(required) && required.includes(name);
  return isFree && !isRequired && !judgingKeywords.some((key) => schema[key] !== undefined) && !refersToRoot(schema);
};

const judgingKeywords = (
  '$ref $recursiveRef $dynamicRef allOf anyOf oneOf not if const enum patternProperties propertyNames ' +
  'unevaluatedProperties maxProperties dependentRequired dependentSchemas dependencies'
).split(' ');

const tasksMax = 16;

export const gatherSchema = (agents: readonly Agent[]): ToolSchema => ({
  name: 'gather',
  description:
    'Call several agents in parallel and return what each of them found, under its name; what several found is listed once.',
  inputSchema: {
    type: 'object',
    properties: {
      tasks: {
        type: 'array',
        minItems: 1,
        maxItems: tasksMax,
        items: agents.some(({ signature: { input } }) => input.format === 'json')
          ? { anyOf: agents.map((agent, index) => taskSchema([agent], index)) }
          : taskSchema(agents, 0),
      },
    },
    required: ['tasks'],
    additionalProperties: false,
  },
});

/** One task for one of these agents, which all have the same input format. */
const taskSchema = (agents: readonly Agent[], index: number): JsonObject => {
  const {
    signature: { input },
  } = agents[0]!;
  const place = `/properties/tasks/items/anyOf/${index}/properties/input`;
  const requested: JsonObject =
    input.format === 'json'
      ? { input: { ...embedSchema(input.schema ?? {}, place, `task${index}.`), type: 'object' } }
      : { prompt: { type: 'string', description: 'The complete task. The agent sees nothing else.' } };
  return {
    type: 'object',
    properties: {
      agent: { type: 'string', enum: agents.map(({ signature: { modelToolName } }) => modelToolName) },
      ...requested,
      reason: reasonSchema,
    },
    required: ['agent', ...Object.keys(requested)],
    additionalProperties: false,
  };
};
