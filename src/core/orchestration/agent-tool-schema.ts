// What a caller's model is shown of the agents it can call: one tool for each, and `gather`.
import { embedSchema, isObject, refersToRoot } from '#base';
import type { JsonObject } from '#base';
import type { Agent, ToolSchema } from '#contracts';

export const agentToolSchema = (agent: Agent): ToolSchema => ({
  name: agent.toolName,
  description: agent.description,
  inputSchema: agent.input.format === 'json' ? jsonInputSchema(agent.input.schema ?? {}) : textInputSchema,
});

export const reasonSchema: JsonObject = {
  type: 'string',
  description: 'Why you are calling the agent, for the log. The agent does not see this.',
};

const textInputSchema: JsonObject = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The complete task. The agent sees nothing else.' },
    reason: reasonSchema,
  },
  required: ['prompt'],
  additionalProperties: false,
};

/** The agent's own schema, with `reason` added where it can be. */
const jsonInputSchema = (schema: JsonObject): JsonObject => ({
  ...schema,
  type: 'object',
  ...(canAddReason(schema)
    ? { properties: { reason: reasonSchema, ...(schema['properties'] as JsonObject | undefined) } }
    : {}),
});

/** Whether `reason` belongs to the agent's own input instead of the log. */
export const ownsReason = ({ input }: Agent): boolean => input.format === 'json' && !canAddReason(input.schema ?? {});

/** Whether adding the property `reason` is safe: the name is free, and no keyword but `properties` constrains the object. */
const canAddReason = (schema: JsonObject): boolean => {
  const { properties = {}, required = [] } = schema;
  const isFree = isObject(properties) && !Object.hasOwn(properties, 'reason');
  const isRequired = Array.isArray(required) && required.includes('reason');
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
        items: agents.some(({ input }) => input.format === 'json')
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
  const { input } = agents[0]!;
  const place = `/properties/tasks/items/anyOf/${index}/properties/input`;
  const requested: JsonObject =
    input.format === 'json'
      ? { input: { ...embedSchema(input.schema ?? {}, place, `task${index}.`), type: 'object' } }
      : { prompt: { type: 'string', description: 'The complete task. The agent sees nothing else.' } };
  return {
    type: 'object',
    properties: {
      agent: { type: 'string', enum: agents.map(({ toolName }) => toolName) },
      ...requested,
      reason: reasonSchema,
    },
    required: ['agent', ...Object.keys(requested)],
    additionalProperties: false,
  };
};
