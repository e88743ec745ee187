// The frontmatter as a JSON Schema, so that editors and other programs can complete and check it.
import type { Json, JsonObject } from '#base';
import { durationShape } from './duration.ts';
import type { BlockKind, FrontmatterField, FieldKind, NameShape, NumberRule } from './field-kinds.ts';
import { limitFields } from './field-limits.ts';
import { frontmatterFields, requiredKeys } from './fields.ts';

/** It cannot express that aliases agree, that `llmTimeout` is at most `timeout_ms`, that a schema is valid, or that a pool names only agents in `spawns`. */
export const frontmatterSchema = (): JsonObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Frontmatter of a Cloister agent file (.ai)',
  type: 'object',
  additionalProperties: false,
  required: requiredKeys,
  properties: Object.fromEntries(
    frontmatterFields.map((field) => [field.key, isLimit(field) ? limitRef(field) : fieldSchema(field)]),
  ),
  dependentSchemas: {
    // `gather` needs sub-agents to call.
    gather: { required: ['agents'], properties: { agents: { not: { type: 'array', maxItems: 0 } } } },
    // `spawns` and the tool `spawn_agent` require each other.
    spawns: { required: ['tools'], properties: { tools: spawnTool } },
    tools: { anyOf: [{ required: ['spawns'] }, { properties: { tools: { not: spawnTool } } }] },
  },
  $defs: Object.fromEntries(limitFields.map((field) => [field.key, fieldSchema(field)])),
});

const spawnTool: JsonObject = {
  anyOf: [{ const: 'spawn_agent' }, { type: 'array', contains: { const: 'spawn_agent' } }],
};

const isLimit = (field: FrontmatterField): boolean => limitFields.includes(field);

const limitRef = ({ key }: FrontmatterField): JsonObject => ({ $ref: `#/$defs/${key}` });

const fieldSchema = (field: FrontmatterField): JsonObject => ({
  description: `${field.description}${field.otherwise === undefined ? '' : ` Default: ${field.otherwise}.`}`,
  ...kindSchema(field.kind),
  ...(field.default === undefined ? {} : { default: field.default }),
  examples: [field.example],
});

/** Without look-ahead, which not every validator has. */
const shapeSchema = ({ shape, never }: NameShape): JsonObject => ({
  pattern: shape,
  ...(never === undefined ? {} : { not: { pattern: never } }),
});

const kindSchema = (kind: FieldKind): JsonObject => {
  switch (kind.is) {
    case 'text':
      return { type: 'string', pattern: '\\S' };
    case 'word':
      return { type: 'string', ...shapeSchema(kind) };
    case 'choice':
      return { enum: kind.of };
    case 'number':
      return numberSchema(kind.rule);
    case 'duration':
      return { anyOf: [numberSchema({ min: 0, whole: true }), { type: 'string', pattern: durationShape }] };
    case 'parallel':
      return { anyOf: [{ type: 'boolean' }, numberSchema({ min: 1, whole: true })] };
    case 'flag':
      return { type: 'boolean' };
    case 'map':
      return {
        type: 'object',
        propertyNames: shapeSchema(kind.names),
        additionalProperties: kindSchema(kind.of),
      };
    case 'either':
      return { anyOf: [kindSchema(kind.plain), blockSchema(kind.block)] };
    case 'schema':
      return { type: 'object', ...(kind.ofObject ? { properties: { type: { const: 'object' } } } : {}) };
    case 'list': {
      const item = kindSchema(kind.of);
      return { anyOf: [item, { type: 'array', items: item, minItems: kind.itemsMin, uniqueItems: true }] };
    }
    case 'block':
      return blockSchema(kind);
  }
};

const numberSchema = ({ min, max, whole }: NumberRule): JsonObject => ({
  type: whole ? 'integer' : 'number',
  minimum: min,
  maximum: max ?? Number.MAX_SAFE_INTEGER,
});

const blockSchema = (block: BlockKind): JsonObject => {
  const properties = block.fields.map((field): readonly [string, Json] => [
    field.key,
    isLimit(field) ? limitRef(field) : fieldSchema(field),
  ]);
  const hasSchema = block.fields.some(({ kind }) => kind.is === 'schema');
  const object: JsonObject = {
    type: block.mayBeEmpty === true ? ['object', 'null'] : 'object',
    additionalProperties: false,
    ...(block.required.length === 0 ? {} : { required: block.required }),
    properties: Object.fromEntries(properties),
    ...(block.someOf === undefined ? {} : { anyOf: block.someOf.map((key) => ({ required: [key] })) }),
    // A schema needs the format json.
    ...(hasSchema
      ? { if: { properties: { format: { const: 'json' } } }, else: { properties: { schema: false } } }
      : {}),
  };
  const short = block.fields.find(({ key }) => key === block.short);
  return short === undefined ? object : { anyOf: [kindSchema(short.kind), object] };
};
