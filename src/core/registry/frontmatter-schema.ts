// The frontmatter as a JSON Schema, so that editors and other programs can complete and check it.
import type { JsonObject } from '#base';
import { jsonSchemaOf, namedSchemas } from '#base/shapes';
import { frontmatterShape } from './frontmatter-shape.ts';

const reference = (name: string): string => `#/$defs/${name}`;

/** It cannot express that aliases agree, that `llmTimeout` is at most `timeout_ms`, that a schema is valid, or that a pool names only agents in `spawns`. */
export const frontmatterSchema = (): JsonObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Frontmatter of a Cloister agent file (.ai)',
  ...jsonSchemaOf(frontmatterShape, reference),
  dependentSchemas: {
    // `gather` needs sub-agents to call.
    gather: { required: ['agents'], properties: { agents: { not: { type: 'array', maxItems: 0 } } } },
    // `spawns` and the tool `spawn_agent` require each other.
    spawns: { required: ['tools'], properties: { tools: spawnTool } },
    tools: { anyOf: [{ required: ['spawns'] }, { properties: { tools: { not: spawnTool } } }] },
  },
  $defs: namedSchemas([frontmatterShape], reference),
});

const spawnTool: JsonObject = {
  anyOf: [{ const: 'spawn_agent' }, { type: 'array', contains: { const: 'spawn_agent' } }],
};
