import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, Validate } from '#contracts';

const checked = new WeakSet<Agent>();

/** A schema that cannot be used is the definition's fault, and is found before anything runs. */
export const checkSchemas = (agent: Agent, validate: Validate): void => {
  if (checked.has(agent)) return;
  const schemas = agent.definition.tools.map(({ name, inputSchema }): [string, JsonObject] => [
    `tools.${name}`,
    inputSchema,
  ]);
  if (agent.output.schema !== undefined) schemas.push(['output.schema', agent.output.schema]);
  for (const [field, schema] of schemas) {
    try {
      validate(schema, {});
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      throw new CloisterError('agent_invalid', `Agent "${agent.name}", ${field}: expected a JSON Schema: ${words}`);
    }
  }
  for (const child of agent.agents) checkSchemas(child, validate);
  checked.add(agent);
};
