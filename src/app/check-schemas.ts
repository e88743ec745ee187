import { CloisterError } from '#base';
import type { Agent } from '#contracts';

/** Why it is not a schema that can be used; null when it is. */
export type SchemaProblem = (schema: unknown) => string | null;

const checked = new WeakSet<Agent>();

/** A schema that cannot be used is the definition's fault, and is found before anything runs. */
export const checkSchemas = (root: Agent, problemOf: SchemaProblem): void => {
  if (checked.has(root)) return;
  const found = new Set([root]);
  for (const agent of found)
    for (const child of [...agent.agents, ...agent.spawnable]) if (!checked.has(child)) found.add(child);
  for (const agent of found) checkOwn(agent, problemOf);
  for (const agent of found) checked.add(agent);
};

/** Those of its sub-agents' tools are made from what is checked with them. */
const checkOwn = ({ name, input, output, tools }: Agent, problemOf: SchemaProblem): void => {
  const schemas = tools.map((tool): [string, unknown] => [`tools.${tool.name}`, tool.inputSchema]);
  for (const [field, schema] of [
    ...schemas,
    ['input.schema', input.schema],
    ['output.schema', output.schema],
  ] as const) {
    const wrong = schema === undefined ? null : problemOf(schema);
    if (wrong !== null)
      throw new CloisterError('agent_invalid', `Agent "${name}", ${field}: expected a JSON Schema: ${wrong}`);
  }
};
